//! The plans of queries that run in a loop, on full tables: by the index that each names, and no
//! other way.

use std::collections::BTreeSet;

use crate::shop::Shop;
use serde_json::Value;
use tokio_postgres::Client;
use xtask::postgres::Options;

const FILL: &str = "
    select postrider.create_endpoint('sink', 'discard', '{}');
    select postrider.create_endpoint('slow', 'discard', '{}');
    select postrider.set_setting('max_queue_size', '0');
    do $$
    begin
        for batch in 1..200 loop
            perform postrider.send_batch('sink', array_agg(jsonb_build_object('n', n)))
            from generate_series(1, 1000) n;
            perform postrider.send_batch_with_priority(
                'sink', array['1', '2', '3']::jsonb[], 5::smallint);
            insert into postrider.heartbeat (
                slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
            select
                batch % 3, gen_random_uuid(), now(), now(), pg_current_xact_id(), batch * 1000, '{}'
            from generate_series(1, 20);
            insert into postrider.checkpoint (
                slot, owner, shards, done_xmin, backlogs, state)
            select batch % 3, gen_random_uuid(), '{0,1,2}', '700', '{0,0,0}', '{}'
            from generate_series(1, 20);
            commit;
        end loop;
    end;
    $$;
    insert into postrider.done (bucket, run, at, offsets)
    select b, r % 64, now(), decode(repeat('0001', 20), 'hex')
    from generate_series(0, 49) b, generate_series(1, 200) r;
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
    select
        m.id, 1, (m.id >> 10) % 50, (m.id & 1023) >> 4,
        now() + ((m.id >> 10) % 7 - 3) * interval '1 minute', m.created_at,
        case when (m.id >> 10) % 3 = 0 then 'key-' || (m.id >> 10) % 500 end
    from postrider.message m
    order by m.id
    limit 20000;
    insert into postrider.attempt (
        message_id, target, endpoint_id, number, started_at, duration_ms, outcome)
    select m.id, 1, 1, 1, now(), 5, 'unavailable'
    from postrider.message m
    order by m.id
    limit 20000;
    analyze;";

/// A statement that is to be planned, with the types and values of its parameters.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    sql: &'static str,
    types: &'static str,
    values: &'static str,
    indexes: &'static [&'static str],
}

const XMAX: &str = "pg_snapshot_xmax(pg_current_snapshot())";

const CASES: &[Case] = &[
    Case {
        name: "tick",
        sql: include_str!("../../../sql/queries/tick.sql"),
        types: "xid8, smallint[], xid8[], bigint, integer",
        values: "{xmax}, {lanes}, '{}', 4001, 2000",
        indexes: &["message_xid_id"],
    },
    Case {
        name: "page",
        sql: include_str!("../../../sql/queries/page.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, pg_snapshot, bigint, integer[], boolean, integer,
            integer, boolean",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', 1000,
            '{}', false, 2000, 16, true",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "page_left",
        sql: include_str!("../../../sql/queries/page_left.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, pg_snapshot, integer[], integer, boolean",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', '{1}', 16, true",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "deferred_count",
        sql: include_str!("../../../sql/queries/deferred_count.sql"),
        types: "smallint",
        values: "3::smallint",
        indexes: &["deferred_due"],
    },
    Case {
        name: "deferred_count_of",
        sql: include_str!("../../../sql/queries/deferred_count_of.sql"),
        types: "integer[], smallint[]",
        values: "'{1,2,3}', '{1,2,3}'",
        indexes: &["deferred_due"],
    },
    Case {
        name: "still_waiting",
        sql: include_str!("../../../sql/queries/still_waiting.sql"),
        types: "bigint[], integer[]",
        values: "'{1,2,3}', '{1,1,1}'",
        indexes: &["deferred_pkey"],
    },
    Case {
        name: "window",
        sql: include_str!("../../../sql/queries/window.sql"),
        types: "xid8, xid8[], smallint[]",
        values: "{xmax}, array[{xmax}], {lanes}",
        indexes: &["heartbeat_xid", "message_xid_id"],
    },
    Case {
        name: "deferred_due",
        sql: include_str!("../../../sql/queries/deferred_due.sql"),
        types: "integer[], bigint[], smallint[], integer, boolean",
        values: "'{1,2,3}', '{100,100,100}', {shards}, 2000, false",
        indexes: &["deferred_due", "deferred_key", "message_id"],
    },
    Case {
        name: "followers",
        sql: include_str!("../../../sql/queries/followers.sql"),
        types: "text[], integer[], bigint, integer, boolean",
        values: "'{key-1,key-2}', '{1,2}', 32, 2000, false",
        indexes: &["deferred_key", "message_id"],
    },
    Case {
        name: "deferred_after",
        sql: include_str!("../../../sql/queries/deferred_after.sql"),
        types: "integer[], smallint[]",
        values: "'{1,2,3}', {shards}",
        indexes: &["deferred_due"],
    },
    Case {
        name: "deferred_expired",
        sql: include_str!("../../../sql/queries/deferred_expired.sql"),
        types: "smallint[], bigint, timestamptz, bigint, integer, bigint[], integer[]",
        values: "{shards}, 500, '-infinity', 0, 0, '{}', '{}'",
        indexes: &["deferred_expires_at", "deferred_pkey", "message_id"],
    },
    Case {
        name: "deferred_next",
        sql: include_str!("../../../sql/queries/deferred_next.sql"),
        types: "smallint[]",
        values: "{shards}",
        indexes: &["deferred_due"],
    },
    Case {
        name: "candidates",
        sql: include_str!("../../../sql/queries/candidates.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, bigint, integer",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, '4:4:', 20000, 16",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "done_between",
        sql: include_str!("../../../sql/queries/done_between.sql"),
        types: "bigint, bigint",
        values: "20, 22",
        indexes: &["done_run"],
    },
    // Bodies of functions, whose plans `explain` does not show.
    Case {
        name: "kept_message",
        sql: "select m.payload from postrider.message m
            where m.id = $1",
        types: "bigint",
        values: "100001 * 1024 + 16",
        indexes: &["message_id"],
    },
    Case {
        name: "newest_heartbeat",
        sql: "select h.lease_until from postrider.heartbeat h
            where h.dispatcher = $1 order by h.seq desc limit 1",
        types: "uuid",
        values: "gen_random_uuid()",
        indexes: &["heartbeat_dispatcher"],
    },
    Case {
        name: "newest_checkpoint",
        sql: "select c.state from postrider.checkpoint c
            where c.shards @> array[$1] order by c.seq desc limit 1",
        types: "smallint",
        values: "1::smallint",
        indexes: &["checkpoint_seq"],
    },
];

const TABLES: [&str; 7] =
    ["message", "done", "deferred", "attempt", "checkpoint", "heartbeat", "dead_letter"];

/// Text that stands for itself in every case.
fn filled(values: &str) -> String {
    let array = |step: i32| {
        let items: Vec<String> = (0..16).map(|shard| (shard * step).to_string()).collect();
        format!("'{{{}}}'::smallint[]", items.join(","))
    };
    values.replace("{xmax}", XMAX).replace("{lanes}", &array(16)).replace("{shards}", &array(1))
}

async fn explain(client: &Client, case: &Case, options: &str) -> Value {
    let sql = format!(
        "prepare {}_plan ({}) as {}",
        case.name,
        case.types,
        case.sql.trim_end().trim_end_matches(';')
    );
    client.batch_execute("deallocate all").await.unwrap();
    client.batch_execute(&sql).await.unwrap();
    let values = filled(case.values);
    let sql = format!("explain ({options} format json) execute {}_plan ({values})", case.name);
    let rows = client.simple_query(&sql).await.unwrap();
    let text = rows.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    serde_json::from_str::<Value>(text.unwrap()).unwrap()[0]["Plan"].clone()
}

/// The kind of every node, and of those that read one of our tables, table and index.
fn walk(plan: &Value, kinds: &mut BTreeSet<String>, reads: &mut Vec<(String, String, String)>) {
    let text = |field: &str| plan[field].as_str().unwrap_or_default().to_owned();
    kinds.insert(text("Node Type"));
    let table = text("Relation Name");
    if TABLES.iter().any(|name| table.starts_with(name)) && !table.ends_with("_sequence") {
        reads.push((text("Node Type"), table, text("Index Name")));
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        walk(child, kinds, reads);
    }
}

/// The partition's index carries the columns in its name where the parent's has a name of its own.
async fn parents(client: &Client, index: &str) -> String {
    let sql = "select coalesce(p.relname, c.relname)::text
        from pg_class c
        left join pg_inherits i on i.inhrelid = c.oid
        left join pg_class p on p.oid = i.inhparent
        where c.relname = $1";
    client.query_one(sql, &[&index]).await.unwrap().get(0)
}

async fn check_plan(client: &Client, case: &Case) -> Vec<String> {
    let plan = explain(client, case, "").await;
    let (mut kinds, mut reads) = (BTreeSet::new(), Vec::new());
    walk(&plan, &mut kinds, &mut reads);
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (kind, table, index) in &reads {
        if kind != "Index Scan" && kind != "Index Only Scan" {
            wrong.push(format!("{}: {kind} on {table}", case.name));
            continue;
        }
        // In a partition without rows one index is as good as the other.
        let has_rows = format!("select exists (select from postrider.{table})");
        if client.query_one(&has_rows, &[]).await.unwrap().get(0) {
            used.insert(parents(client, index).await);
        }
    }
    let named: BTreeSet<String> = case.indexes.iter().map(|index| (*index).to_owned()).collect();
    if used != named {
        wrong.push(format!("{}: uses {used:?}, not {named:?}", case.name));
    }
    let is_refused = |kind: &&String| {
        kind.contains("Gather") || kind.contains("Bitmap") || kind.contains("Hash")
    };
    wrong.extend(kinds.iter().filter(is_refused).map(|kind| format!("{}: {kind}", case.name)));
    // deferred_due puts the shards' due deliveries in order, at most so many of each.
    let may_sort =
        ["deferred_due", "deferred_next", "deferred_after", "followers"].contains(&case.name);
    if kinds.iter().any(|kind| kind.contains("Sort")) && !may_sort {
        wrong.push(format!("{}: sorts", case.name));
    }
    if !wrong.is_empty() {
        println!("{}: {plan:#}", case.name);
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_in_a_loop_use_their_index() {
    let shop = Shop::open_migrated().await;
    // As a dispatcher that started on the empty log, where a plan is made by chance.
    let client = shop.client().await;
    let session = include_str!("../../../sql/queries/dispatcher_session.sql");
    client.batch_execute(session).await.unwrap();
    for case in CASES {
        explain(&client, case, "").await;
    }
    shop.psql("shop", &[], FILL).succeed();
    // As it does once a minute.
    client.batch_execute(include_str!("../../../sql/queries/discard_plans.sql")).await.unwrap();
    let mut wrong = Vec::new();
    for case in CASES {
        wrong.extend(check_plan(&client, case).await);
    }
    let idle = explain(&client, &CASES[0], "analyze, buffers,").await;
    let touched =
        ["Shared Hit Blocks", "Shared Read Blocks"].map(|name| idle[name].as_u64().unwrap());
    println!("an idle tick touches {touched:?} buffers");
    assert!(touched.iter().sum::<u64>() < 100, "{touched:?}: {idle:#}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// How many rows a tick brings, itself included, and how many buffers it touches, when these transactions
/// were in progress at the one before.
async fn tick_cost(client: &Client, in_progress: &str) -> (u64, u64) {
    let values = CASES[0].values.replace("'{}'", in_progress);
    let case = Case { values: values.leak(), ..CASES[0] };
    // The first run makes the plan.
    explain(client, &case, "analyze, buffers,").await;
    let plan = explain(client, &case, "analyze, buffers,").await;
    let touched = ["Shared Hit Blocks", "Shared Read Blocks"].map(|name| plan[name].as_u64());
    (plan["Actual Rows"].as_f64().unwrap() as u64, touched.into_iter().flatten().sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_does_not_look_at_what_is_in_progress() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.set_setting('max_queue_size', '0')",
    )
    .await;
    let client = shop.client().await;
    let session = include_str!("../../../sql/queries/dispatcher_session.sql");
    client.batch_execute(session).await.unwrap();
    let writer = shop.client().await;
    let send = "begin;
        select postrider.send_batch('sink', array_fill('{}'::jsonb, array[1000]))
        from generate_series(1, 20)";
    writer.batch_execute(send).await.unwrap();
    let xid = writer.query_one("select pg_current_xact_id()::text", &[]).await.unwrap();
    let in_progress = format!("'{{{}}}'", xid.get::<_, String>(0));
    // The end of a snapshot is behind the last transaction that has ended.
    shop.execute("select pg_current_xact_id()").await;

    let (row_count, touched) = tick_cost(&client, &in_progress).await;
    assert!(row_count == 1 && touched < 100, "{row_count} rows, {touched} buffers");
    writer.batch_execute("commit").await.unwrap();
    assert_eq!(tick_cost(&client, &in_progress).await.0, 4002);
}

/// Any number of them, from the first one and from one in the middle on; and what is in hand is not locked.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_for_what_has_expired_reads_a_page_whatever_somebody_holds() {
    const HELD: u64 = 100_000;
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let session = include_str!("../../../sql/queries/dispatcher_session.sql");
    client.batch_execute(session).await.unwrap();
    let case = *CASES.iter().find(|case| case.name == "deferred_expired").unwrap();
    // The plan of an empty table.
    explain(&client, &case, "").await;
    shop.execute(&format!(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at, expires_at)
        select g * 1024 + 16, 1, 1, 1, 'infinity', now(), timestamptz '2020-01-01' + (g / 7) * interval '1 ms'
        from generate_series(1, {HELD}) g"
    ))
    .await;
    let stranger = shop.client().await;
    let hold = "begin; select from postrider.deferred for update";
    stranger.batch_execute(hold).await.unwrap();
    let middle = "{shards}, 500, timestamptz '2020-01-01' + interval '7142 ms', 50000 * 1024 + 16, 1, '{}', '{}'";
    for values in [case.values, middle] {
        let plan = explain(&client, &Case { values, ..case }, "analyze, buffers,").await;
        let (rows, touched) = (plan["Actual Rows"].as_f64().unwrap(), buffers_of(&plan));
        println!("{touched} buffers");
        assert!(rows == 500.0 && touched < 3_500, "{rows} rows, {touched} buffers: {plan:#}");
    }
    stranger.batch_execute("rollback").await.unwrap();
    // All have been locked once, and are looked at by somebody who has the first of them in hand.
    let patient = "set idle_in_transaction_session_timeout = 0; begin";
    client.batch_execute(patient).await.unwrap();
    let one_in_hand = "{shards}, 500, '-infinity', 0, 0, array[1040::bigint], array[1]";
    explain(&client, &Case { values: one_in_hand, ..case }, "analyze, buffers,").await;
    let free = "select min(f.message_id) = 1040 and count(*) = 100000 - 499
        from (select d.message_id from postrider.deferred d for update skip locked) f";
    assert!(shop.ask::<bool>(free).await, "what is in hand is not locked by a look");
}

// Plans that were made when the tables were others ------------------------------------------------

/// What a statement may do at most once the tables are full: buffers, and rows that its plans produce or
/// leave out. For a hundred deliveries each, and for nothing that depends on how many wait.
struct Bound {
    name: &'static str,
    session: &'static str,
    types: String,
    sql: String,
    values: String,
    most: u64,
}

const DISPATCHER: &str = "00000000-0000-0000-0000-000000000001";
const GONE: &str = "00000000-0000-0000-0000-000000000002";

const DISPATCHERS: &str = include_str!("../../../sql/queries/dispatcher_session.sql");
const FLEETS: &str = include_str!("../../../sql/queries/fleet_session.sql");
const LISTENERS: &str = include_str!("../../../sql/queries/api_session.sql");
/// As anybody connects.
const APPLICATIONS: &str = "";

/// The parameters of postrider.flush behind the shards.
const FLUSH: &[(&str, &str)] = &[
    ("done_buckets", "bigint"),
    ("done_offsets", "bytea"),
    ("partly_ids", "bigint"),
    ("partly_targets", "integer"),
    ("deferred_ids", "bigint"),
    ("deferred_targets", "integer"),
    ("deferred_endpoints", "integer"),
    ("deferred_run_at", "timestamptz"),
    ("deferred_wait_ms", "bigint"),
    ("deferred_retry_counts", "integer"),
    ("deferred_recovery_counts", "integer"),
    ("deferred_created_at", "timestamptz"),
    ("deferred_expires_at", "timestamptz"),
    ("deferred_errors", "text"),
    ("deferred_keys", "text"),
    ("deferred_blocked", "boolean"),
    ("deferred_waited", "boolean"),
    ("settled_ids", "bigint"),
    ("settled_targets", "integer"),
    ("attempt_ids", "bigint"),
    ("attempt_targets", "integer"),
    ("attempt_endpoints", "integer"),
    ("attempt_numbers", "integer"),
    ("attempt_started_at", "timestamptz"),
    ("attempt_duration_ms", "integer"),
    ("attempt_outcomes", "text"),
    ("attempt_statuses", "integer"),
    ("attempt_errors", "text"),
    ("attempt_correlation_ids", "uuid"),
    ("attempt_headers", "jsonb"),
    ("attempt_bodies", "bytea"),
    ("attempt_truncated", "boolean"),
    ("dead_ids", "bigint"),
    ("dead_targets", "integer"),
    ("dead_endpoints", "integer"),
    ("dead_causes", "text"),
    ("dead_retry_counts", "integer"),
    ("dead_errors", "text"),
    ("ended_ids", "bigint"),
    ("ended_targets", "integer"),
    ("ended_endpoints", "integer"),
    ("ended_reasons", "text"),
    ("read_ids", "bigint"),
    ("read_targets", "integer"),
    ("keyed_ids", "bigint"),
    ("done_runs", "smallint"),
];

/// A flush of a hundred deliveries: the parameters whose names begin so are about them.
fn flush(kinds: &[&str], ids: &str) -> String {
    let parameters: Vec<String> = FLUSH
        .iter()
        .map(|(name, kind)| {
            let is_meant = kinds.iter().any(|meant| name.starts_with(meant));
            let one = match *kind {
                "integer" => "1",
                "bigint" => "1000",
                "smallint" => "1",
                "timestamptz" => "now()",
                "text" if name.ends_with("keys") => "null",
                "text" => "'expired'",
                "boolean" if name.ends_with("waited") => "true",
                "boolean" => "false",
                _ => "null",
            };
            let value = match is_meant {
                true if name.ends_with("_ids") => ids.to_owned(),
                true => format!("array_fill({one}::{kind}, array[100])"),
                false => format!("'{{}}'::{kind}[]"),
            };
            format!("p_{name} => {value}")
        })
        .collect();
    format!(
        "select * from postrider.flush(p_dispatcher => '{DISPATCHER}', p_shards => '{{}}',
            p_epochs => '{{}}', {})",
        parameters.join(", ")
    )
}

fn bounds() -> Vec<Bound> {
    let mut all = of_applications();
    all.extend(of_listeners());
    all.extend(of_readers());
    all.extend(of_fleets());
    all.extend(of_dispatchers());
    all
}

fn of_dispatchers() -> Vec<Bound> {
    let list = |numbers: &mut dyn Iterator<Item = i64>| {
        let ids: Vec<String> = numbers.map(|number| message_id(number).to_string()).collect();
        format!("'{{{}}}'::bigint[]", ids.join(","))
    };
    let ids = list(&mut (300..400));
    let keyed = list(&mut (0..100).map(|n| 300 + 3 * n));
    let ones = "array_fill(1, array[100])";
    let query = |name, sql: &str, types: &str, values: &str, most| Bound {
        name,
        session: DISPATCHERS,
        types: format!("({types})"),
        sql: sql.trim_end().trim_end_matches(';').to_owned(),
        values: format!("({})", filled(values)),
        most,
    };
    let call = |name, sql: String, most| Bound {
        name,
        session: DISPATCHERS,
        types: String::new(),
        sql,
        values: String::new(),
        most,
    };
    let all = "array(select s.shard from postrider.shard s order by s.shard)";
    let epochs = "array_fill(1::bigint, array[16])";
    vec![
        query(
            "still_waiting",
            include_str!("../../../sql/queries/still_waiting.sql"),
            "bigint[], integer[]",
            &format!("{ids}, {ones}"),
            1_200,
        ),
        query(
            "followers",
            include_str!("../../../sql/queries/followers.sql"),
            "text[], integer[], bigint, integer, boolean",
            "'{key-3,key-6}', '{4,7}', 32, 2000, false",
            2_000,
        ),
        query(
            "deferred_after",
            include_str!("../../../sql/queries/deferred_after.sql"),
            "integer[], smallint[]",
            "'{1,2,3}', {shards}",
            1_000,
        ),
        query(
            "deferred_due",
            include_str!("../../../sql/queries/deferred_due.sql"),
            "integer[], bigint[], smallint[], integer, boolean",
            "'{1,2,3}', '{10,10,10}', {shards}, 2000, false",
            6_000,
        ),
        query(
            "deferred_due of keys everywhere",
            include_str!("../../../sql/queries/deferred_due.sql"),
            "integer[], bigint[], smallint[], integer, boolean",
            "'{1,2,3}', '{10,10,10}', {shards}, 2000, true",
            20_000,
        ),
        query(
            "deferred_expired",
            include_str!("../../../sql/queries/deferred_expired.sql"),
            "smallint[], bigint, timestamptz, bigint, integer, bigint[], integer[]",
            "{shards}, 100, '-infinity', 0, 0, '{}', '{}'",
            4_000,
        ),
        query(
            "deferred_next",
            include_str!("../../../sql/queries/deferred_next.sql"),
            "smallint[]",
            "{shards}",
            4_000,
        ),
        query(
            "payload",
            include_str!("../../../sql/queries/payload.sql"),
            "bigint, integer",
            &format!("{}, 1", message_id(300)),
            50,
        ),
        query(
            "page",
            include_str!("../../../sql/queries/page.sql"),
            "smallint, bigint, bigint, pg_snapshot, pg_snapshot, bigint, integer[], boolean, integer,
            integer, boolean",
            "16::smallint, 100 * 1024, 900 * 1024, pg_current_snapshot(), '4:4:', 100, '{}', false,
            2000, 16, true",
            500,
        ),
        query(
            "page_left",
            include_str!("../../../sql/queries/page_left.sql"),
            "smallint, bigint, bigint, pg_snapshot, pg_snapshot, integer[], integer, boolean",
            "16::smallint, 100 * 1024, 900 * 1024, pg_current_snapshot(), '4:4:', '{1}', 16, true",
            500,
        ),
        query(
            "candidates",
            include_str!("../../../sql/queries/candidates.sql"),
            "smallint, bigint, bigint, pg_snapshot, bigint, integer",
            "16::smallint, 100 * 1024, 900 * 1024, '4:4:', 20000, 16",
            500,
        ),
        query(
            "done_between",
            include_str!("../../../sql/queries/done_between.sql"),
            "bigint, bigint",
            "20, 22",
            400,
        ),
        call("flush: settled", flush(&["settled"], &ids), 3_000),
        call("flush: wait on", flush(&["deferred"], &ids), 6_000),
        call("flush: expired", flush(&["settled", "ended"], &ids), 5_000),
        call("flush: dead", flush(&["settled", "dead"], &ids), 15_000),
        call("flush: cancelled", flush(&["read"], &ids), 2_500),
        call("flush: with idempotency keys", flush(&["settled", "keyed"], &ids), 20_000),
        call(
            "recover_messages",
            format!(
                "select postrider.recover_messages('{DISPATCHER}', {all}, {epochs}, {keyed}, true)"
            ),
            15_000,
        ),
        call(
            "recover_claims",
            format!(
                "select * from postrider.recover_claims('{DISPATCHER}', {all}, {epochs}, '{GONE}', '{{}}')"
            ),
            12_000,
        ),
        query(
            "release_stored_keys",
            include_str!("../../../sql/queries/release_stored_keys.sql"),
            "smallint[], text, bigint",
            "{shards}, 'key-3', 200",
            15_000,
        ),
        query(
            "stored_keys",
            include_str!("../../../sql/queries/stored_keys.sql"),
            "smallint[], text, integer, bigint",
            "{shards}, 'key-3', 4, 200",
            6_000,
        ),
        call("release_keys", "select postrider.release_keys('{key-3,key-6}')".to_owned(), 1_500),
        call("expire_waiting", "select postrider.expire_waiting(100)".to_owned(), 24_000),
        call(
            "forget_idempotency_keys",
            "select postrider.forget_idempotency_keys()".to_owned(),
            4_000,
        ),
        call(
            "recheck_idempotency_keys",
            "select postrider.recheck_idempotency_keys(0, 100)".to_owned(),
            12_000,
        ),
        call(
            "forget_keys_to_nobody",
            "select postrider.forget_keys_to_nobody(100)".to_owned(),
            3_000,
        ),
        call("forget_requests", "select postrider.forget_requests(100)".to_owned(), 3_000),
        call(
            "delivery_end",
            format!("select * from postrider.delivery_end({}, 2)", message_id(300)),
            150,
        ),
        query(
            "tick",
            include_str!("../../../sql/queries/tick.sql"),
            "xid8, smallint[], xid8[], bigint, integer",
            "{xmax}, {lanes}, '{}', 4001, 2000",
            600,
        ),
        query(
            "window",
            include_str!("../../../sql/queries/window.sql"),
            "xid8, xid8[], smallint[]",
            "{xmax}, array[{xmax}], {lanes}",
            1_000,
        ),
        query(
            "cancellations",
            include_str!("../../../sql/queries/cancellations.sql"),
            "bigint",
            "1001",
            3_000,
        ),
        query(
            "cancellations_of",
            include_str!("../../../sql/queries/cancellations_of.sql"),
            "bigint[]",
            &ids,
            1_500,
        ),
        query(
            "free_cancel_buckets",
            include_str!("../../../sql/queries/free_cancel_buckets.sql"),
            "smallint[]",
            "array_fill(7::smallint, array[100])",
            1_500,
        ),
        query(
            "free_of_cancels",
            include_str!("../../../sql/queries/free_of_cancels.sql"),
            "bigint[]",
            &ids,
            3_000,
        ),
        query(
            "endpoint_versions",
            include_str!("../../../sql/queries/endpoint_versions.sql"),
            "integer",
            "1",
            100,
        ),
        query(
            "dispatcher_endpoints",
            include_str!("../../../sql/queries/dispatcher_endpoints.sql"),
            "integer[]",
            "'{1,2,3}'",
            100,
        ),
        query(
            "dispatcher_event_types",
            include_str!("../../../sql/queries/dispatcher_event_types.sql"),
            "integer",
            "1",
            50,
        ),
        call(
            "save_claim",
            format!(
                "select postrider.save_claim('{DISPATCHER}', {all}, {epochs}, {ids}, {ones}, {ones})"
            ),
            500,
        ),
        call(
            "save_checkpoint",
            format!(
                "select postrider.save_checkpoint('{DISPATCHER}', {all}, {epochs}, '3',
                    array_fill(0::bigint, array[16]), '[]', true)"
            ),
            1_000,
        ),
        call(
            "take_tokens",
            "select * from postrider.take_tokens('{1,2,3}', '{1,1,1}', '{1,1,1}', '{1,1,1}')".to_owned(),
            500,
        ),
        call("known_circuits", "select * from postrider.known_circuits('{1}', true)".to_owned(), 300),
        call(
            "save_circuits",
            format!(
                "select * from postrider.save_circuits('{DISPATCHER}', '{{1}}', '{{1}}', '{{2}}', '{{closed}}',
                    '{{1}}', '{{null}}', '{{null}}', '{{null}}', '{{null}}', array[now()], array[now()])"
            ),
            500,
        ),
        call(
            "heartbeat",
            format!("select * from postrider.heartbeat('{DISPATCHER}', '{{}}')"),
            600,
        ),
        call(
            "register_dispatcher",
            "select postrider.register_dispatcher(gen_random_uuid(), 'h', 1, '1')".to_owned(),
            50,
        ),
        call(
            "unregister_dispatcher",
            format!("select postrider.unregister_dispatcher('{DISPATCHER}')"),
            50,
        ),
        call(
            "acquire_shards",
            format!(
                "select * from (select count(*) from postrider.release_shards('{DISPATCHER}', {all}, {epochs})) r,
                lateral postrider.acquire_shards('{DISPATCHER}', 16)"
            ),
            2_500,
        ),
        call(
            "release_shards",
            format!("select postrider.release_shards('{DISPATCHER}', {all}, {epochs})"),
            500,
        ),
        call("end_stale_flushes", "select postrider.end_stale_flushes()".to_owned(), 300),
        call("confirm_origin", "select postrider.confirm_origin()".to_owned(), 600),
        call(
            "confirm_position",
            format!("select * from postrider.confirm_position('{DISPATCHER}', 1, '0/1', 1)"),
            100,
        ),
        call("use_up_numbers", "select postrider.use_up_numbers(1)".to_owned(), 50),
        call(
            "recover_waiting",
            format!(
                "select * from postrider.recover_waiting('{DISPATCHER}', {all}, {epochs}, {ids}, {ones},
                    array_fill(0, array[100]))"
            ),
            15_000,
        ),
        call("rotate_slots", "select postrider.rotate_slots()".to_owned(), 3_000),
        call("forget_consumer_rows", "select postrider.forget_consumer_rows()".to_owned(), 500_000),
        call("forget_executions", "select postrider.forget_executions(100)".to_owned(), 3_000),
        call("forget_dead_letters", "select postrider.forget_dead_letters(100)".to_owned(), 3_000),
        call("forget_events", "select postrider.forget_events(100)".to_owned(), 3_000),
        call("forget_jobs", "select postrider.forget_jobs(100)".to_owned(), 3_000),
        call(
            "forget_subscriptions",
            "select postrider.forget_subscriptions(100)".to_owned(),
            3_000,
        ),
        call("forget_dispatchers", "select postrider.forget_dispatchers()".to_owned(), 300),
        call("roll_up_executions", "select postrider.roll_up_executions(100)".to_owned(), 3_000),
        call("retire_endpoint", "select postrider.retire_endpoint(1, 'gone')".to_owned(), 300),
        call(
            "retire_failing_endpoints",
            "select postrider.retire_failing_endpoints()".to_owned(),
            300,
        ),
        call(
            "retire_signing_keys",
            "select postrider.retire_signing_keys()".to_owned(),
            300,
        ),
        call("fire_schedules", "select postrider.fire_schedules()".to_owned(), 10_000),
        call("bury_orphans", "select postrider.bury_orphans()".to_owned(), 3_000),
        call("needs_archive_upkeep", "select postrider.needs_archive_upkeep()".to_owned(), 30_000),
        call("advance_jobs: redrive", "select postrider.advance_jobs()".to_owned(), 25_000),
        call(
            "advance_jobs: a clock that was set back",
            "select postrider.bring_back_messages(j), postrider.bring_back_executions(j)
            from jsonb_populate_record(
                null::postrider.clock_jump,
                jsonb_build_object(
                    'back', '1 second', 'xid', pg_current_xact_id()::text, 'message_id', 0,
                    'target', 0, 'execution_id', 0, 'brought_count', 0)) j"
                .to_owned(),
            40_000,
        ),
        call(
            "advance_jobs: drop",
            "select * from postrider.job j, lateral postrider.bury_batch(j)
            where j.kind = 'drop' and j.state = 'running' order by j.id limit 1"
                .to_owned(),
            40_000,
        ),
        call("advance_jobs: retry", advance("retry", "tell_batch"), 6_000),
        call("advance_jobs: skip", advance("skip", "tell_batch"), 15_000),
        call("advance_jobs: cancel", advance("cancel", "cancel_batch"), 40_000),
        call("advance_jobs: erase", advance("erase", "erase_batch"), 150_000),
        call("advance_replays", "select postrider.advance_replays()".to_owned(), 300_000),
        call(
            "append_replays",
            format!("select postrider.append_replays({ids}, {ones})"),
            6_000,
        ),
        call(
            "publish_dead_letters",
            "select postrider.publish_dead_letters(array(
                select l.id from postrider.dead_letter l order by l.id limit 100))"
                .to_owned(),
            6_000,
        ),
        call("advance_ticks", "select * from postrider.advance_ticks()".to_owned(), 40_000),
        call("shard_reports", "select * from postrider.shard_reports()".to_owned(), 500),
    ]
}

/// The most of those that look at what waits, up to a number of it, where only 1,000 wait.
const MOST_OF_FEW: &[(&str, u64)] =
    &[("overdue_deliveries", 32_000), ("metrics", 100_000), ("health_check", 45_000)];

impl Bound {
    fn most(&self, waiting: u32) -> u64 {
        let of_few = MOST_OF_FEW.iter().find(|(name, _)| *name == self.name && waiting <= 1_000);
        of_few.map_or(self.most, |(_, most)| *most)
    }
}

/// One batch of a job.
fn advance(kind: &str, function: &str) -> String {
    format!(
        "select * from postrider.job j, lateral postrider.{function}(j)
        where j.kind = '{kind}' and j.state = 'running' order by j.id limit 1"
    )
}

/// What the clients run for applications, consumers and workers.
fn of_applications() -> Vec<Bound> {
    let call = |name, sql: &str, most| Bound {
        name,
        session: APPLICATIONS,
        types: String::new(),
        sql: sql.to_owned(),
        values: String::new(),
        most,
    };
    let cancel = format!("select postrider.cancel_message({})", message_id(250));
    vec![
        call("send", "select postrider.send_with_options('sink', '{}', p_idempotency_key => 'new')", 800),
        call("send_bytes", "select postrider.send_bytes('sink', 'x', 'text/plain')", 800),
        call(
            "send_batch",
            "select postrider.send_batch_with_priority('sink', array_fill('{}'::jsonb, array[100]), 1::smallint)",
            3_000,
        ),
        call("publish", "select postrider.publish('placed', '{}')", 800),
        call("publish_batch", "select postrider.publish_batch('[{\"event_type\": \"placed\", \"payload\": {}}]')", 1_000),
        call("cancel_message", &cancel, 500),
        call("fetch_messages", "select * from postrider.fetch_messages('c', 100)", 6_000),
        call("acknowledge", "select postrider.acknowledge('c', f.position)
            from (select max(m.position) as position from postrider.fetch_messages('c', 100) m) f
            where f.position is not null", 9_000),
        call("begin_batch", "select * from postrider.begin_batch('c', 0, 100)", 40_000),
        call("park_message", "select postrider.park_message('c', f.position, 1, 'no')
            from (select min(m.position) as position from postrider.fetch_messages('c', 1) m) f
            where f.position is not null", 9_000),
        call(
            "lease_partitions",
            "select postrider.lease_partitions('c', '00000000-0000-0000-0000-000000000001')",
            800,
        ),
        call(
            "release_partitions",
            "select postrider.release_partitions('c', '00000000-0000-0000-0000-000000000001')",
            800,
        ),
        call("register_worker", "select * from postrider.register_worker('w')", 1_500),
        call("deregister_worker", "select postrider.deregister_worker(1)", 1_500),
        call("worker_heartbeat", "select * from postrider.worker_heartbeat(1)", 1_500),
        call("worker_executions", "select * from postrider.worker_executions(1)", 500),
        call("worker_is_replaced", "select exists (
            select from postrider.workers w where w.id = 1 and w.epoch <> 2 and w.status <> 'inactive')", 800),
        call("take_executions", "select s.execution_id
            from postrider.take_executions(1, 10) t
            cross join lateral postrider.start_execution(t.execution_id, t.fence) s", 6_000),
        call("record_executions", "select postrider.complete_execution(l.id, l.fence)
            from (select k.id, k.fence from postrider.live_execution k where k.fence > 0 order by k.id limit 1) l", 1_000),
        call("record_executions: fail", "select postrider.fail_execution(l.id, l.fence, 'no', '{}')
            from (select k.id, k.fence from postrider.live_execution k where k.fence > 0 order by k.id limit 1) l", 1_000),
        call("record_executions: release", "select postrider.release_execution(l.id, l.fence)
            from (select k.id, k.fence from postrider.live_execution k where k.fence > 0 order by k.id limit 1) l", 1_000),
        call("record_executions: extend", "select postrider.extend_execution(l.id, l.fence, interval '1 second')
            from (select k.id, k.fence from postrider.live_execution k where k.fence > 0 order by k.id limit 1) l", 1_000),
        // Of what nobody has read 10,000 messages are looked at, by metrics for each partition of the consumer too.
        call("overdue_deliveries", "select * from postrider.overdue_deliveries()", 200_000),
        call("metrics", "select * from postrider.metrics()", 800_000),
        call("health_check", "select * from postrider.health_check()", 220_000),
        call("execution_status", "select e.status from postrider.executions e where e.id = 5", 500),
    ]
}

/// A statement of a listener, with these values.
fn asked(name: &'static str, sql: &str, values: &[&str], most: u64) -> Bound {
    let sql = sql.trim_end().trim_end_matches(';').to_owned();
    let put = |sql: String, (n, value): (usize, &&str)| sql.replace(&format!("${}", n + 1), value);
    // From behind, or $1 would be found in $10.
    let sql = values.iter().enumerate().rev().fold(sql, put);
    Bound { name, session: LISTENERS, types: String::new(), sql, values: String::new(), most }
}

/// What answers to requests runs, in sessions that live long.
fn of_listeners() -> Vec<Bound> {
    let call = asked;
    let claim = include_str!("../../../sql/queries/claim_request.sql");
    let keep = include_str!("../../../sql/queries/keep_answer.sql");
    let token = "(select max(t.id) from postrider.api_token t)";
    let send = ["'sink'", "'{}'", "null", "null", "'new'", "null", "null", "null", "null", "null"];
    let publish =
        ["'placed'", "'{}'", "null", "null", "'new'", "null", "null", "null", "null", "null"];
    vec![
        call("known_token", include_str!("../../../sql/queries/known_token.sql"), &[token], 50),
        call(
            "note_token_use",
            include_str!("../../../sql/queries/note_token_use.sql"),
            &[token],
            100,
        ),
        call(
            "enter_role",
            include_str!("../../../sql/queries/enter_role.sql"),
            &[token, "'a request'"],
            50,
        ),
        call("claim_request: a new key", claim, &[token, "'new'", "''"], 100),
        call("claim_request: a known key", claim, &[token, "'5'", "''"], 100),
        call("claim_request: a key that is free again", claim, &[token, "'1500'", "''"], 100),
        call("keep_answer", keep, &[token, "'5'", "200::smallint", "'{}'"], 100),
        call(
            "api_send_message",
            include_str!("../../../sql/queries/api_send_message.sql"),
            &send,
            1_000,
        ),
        call(
            "api_send_messages",
            include_str!("../../../sql/queries/api_send_messages.sql"),
            &["'sink'", "'[1, 2, 3]'", "null"],
            1_000,
        ),
        call(
            "api_publish_event",
            include_str!("../../../sql/queries/api_publish_event.sql"),
            &publish,
            1_000,
        ),
        call(
            "publish_events",
            include_str!("../../../sql/queries/publish_events.sql"),
            &["'[{\"event_type\": \"placed\", \"payload\": {}}]'"],
            1_000,
        ),
    ]
}

/// What is looked at over HTTP: a page costs the same however much there is.
fn of_readers() -> Vec<Bound> {
    let call = asked;
    let id = message_id(30).to_string();
    let id = id.as_str();
    vec![
        call(
            "api_endpoints",
            include_str!("../../../sql/queries/api_endpoints.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_endpoints_masked",
            include_str!("../../../sql/queries/api_endpoints_masked.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_endpoint",
            include_str!("../../../sql/queries/api_endpoint.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_endpoint_masked",
            include_str!("../../../sql/queries/api_endpoint_masked.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_signing_keys",
            include_str!("../../../sql/queries/api_signing_keys.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_queue",
            include_str!("../../../sql/queries/api_queue.sql"),
            &["null", "null", "null", "4"],
            10_000,
        ),
        call(
            "api_attempts",
            include_str!("../../../sql/queries/api_attempts.sql"),
            &[id, "null", "21"],
            300,
        ),
        call(
            "api_attempts_masked",
            include_str!("../../../sql/queries/api_attempts_masked.sql"),
            &[id, "null", "21"],
            300,
        ),
        call(
            "api_dead_letters",
            include_str!("../../../sql/queries/api_dead_letters.sql"),
            &["'sink'", "null", "101"],
            2_500,
        ),
        call(
            "api_dead_letter",
            include_str!("../../../sql/queries/api_dead_letter.sql"),
            &["(select min(l.id) from postrider.dead_letter l)"],
            100,
        ),
        call(
            "api_dead_letter_masked",
            include_str!("../../../sql/queries/api_dead_letter_masked.sql"),
            &["(select min(l.id) from postrider.dead_letter l)"],
            100,
        ),
        call("api_jobs", include_str!("../../../sql/queries/api_jobs.sql"), &["null", "101"], 500),
        call("api_job", include_str!("../../../sql/queries/api_job.sql"), &["5"], 100),
        call(
            "api_replays",
            include_str!("../../../sql/queries/api_replays.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_replays_masked",
            include_str!("../../../sql/queries/api_replays_masked.sql"),
            &["null", "101"],
            500,
        ),
        call("api_replay", include_str!("../../../sql/queries/api_replay.sql"), &["5"], 100),
        call(
            "api_replay_masked",
            include_str!("../../../sql/queries/api_replay_masked.sql"),
            &["5"],
            300,
        ),
        call(
            "api_event_types",
            include_str!("../../../sql/queries/api_event_types.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_event_type",
            include_str!("../../../sql/queries/api_event_type.sql"),
            &["'placed'"],
            100,
        ),
        call(
            "api_subscriptions",
            include_str!("../../../sql/queries/api_subscriptions.sql"),
            &["'sink'", "null", "null", "101"],
            300,
        ),
        call(
            "api_subscription",
            include_str!("../../../sql/queries/api_subscription.sql"),
            &["5"],
            100,
        ),
        call(
            "api_settings",
            include_str!("../../../sql/queries/api_settings.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_setting",
            include_str!("../../../sql/queries/api_setting.sql"),
            &["'max_queue_size'"],
            100,
        ),
        call(
            "api_tokens",
            include_str!("../../../sql/queries/api_tokens.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_events",
            include_str!("../../../sql/queries/api_events.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_consumers",
            include_str!("../../../sql/queries/api_consumers.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_messages",
            include_str!("../../../sql/queries/api_parked_messages.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_messages_masked",
            include_str!("../../../sql/queries/api_parked_messages_masked.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_message",
            include_str!("../../../sql/queries/api_parked_message.sql"),
            &["5"],
            100,
        ),
        call(
            "api_parked_message_masked",
            include_str!("../../../sql/queries/api_parked_message_masked.sql"),
            &["5"],
            100,
        ),
        call(
            "api_actions",
            include_str!("../../../sql/queries/api_actions.sql"),
            &["null", "101"],
            100,
        ),
        call("api_action", include_str!("../../../sql/queries/api_action.sql"), &["'free'"], 100),
        call(
            "api_executions",
            include_str!("../../../sql/queries/api_executions.sql"),
            &["null", "101"],
            4_000,
        ),
    ]
}

fn of_fleets() -> Vec<Bound> {
    let call = |name, sql: &str, most| Bound {
        name,
        session: FLEETS,
        types: String::new(),
        sql: sql.trim_end().trim_end_matches(';').to_owned(),
        values: String::new(),
        most,
    };
    vec![
        call("check_executions", "select postrider.check_executions(1000)", 1_500),
        call("check_workers", "select postrider.check_workers()", 1_500),
        call("check_generations", "select postrider.check_generations()", 3_000),
        call(
            "next_execution_due",
            include_str!("../../../sql/queries/next_execution_due.sql"),
            100,
        ),
        call("dispatch_executions", "select * from postrider.dispatch_executions(10)", 6_000),
        call("note_published", "select postrider.note_published('{1,2,3}', '{1,2,3}', true)", 300),
        call("handle_dead_letters", "select postrider.handle_dead_letter(5, 5, '{}', '{}')", 800),
        call("keep_dead_letter", "select postrider.keep_dead_letter('x', '{}', '{}')", 100),
        call("note_broker", "select postrider.note_broker('p', true, 0, null)", 100),
        call(
            "gone_workers",
            "select g.id from unnest('{1,2,3}'::integer[]) g (id)
            where not exists (select from postrider.worker w where w.id = g.id)",
            100,
        ),
        call("rabbitmq_workers", include_str!("../../../sql/queries/rabbitmq_workers.sql"), 100),
    ]
}

/// The id of the message with this number: every third has an ordering key.
fn message_id(number: i64) -> i64 {
    (number << 10) | ((number >> 6) % 16 * 16 + if number % 3 == 0 { 15 } else { 0 })
}

const FILL_WAITING: &str = "
    insert into postrider.message (
        id, xid, lane, priority, targets, endpoint_name, ordering_key, idempotency_key, payload)
    select
        g << 10 | l.lane, pg_current_xact_id(), l.lane, 0, '{1}', 'sink',
        case when g % 3 = 0 then 'key-' || g % 501 end, 'idem-' || g, '{}'
    from generate_series(1, {count}::bigint) g
    cross join lateral (
        select ((g >> 6) % 16 * 16 + case when g % 3 = 0 then 15 else 0 end)::smallint
    ) l (lane);
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key,
        expires_at, is_blocked)
    select
        m.id, 1, 1 + (m.id >> 10) % 10, (m.id & 1023) >> 4,
        now() + ((m.id >> 10) % 7 - 3) * interval '1 hour', m.created_at, m.ordering_key,
        case
            when (m.id >> 10) % 5 = 0 then now() + ((m.id >> 10) % 70 - 3) * interval '1 hour'
        end,
        m.ordering_key is not null and (m.id >> 10) % 2 = 0
    from postrider.message m;
    insert into postrider.attempt (
        message_id, target, endpoint_id, number, started_at, duration_ms, outcome)
    select m.id, 1, 1, 1, now(), 5, 'unavailable' from postrider.message m limit 20000;
    insert into postrider.idempotency_key (destination, key, message_id, payload_hash, ended_at)
    select 1, m.idempotency_key, m.id, '', case when m.id >> 10 > 1000 then now() end
    from postrider.message m;
    insert into postrider.dead_letter (
        message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
        priority, payload)
    select m.id + (1::bigint << 40), 1, 1, 'sink', 'rejected', 1, now(), 0, '{}'
    from postrider.message m
    limit 20000;
    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select m.id + (1::bigint << 40), 1, 1, 'expired' from postrider.message m limit 20000;
    insert into postrider.partly_done (message_id, at, targets)
    select m.id + (1::bigint << 40), now(), '{1}' from postrider.message m limit 20000;
    insert into postrider.done (bucket, at, offsets)
    select b, now(), '\\x0001' from generate_series(0, 49) b, generate_series(1, 20);
    insert into postrider.cancellation (message_id, target)
    select m.id, 1 from postrider.message m limit 20000;
    insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
    select
        g % 3, case when g = 7 then '{gone}' else gen_random_uuid() end,
        array_agg((m.number << 10) | ((m.number >> 6) % 16 * 16)), array_fill(1, array[100]),
        array_fill(0, array[100])
    from generate_series(1, 100) g
    cross join lateral (select 3 * i + 300 + g % 2 + 1 from generate_series(1, 100) i) m (number)
    group by g;
    insert into postrider.rate_grant (slot, endpoint_id, used_until)
    select g % 3, 1, now() from generate_series(1, {count} / 10) g;
    insert into postrider.dispatcher (id, host, pid, version)
    values ('00000000-0000-0000-0000-000000000001', 'h', 1, '1') on conflict do nothing;
    insert into postrider.heartbeat (
        slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
    select
        g % 3, '00000000-0000-0000-0000-000000000001', now(), now() + interval '1 hour', pg_current_xact_id(),
        g,
        '{\"shards\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], \"pending\": []}'
    from generate_series(1, {count} / 10) g;
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        g % 3, '00000000-0000-0000-0000-000000000001',
        array(select s.shard from postrider.shard s order by s.shard), '3', array_fill(0::bigint, array[16]),
        '[]'
    from generate_series(1, {count} / 10) g;
    insert into postrider.event_log (at, event)
    select now() - g * interval '1 minute' - interval '1 year', 'test' from generate_series(1, 500) g;
    insert into postrider.event_log (event) select 'test' from generate_series(1, {count} / 10);
    insert into postrider.api_token (name, role, hash, created_by)
    values ('t' || '{count}', 'producer', sha256('x'), 'test');
    insert into postrider.api_request (token_id, key, fingerprint, at)
    select (select max(t.id) from postrider.api_token t), n::text, '', now() - n * interval '1 minute'
    from generate_series(1, {count} / 10) n;
    insert into postrider.job (kind, endpoint_id, endpoint_name, state, estimate, has_more, finished_at)
    select 'drop', 5, 'gone', 'completed', 0, false, now() from generate_series(1, {count} / 10);
    insert into postrider.job (kind, endpoint_id, endpoint_name, estimate, has_more) values ('drop', 2, 'gone', 0, false);
    insert into postrider.job (kind, endpoint_id, endpoint_name, estimate, has_more, last_id, next_at)
    values ('redrive', 1, 'sink', 0, false, 1000000000, '-infinity');
    insert into postrider.job (kind, endpoint_id, endpoint_name, estimate, has_more, last_id, filter)
    select k, 1, 'sink', 0, false, 1000000000, '{\"reason\": \"r\"}'
    from unnest('{retry,skip,cancel}'::text[]) k;
    insert into postrider.job (kind, estimate, has_more, last_id, filter)
    values ('erase', 0, false, 1000000000, '{\"from\": \"2001-01-01Z\"}');
    insert into postrider.replay (
        endpoint_id, endpoint_name, from_ts, to_ts, position, last_id, position_at, state, finished_at)
    select 1, 'sink', now() - interval '1 day', now(), 0, 1000, now(), 'completed', now()
    from generate_series(1, {count} / 10);
    insert into postrider.replay (
        endpoint_id, endpoint_name, from_ts, to_ts, position, last_id, position_at)
    values (1, 'sink', '2001-01-01', '2101-01-01', 0, 1000000000, now());
    insert into postrider.consumer_position (
        consumer_id, partition, tick, message_id, message_count, generation)
    select c.id, g % 4, 0, 0, g, 1
    from postrider.consumer c
    cross join generate_series(1, {count} / 10) g;
    insert into postrider.consumer_attempt (
        consumer_id, partition, generation, message_count, batch_size, failure_count, suspect_count)
    select c.id, g % 4, 1, g, 1, 0, 0
    from postrider.consumer c
    cross join generate_series(1, {count} / 10) g;
    insert into postrider.consumer_lease (consumer_id, member, partitions, lease_until, joined_at)
    select c.id, ('00000000-0000-0000-0000-00000000000' || g % 4)::uuid, '{0}', now(), now()
    from postrider.consumer c
    cross join generate_series(1, {count} / 10) g;
    with written as (
        insert into postrider.execution (action, parameters, pool, priority, ttl_ms, timeout_ms, max_retries)
        overriding system value
        select 'free', '{}', 'default', 0, 3600000, 3600000, 0
        from generate_series(1, {count} / 10)
        returning id
    )
    insert into postrider.live_execution (
        id, generation, action, queue, pool, status, priority, max_retries, ttl_ms, timeout_ms, requested_at,
        expires_at, due_at)
    select
        w.id, 1, 'free', 'pool:default', 'default', 'requested', 0, 0, 3600000, 3600000,
        now() - interval '1 minute', now() + interval '1 hour', now() + interval '1 hour'
    from written w;
    update postrider.live_execution l
    set status = 'running', worker_id = 1, worker_epoch = 1, scheduled_at = now(), started_at = now(),
        queue = 'worker:1', fence = l.id
    where l.id in (select k.id from postrider.live_execution k order by k.id limit 10);
    insert into postrider.execution_end (
        execution_id, xid, attempt, is_final, status, action, requested_at, ended_at)
    select -g, g::text::xid8, 1, true, 'completed', 'free', now(), now()
    from generate_series(1, {count} / 10) g;
    insert into postrider.execution_dead_letter (xid, outcome, carrier)
    select g::text::xid8, 'failed', 'postgres' from generate_series(1, {count} / 10) g;
    insert into postrider.execution_statistics (
        hour, pool, action, worker_id, status, reason, attempt_count, ended_count, started_count,
        running_seconds, waiting_seconds)
    select now(), '', '', g, '', '', 1, 1, 1, 1, 1 from generate_series(1, {count} / 10) g;
    update postrider.worker w set heartbeat_at = now() + interval '1 hour';
";

const EMPTY_WAITING: &str = "
    truncate postrider.message, postrider.done, postrider.attempt, postrider.ended,
        postrider.partly_done, postrider.claim, postrider.tick, postrider.rate_grant, postrider.heartbeat,
        postrider.checkpoint, postrider.event_log, postrider.job, postrider.replay,
        postrider.consumer_position, postrider.consumer_attempt, postrider.consumer_lease,
        postrider.execution, postrider.live_execution, postrider.execution_end,
        postrider.execution_dead_letter, postrider.execution_statistics;
    delete from postrider.deferred;
    delete from postrider.api_token;
    insert into postrider.api_token (name, role, hash, created_by)
    values ('t', 'producer', sha256('x'), 'test');
    delete from postrider.idempotency_key;
    delete from postrider.cancellation;
    delete from postrider.dead_letter;
    vacuum;";

const TELL_PLANS: &str = "
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_analyze = on;
    set auto_explain.log_buffers = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_format = json;
    set client_min_messages = log;";

/// What a plan did: rows that its nodes produced or left out, in all their loops.
fn rows_of(plan: &Value) -> u64 {
    let number = |field: &str| plan[field].as_f64().unwrap_or(0.0);
    let rows = number("Actual Rows")
        + number("Rows Removed by Filter")
        + number("Rows Removed by Join Filter")
        + number("Rows Removed by Index Recheck");
    let below: u64 = plan["Plans"].as_array().into_iter().flatten().map(rows_of).sum();
    (rows * number("Actual Loops").max(1.0)) as u64 + below
}

fn buffers_of(plan: &Value) -> u64 {
    let touched = ["Shared Hit Blocks", "Shared Read Blocks"];
    touched.iter().map(|name| plan[*name].as_u64().unwrap_or(0)).sum()
}

/// Runs every statement in one session as a dispatcher has it, once before the tables are filled and once
/// after it, and says what is above its bound. `before` makes the tables what they are at first.
fn check_stale_plans(shop: &Shop, before: &str, count: u32) -> Vec<String> {
    let bounds = bounds();
    let quiet = "set client_min_messages = warning;";
    let mut script = format!("{quiet}\n\\o /dev/null\n{before}\n");
    // Applications and clients do not prepare theirs, and the listener each time anew: what is pinned is inside of
    // functions.
    let is_prepared = |bound: &Bound| ![APPLICATIONS, LISTENERS].contains(&bound.session);
    for (n, Bound { types, sql, .. }) in bounds.iter().enumerate().filter(|b| is_prepared(b.1)) {
        script.push_str(&format!("prepare case_{n} {types} as {sql};\n"));
    }
    // What differs are the settings that a plan is made under.
    let run = |script: &mut String, telling: &str| {
        for (n, bound) in bounds.iter().enumerate() {
            if n == 0 || bounds[n - 1].session != bound.session {
                script.push_str(&format!("reset all;\n{telling}\n{}\n", bound.session));
            }
            let statement = match is_prepared(bound) {
                true => format!("execute case_{n} {}", bound.values),
                false => bound.sql.clone(),
            };
            script.push_str(&format!(
                "begin;\nset local plans.steps = {STEPS};\n\\warn @@{n}\n{statement};\nrollback;\n"
            ));
        }
    };
    // As often as it takes to choose a plan for good.
    for _ in 0..6 {
        run(&mut script, quiet);
    }
    script.push_str(&format!("reset all;\n{quiet}\n"));
    script.push_str(&fill_waiting(count));
    script.push_str("\n\\warn @@@\n");
    run(&mut script, TELL_PLANS);
    let said = shop.psql("shop", &["-v", "SHOW_CONTEXT=never"], &script).succeed().stderr;
    let said = said.split_once("@@@").unwrap_or_else(|| panic!("{said}")).1;
    let mut wrong = Vec::new();
    for part in said.split("@@").skip(1) {
        let (number, logged) = part.split_once('\n').unwrap();
        let bound = &bounds[number.trim().parse::<usize>().unwrap()];
        let plans: Vec<Value> = logged
            .split("plan:\n")
            .skip(1)
            .map(|text| {
                let text = &text[..text.find("\n}").unwrap() + 2];
                serde_json::from_str::<Value>(text).unwrap()["Plan"].clone()
            })
            .collect();
        assert!(!plans.is_empty(), "{}: {logged}", bound.name);
        let rows: u64 = plans.iter().map(rows_of).sum();
        // The outermost statement ends last, and has those of all that it called.
        let buffers = buffers_of(plans.last().unwrap());
        println!("{count}: {}: {rows} rows, {buffers} buffers", bound.name);
        let most = bound.most(count);
        if rows + buffers > most {
            let name = bound.name;
            wrong.push(format!("{count}: {name}: {rows} rows and {buffers} buffers, not {most}"));
            let worst = plans.iter().max_by_key(|plan| rows_of(plan) + buffers_of(plan));
            println!("{name}: {:#}", worst.unwrap());
        }
    }
    assert_eq!(wrong.len() + bounds.len(), wrong.len() + said.matches("@@").count());
    wrong
}

/// What works for so many milliseconds does a few steps instead, as many on any machine.
const STEPS: u32 = 2;
const COUNT_STEPS: &str = r"
    do $do$
    declare
        step constant text := $step$set_config('plans.steps', (current_setting('plans.steps')::integer - 1)::text, true)::integer$step$;
        was text;
        becomes text;
        changed text[];
    begin
        for was in
            select pg_get_functiondef(p.oid)
            from pg_proc p
            where p.pronamespace = 'postrider'::regnamespace and p.prokind = 'f' and p.prosrc ~ 'began'
            order by p.proname
        loop
            becomes := regexp_replace(
                was, $re$clock_timestamp\(\) < began \+ interval '\d+ milliseconds'$re$, step || ' >= 0');
            becomes := regexp_replace(
                becomes, $re$clock_timestamp\(\) > began \+ interval '\d+ milliseconds'$re$, step || ' <= 0');
            if becomes <> was then
                execute becomes;
                changed := changed || substring(becomes from 'FUNCTION postrider\.(\w+)');
            end if;
        end loop;
        if changed is distinct from
            '{advance_replays,bring_back,bury_batch,cancel_batch,erase_batch,fire_schedules,redrive_batch,tell_batch}'
        then
            raise exception 'functions that work for a time are others now: %', changed;
        end if;
    end
    $do$";

fn fill_waiting(count: u32) -> String {
    FILL_WAITING.replace("{count}", &count.to_string()).replace("{gone}", GONE)
}

async fn stale(before: &str, counts: &[u32]) {
    let settings = vec![("autovacuum".to_owned(), "off".to_owned())];
    let shop = Shop::open_migrated_with(Options { settings, ..Options::default() }).await;
    shop.execute(&format!(
        "update postrider.shard set owner = '{DISPATCHER}', epoch = 1;
        select postrider.create_endpoint('sink', 'discard', '{{}}');
        select postrider.create_event_type('placed');
        select postrider.create_event_type('postrider.dead_letter');
        select postrider.subscribe('placed', 'sink');
        select postrider.set_setting('max_queue_size', '0');
        select postrider.set_setting('idempotency_window', '86400');
        select postrider.set_setting('worker_stale_after', '3600');
        select postrider.create_consumer('c', p_partitions => 4);
        select postrider.create_schedule('s' || n, 'every 1 day', p_endpoint_name => 'sink')
        from generate_series(1, 50) n;
        update postrider.schedule set next_at = '2001-01-01';
        select postrider.register_worker('w', p_capacity => 1000);
        select postrider.register_worker('r', 'default', 10, p_carrier => 'rabbitmq')"
    ))
    .await;
    shop.execute(COUNT_STEPS).await;
    let mut wrong = Vec::new();
    for count in counts {
        wrong.extend(check_stale_plans(&shop, before, *count));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// How much waits in these tests; `POSTRIDER_TEST_WAITING` makes it more.
fn waiting_count() -> u32 {
    std::env::var("POSTRIDER_TEST_WAITING")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_made_when_nothing_waited_does_for_what_waits() {
    let before = format!("{EMPTY_WAITING}\nanalyze;");
    stale(&before, &[1_000, waiting_count()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_what_waited_once_do_no_harm() {
    // What was counted is not what is there: few, then many.
    let before = format!("{EMPTY_WAITING}\n{}\nanalyze;\n{EMPTY_WAITING}", fill_waiting(5_000));
    stale(&before, &[1_000, waiting_count()]).await;
}

/// What somebody does over HTTP, once: it costs what its function does.
const VERBS: &[&str] = &[
    "api_add_signing_key",
    "api_alter_endpoint",
    "api_alter_event_type",
    "api_alter_subscription",
    "api_cancel_endpoint_messages",
    "api_cancel_execution",
    "api_cancel_job",
    "api_cancel_message",
    "api_cancel_replay",
    "api_cordon_worker",
    "api_create_consumer",
    "api_create_endpoint",
    "api_create_event_type",
    "api_create_replay",
    "api_create_token",
    "api_disable_endpoint",
    "api_drop_action",
    "api_drop_consumer",
    "api_drop_endpoint",
    "api_drop_event_type",
    "api_drop_worker",
    "api_enable_endpoint",
    "api_erase_messages",
    "api_fail_deliveries",
    "api_fail_delivery",
    "api_pause_all",
    "api_pause_endpoint",
    "api_redrive",
    "api_redrive_message",
    "api_replay_message",
    "api_reset_circuit",
    "api_reset_consumer",
    "api_reset_setting",
    "api_resolve_parked_message",
    "api_resume_all",
    "api_resume_endpoint",
    "api_retire_signing_key",
    "api_retry_deliveries",
    "api_retry_delivery",
    "api_retry_execution",
    "api_reveal_signing_key",
    "api_revoke_token",
    "api_rotate_signing_key",
    "api_set_action",
    "api_set_setting",
    "api_skip_deliveries",
    "api_skip_delivery",
    "api_submit_execution",
    "api_subscribe",
    "api_uncordon_worker",
    "api_unsubscribe",
    "api_validate_endpoint",
    "api_validate_retry_policy",
];

/// What needs no bound, and why.
const WITHOUT_BOUND: &[(&str, &str)] = &[
    ("api_endpoint_health", "get_endpoint_health, which counts nothing"),
    ("api_endpoints_health", "get_endpoint_health for each endpoint of a page"),
    ("api_health", "health_check has one"),
    ("api_statistics", "metrics has one"),
    ("api_dispatchers", "reads heartbeats, of which there are few"),
    ("api_workers", "reads what workers have, page by page"),
    ("api_worker", "reads what one worker has"),
    ("api_consumer", "the view consumers has tests of its own"),
    ("api_blocked_keys", "the view blocked_keys goes from key to key, and ends with the page"),
    ("execution", "by id, and 100 rows each"),
    ("execution_masked", "by id, and 100 rows each"),
    ("api_archive", "the view archive has tests of its own (views_at_size)"),
    ("api_message", "queue, archive and message_status have tests of their own (views_at_size)"),
    (
        "api_message_masked",
        "queue, archive and message_status have tests of their own (views_at_size)",
    ),
    ("api_explain_message", "explain_policy, by id"),
    ("api_dlq_summary", "reads a count per endpoint"),
    ("deferred_count", "counts what waits in one shard, once a minute, and nobody waits for it"),
    (
        "deferred_count_of",
        "counts what waits at some endpoints in one shard, and nobody waits for it",
    ),
    (
        "maintain_archive_partitions",
        "moves what the default partitions hold, on a connection of its own",
    ),
    ("make_partitions", "the same"),
    ("cleanup_old_archive_partitions", "drops tables, on a connection of its own"),
    ("upkeep_session", "settings"),
    ("dispatcher_session", "settings"),
    ("fleet_session", "settings"),
    ("durability_session", "settings"),
    ("make_durable", "reads no table"),
    ("limit_statements", "settings"),
    ("limit_waits", "settings"),
    ("limit_locks", "settings"),
    ("limit_transaction", "settings"),
    ("api_session", "settings"),
    ("api_begin", "reads no table"),
    ("api_commit", "reads no table"),
    ("api_rollback", "reads no table"),
    ("leave_role", "reads no table"),
    ("enable_fast_mode", "settings"),
    ("discard_plans", "reads no table"),
    ("session_pid", "reads no table"),
    ("blockers", "reads the table of locks, after something has waited for long"),
    ("listen", "reads no table"),
    ("listen_fleet", "reads no table"),
    ("listen_worker", "reads no table"),
    ("doorbell_lock", "reads no table"),
    ("doorbell_unlock", "reads no table"),
    ("doze_publisher", "reads no table"),
    ("queues_are_quiet", "reads no table"),
    ("doze_worker", "reads no table"),
    ("wake_worker", "reads no table"),
    ("is_quiet", "reads no table"),
    ("is_standby", "reads no table"),
    ("may_prepare", "reads no table"),
    ("number_gaps", "a row for each time that the log was adopted"),
    ("shard_count", "reads no table"),
    ("cancel_number", "reads a sequence"),
    ("lease_length", "reads one setting"),
    ("dispatcher_settings", "reads the settings"),
    ("trade_places", "reads loans, a row per endpoint and shard at most, whatever waits"),
    (
        "update_full_endpoints",
        "reads endpoints, and what pending_deliveries looks at, whatever waits",
    ),
    (
        "clean_up",
        "forget_dead_letters, forget_events, forget_jobs and forget_subscriptions, which have theirs",
    ),
    ("start_executions", "take_executions starts what it has taken"),
];

/// All text of the Rust files below a folder.
fn code_below(folder: &std::path::Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = entries.map(|path| match path.is_dir() {
        true => code_below(&path),
        false => std::fs::read_to_string(&path).unwrap_or_default(),
    });
    text.collect()
}

fn names_of(folder: &std::path::Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_statement_that_dispatchers_and_clients_run_has_a_bound() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let code = [
        "archive",
        "bounded",
        "chores",
        "circuits",
        "durability",
        "fleet",
        "lease",
        "ledger",
        "log",
    ]
    .map(|name| format!("store/{name}.rs"))
    .into_iter()
    .map(|file| std::fs::read_to_string(root.join("crates/postrider/src").join(file)).unwrap())
    .chain(
        ["engine", "fleet", "api"]
            .map(|folder| code_below(&root.join("crates/postrider/src").join(folder))),
    )
    .collect::<String>();
    let run = names_of(&root.join("sql/queries"))
        .into_iter()
        .filter(|name| code.contains(&format!("queries/{name}.sql")))
        .chain(names_of(&root.join("crates/postrider-client/sql")))
        .collect::<BTreeSet<_>>();
    let all = bounds();
    let bounded: BTreeSet<&str> =
        all.iter().map(|bound| bound.name.split([':', ' ']).next().unwrap()).collect();
    let excused: BTreeSet<&str> =
        WITHOUT_BOUND.iter().map(|(name, _)| *name).chain(VERBS.iter().copied()).collect();

    let missing: Vec<&String> = run
        .iter()
        .filter(|name| !bounded.contains(name.as_str()) && !excused.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "without a bound, or a reason why not: {missing:?}");
    let idle: Vec<&&str> = excused.iter().filter(|name| !run.contains(**name)).collect();
    assert!(idle.is_empty(), "excused and not run: {idle:?}");
    let both: Vec<_> = excused.intersection(&bounded).collect();
    assert!(both.is_empty(), "bounded and excused: {both:?}");
}
