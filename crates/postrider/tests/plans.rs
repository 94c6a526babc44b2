//! The plans of queries that run in a loop, on full tables: by the index that each names, and no
//! other way. And what every statement of ours reads at most, whatever was counted when it was planned: at 0, 1,000 and
//! 100,000 waiting rows here, and at a million by `cargo xtask prove --only plans`.

use std::collections::{BTreeMap, BTreeSet};

use crate::book::{paths_below, text_of};
use crate::shop::Shop;
use postrider_testkit::postgres::Options;
use serde_json::Value;
use tokio_postgres::Client;

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
        sql: include_str!("../../../sql/queries/dispatch/tick.sql"),
        types: "xid8, smallint[], xid8[], bigint, integer",
        values: "{xmax}, {lanes}, '{}', 4001, 2000",
        indexes: &["message_xid_id"],
    },
    Case {
        name: "page",
        sql: include_str!("../../../sql/queries/dispatch/page.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, pg_snapshot, bigint, integer[], boolean, integer,
            integer, boolean",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', 1000,
            '{}', false, 2000, 16, true",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "page_left",
        sql: include_str!("../../../sql/queries/dispatch/page_left.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, pg_snapshot, integer[], integer, boolean",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', '{1}', 16, true",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "deferred_count",
        sql: include_str!("../../../sql/queries/dispatch/deferred_count.sql"),
        types: "smallint",
        values: "3::smallint",
        indexes: &["deferred_due"],
    },
    Case {
        name: "deferred_count_of",
        sql: include_str!("../../../sql/queries/dispatch/deferred_count_of.sql"),
        types: "integer[], smallint[]",
        values: "'{1,2,3}', '{1,2,3}'",
        indexes: &["deferred_due"],
    },
    Case {
        name: "still_waiting",
        sql: include_str!("../../../sql/queries/dispatch/still_waiting.sql"),
        types: "bigint[], integer[]",
        values: "'{1,2,3}', '{1,1,1}'",
        indexes: &["deferred_pkey"],
    },
    Case {
        name: "window",
        sql: include_str!("../../../sql/queries/dispatch/window.sql"),
        types: "xid8, xid8[], smallint[]",
        values: "{xmax}, array[{xmax}], {lanes}",
        indexes: &["heartbeat_xid", "message_xid_id"],
    },
    Case {
        name: "deferred_due",
        sql: include_str!("../../../sql/queries/dispatch/deferred_due.sql"),
        types: "integer[], bigint[], smallint[], integer, boolean",
        values: "'{1,2,3}', '{100,100,100}', {shards}, 2000, false",
        indexes: &["deferred_due", "deferred_key", "deferred_key_everywhere", "message_id"],
    },
    Case {
        name: "followers",
        sql: include_str!("../../../sql/queries/dispatch/followers.sql"),
        types: "text[], integer[], bigint, integer, boolean",
        values: "'{key-1,key-2}', '{1,2}', 32, 2000, false",
        indexes: &["deferred_key", "deferred_key_everywhere", "message_id"],
    },
    Case {
        name: "deferred_after",
        sql: include_str!("../../../sql/queries/dispatch/deferred_after.sql"),
        types: "integer[], smallint[]",
        values: "'{1,2,3}', {shards}",
        indexes: &["deferred_due"],
    },
    Case {
        name: "deferred_expired",
        sql: include_str!("../../../sql/queries/dispatch/deferred_expired.sql"),
        types: "smallint[], bigint, timestamptz, bigint, integer, bigint[], integer[]",
        values: "{shards}, 500, '-infinity', 0, 0, '{}', '{}'",
        indexes: &["deferred_expires_at", "deferred_pkey", "message_id"],
    },
    Case {
        name: "deferred_next",
        sql: include_str!("../../../sql/queries/dispatch/deferred_next.sql"),
        types: "smallint[]",
        values: "{shards}",
        indexes: &["deferred_due"],
    },
    Case {
        name: "candidates",
        sql: include_str!("../../../sql/queries/dispatch/candidates.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, bigint, integer",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, '4:4:', 20000, 16",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "done_between",
        sql: include_str!("../../../sql/queries/dispatch/done_between.sql"),
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
    Case {
        name: "newest_checkpoints",
        sql: include_str!("../../../sql/queries/dispatch/newest_checkpoints.sql"),
        types: "smallint[]",
        values: "'{0,1,2}'",
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
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    client.batch_execute(session).await.unwrap();
    for case in CASES {
        explain(&client, case, "").await;
    }
    shop.psql("shop", &[], FILL).succeed();
    // As it does once a minute.
    client
        .batch_execute(include_str!("../../../sql/queries/dispatch/discard_plans.sql"))
        .await
        .unwrap();
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
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
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
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
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
/// leave out. For a hundred deliveries each, and for nothing that depends on how many wait, but what `HANDLED` says.
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

const DISPATCHERS: &str = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
const FLEETS: &str = include_str!("../../../sql/queries/fleet/fleet_session.sql");
const LISTENERS: &str = include_str!("../../../sql/queries/access/api_session.sql");
const TAILS: &str = include_str!("../../../sql/queries/watch/live_session.sql");
/// As anybody connects.
const APPLICATIONS: &str = "";
/// The command line: connects for one statement, and has no plan from before.
const COMMANDS: &str = "set application_name = 'postrider';";

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
    all.extend(of_verbs());
    all.extend(of_verbs_over_many());
    all.extend(of_verbs_of_fleets());
    all.extend(of_commands());
    all.extend(of_commands_that_show());
    all.extend(of_commands_about_schedules());
    all.extend(of_tails());
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
            include_str!("../../../sql/queries/dispatch/still_waiting.sql"),
            "bigint[], integer[]",
            &format!("{ids}, {ones}"),
            1_200,
        ),
        query(
            "followers",
            include_str!("../../../sql/queries/dispatch/followers.sql"),
            "text[], integer[], bigint, integer, boolean",
            "'{key-3,key-6}', '{4,7}', 32, 2000, false",
            2_000,
        ),
        query(
            "followers of keys everywhere",
            include_str!("../../../sql/queries/dispatch/followers.sql"),
            "text[], integer[], bigint, integer, boolean",
            "'{key-3,key-6}', '{4,7}', 32, 2000, true",
            5_000,
        ),
        query(
            "deferred_after",
            include_str!("../../../sql/queries/dispatch/deferred_after.sql"),
            "integer[], smallint[]",
            "'{1,2,3}', {shards}",
            1_000,
        ),
        query(
            "deferred_due",
            include_str!("../../../sql/queries/dispatch/deferred_due.sql"),
            "integer[], bigint[], smallint[], integer, boolean",
            "'{1,2,3}', '{10,10,10}', {shards}, 2000, false",
            6_000,
        ),
        query(
            "deferred_due of keys everywhere",
            include_str!("../../../sql/queries/dispatch/deferred_due.sql"),
            "integer[], bigint[], smallint[], integer, boolean",
            "'{1,2,3}', '{10,10,10}', {shards}, 2000, true",
            8_000,
        ),
        query(
            "deferred_expired",
            include_str!("../../../sql/queries/dispatch/deferred_expired.sql"),
            "smallint[], bigint, timestamptz, bigint, integer, bigint[], integer[]",
            "{shards}, 100, '-infinity', 0, 0, '{}', '{}'",
            4_000,
        ),
        query(
            "deferred_next",
            include_str!("../../../sql/queries/dispatch/deferred_next.sql"),
            "smallint[]",
            "{shards}",
            4_000,
        ),
        query(
            "payload",
            include_str!("../../../sql/queries/dispatch/payload.sql"),
            "bigint, integer",
            &format!("{}, 1", message_id(300)),
            50,
        ),
        query(
            "page",
            include_str!("../../../sql/queries/dispatch/page.sql"),
            "smallint, bigint, bigint, pg_snapshot, pg_snapshot, bigint, integer[], boolean, integer,
            integer, boolean",
            "16::smallint, 100 * 1024, 900 * 1024, pg_current_snapshot(), '4:4:', 100, '{}', false,
            2000, 16, true",
            500,
        ),
        query(
            "page_left",
            include_str!("../../../sql/queries/dispatch/page_left.sql"),
            "smallint, bigint, bigint, pg_snapshot, pg_snapshot, integer[], integer, boolean",
            "16::smallint, 100 * 1024, 900 * 1024, pg_current_snapshot(), '4:4:', '{1}', 16, true",
            500,
        ),
        query(
            "candidates",
            include_str!("../../../sql/queries/dispatch/candidates.sql"),
            "smallint, bigint, bigint, pg_snapshot, bigint, integer",
            "16::smallint, 100 * 1024, 900 * 1024, '4:4:', 20000, 16",
            500,
        ),
        query(
            "done_between",
            include_str!("../../../sql/queries/dispatch/done_between.sql"),
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
        call(
            "recover_messages of keys everywhere",
            format!(
                "select m.*
                from (select postrider.set_setting('ordering_scope', 'global') offset 0) s,
                lateral postrider.recover_messages('{DISPATCHER}', {all}, {epochs}, {keyed}, true) m"
            ),
            16_000,
        ),
        call(
            "recover_claims of keys everywhere",
            format!(
                "select c.*
                from (select postrider.set_setting('ordering_scope', 'global') offset 0) s,
                lateral postrider.recover_claims('{DISPATCHER}', {all}, {epochs}, '{GONE}', '{{}}') c"
            ),
            13_000,
        ),
        query(
            "release_stored_keys",
            include_str!("../../../sql/queries/dispatch/release_stored_keys.sql"),
            "smallint[], text, bigint",
            "{shards}, 'key-3', 200",
            15_000,
        ),
        query(
            "stored_keys",
            include_str!("../../../sql/queries/dispatch/stored_keys.sql"),
            "smallint[], text, integer, bigint",
            "{shards}, 'key-3', 4, 200",
            6_000,
        ),
        call("release_keys", "select postrider.release_keys('{key-3,key-6}')".to_owned(), 1_500),
        // Several pages: most of what is first has been cancelled.
        call("expire_waiting", "select postrider.expire_waiting(100)".to_owned(), 60_000),
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
            include_str!("../../../sql/queries/dispatch/tick.sql"),
            "xid8, smallint[], xid8[], bigint, integer",
            "{xmax}, {lanes}, '{}', 4001, 2000",
            600,
        ),
        query(
            "window",
            include_str!("../../../sql/queries/dispatch/window.sql"),
            "xid8, xid8[], smallint[]",
            "{xmax}, array[{xmax}], {lanes}",
            1_000,
        ),
        query(
            "cancellations",
            include_str!("../../../sql/queries/dispatch/cancellations.sql"),
            "bigint",
            "1001",
            3_000,
        ),
        query(
            "cancellations_of",
            include_str!("../../../sql/queries/dispatch/cancellations_of.sql"),
            "bigint[]",
            &ids,
            1_500,
        ),
        query(
            "free_cancel_buckets",
            include_str!("../../../sql/queries/dispatch/free_cancel_buckets.sql"),
            "smallint[]",
            "array_fill(7::smallint, array[100])",
            1_500,
        ),
        query(
            "free_of_cancels",
            include_str!("../../../sql/queries/dispatch/free_of_cancels.sql"),
            "bigint[]",
            &ids,
            3_000,
        ),
        query(
            "endpoint_versions",
            include_str!("../../../sql/queries/endpoints/endpoint_versions.sql"),
            "integer",
            "1",
            100,
        ),
        query(
            "dispatcher_endpoints",
            include_str!("../../../sql/queries/endpoints/dispatcher_endpoints.sql"),
            "integer[]",
            "'{1,2,3}'",
            100,
        ),
        query(
            "dispatcher_event_types",
            include_str!("../../../sql/queries/endpoints/dispatcher_event_types.sql"),
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
            "take_shards",
            format!(
                "select * from (select count(*) from postrider.release_shards('{DISPATCHER}', {all}, {epochs})) r,
                lateral postrider.take_shards('{DISPATCHER}', 16)"
            ),
            2_500,
        ),
        query(
            "newest_checkpoints",
            include_str!("../../../sql/queries/dispatch/newest_checkpoints.sql"),
            "smallint[]",
            "{shards}",
            600,
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
        call("advance_replays", "select postrider.advance_replays()".to_owned(), 315_000),
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
const MOST_OF_FEW: &[(&str, u64)] = &[
    ("overdue_deliveries", 32_000),
    ("metrics", 100_000),
    ("health_check", 45_000),
    ("status_endpoints", 32_000),
];

/// The most where nothing waits at all.
const MOST_OF_NONE: u64 = 3_000;

/// Those that read more than that where nothing waits: catalogs, settings, partitions, and the schedules, all of
/// which are due.
const MORE_OF_NONE: &[(&str, u64)] = &[
    ("metrics", 15_000),
    ("health_check", 15_000),
    ("fire_schedules", 10_000),
    ("needs_archive_upkeep", 30_000),
];

/// What reads one in `share` of what waits, up to a number of rows, because it counts, deletes or looks through all of
/// them: so much for each of these, and so much beside them.
struct Handled {
    name: &'static str,
    share: u64,
    rows: u64,
    each: u64,
    beside: u64,
}

/// Looks end at 10,000, and a step of a replay at 20,000. A time range is read as a whole.
const HANDLED: &[Handled] = &[
    // It deletes what it reads, from three tables.
    Handled { name: "forget_consumer_rows", share: 10, rows: 10_000, each: 50, beside: 3_000 },
    Handled { name: "advance_replays", share: 1, rows: 20_000, each: 15, beside: 15_000 },
    Handled { name: "api_drop_endpoint", share: 10, rows: 10_000, each: 6, beside: 3_000 },
    Handled {
        name: "api_cancel_endpoint_messages",
        share: 10,
        rows: 10_000,
        each: 6,
        beside: 3_000,
    },
    Handled { name: "api_retry_deliveries", share: 10, rows: 10_000, each: 6, beside: 3_000 },
    Handled { name: "api_redrive", share: 1, rows: 10_000, each: 10, beside: 3_000 },
    Handled { name: "api_erase_messages", share: 1, rows: 10_000, each: 6, beside: 3_000 },
    Handled { name: "api_create_replay", share: 1, rows: u64::MAX, each: 4, beside: 3_000 },
    Handled { name: "replay_range", share: 1, rows: u64::MAX, each: 4, beside: 3_000 },
    Handled { name: "live_start: at a time", share: 1, rows: u64::MAX, each: 4, beside: 3_000 },
    // It looks through all executions that have not ended.
    Handled { name: "api_drop_worker", share: 10, rows: u64::MAX, each: 3, beside: 1_000 },
    Handled { name: "dlq_summary", share: 1, rows: 20_000, each: 4, beside: 3_000 },
];

/// What walks through none of the tables: five times as many waiting rows may add what its looks, of some 10,000 rows each,
/// did not find before, and that is less than a row for each that was added. These have bounds that are larger than the
/// tables.
const FLAT: &[&str] =
    &["overdue_deliveries", "metrics", "health_check", "status_endpoints", "advance_jobs: erase"];

impl Bound {
    fn most(&self, waiting: u32) -> u64 {
        let of = |list: &[(&str, u64)]| {
            list.iter().find(|(name, _)| *name == self.name).map(|(_, most)| *most)
        };
        if waiting == 0 {
            return self.most.min(of(MORE_OF_NONE).unwrap_or(MOST_OF_NONE));
        }
        let of_few = of(MOST_OF_FEW).filter(|_| waiting <= 1_000);
        let of_rows = HANDLED.iter().find(|handled| handled.name == self.name).map(|handled| {
            let rows = (u64::from(waiting) / handled.share).min(handled.rows);
            handled.beside + handled.each * rows
        });
        of_few.into_iter().chain(of_rows).fold(self.most, u64::min)
    }

    /// Whether the session knows it by a name. Applications and clients do not prepare theirs, the listener each
    /// time anew, and the command line runs one: what is pinned is inside of functions.
    fn is_prepared(&self) -> bool {
        ![APPLICATIONS, LISTENERS, COMMANDS].contains(&self.session)
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
    let claim = include_str!("../../../sql/queries/access/claim_request.sql");
    let keep = include_str!("../../../sql/queries/access/keep_answer.sql");
    let token = "(select max(t.id) from postrider.api_token t)";
    let send = ["'sink'", "'{}'", "null", "null", "'new'", "null", "null", "null", "null", "null"];
    let publish =
        ["'placed'", "'{}'", "null", "null", "'new'", "null", "null", "null", "null", "null"];
    vec![
        call(
            "known_token",
            include_str!("../../../sql/queries/access/known_token.sql"),
            &[token],
            50,
        ),
        call(
            "note_token_use",
            include_str!("../../../sql/queries/access/note_token_use.sql"),
            &[token],
            100,
        ),
        call(
            "enter_role",
            include_str!("../../../sql/queries/access/enter_role.sql"),
            &[token, "'a request'"],
            50,
        ),
        call("claim_request: a new key", claim, &[token, "'new'", "''"], 100),
        call("claim_request: a known key", claim, &[token, "'5'", "''"], 100),
        call("claim_request: a key that is free again", claim, &[token, "'1500'", "''"], 100),
        call("keep_answer", keep, &[token, "'5'", "200::smallint", "'{}'"], 100),
        call(
            "api_send_message",
            include_str!("../../../sql/queries/produce/api_send_message.sql"),
            &send,
            1_000,
        ),
        call(
            "api_send_messages",
            include_str!("../../../sql/queries/produce/api_send_messages.sql"),
            &["'sink'", "'[1, 2, 3]'", "null"],
            1_000,
        ),
        call(
            "api_publish_event",
            include_str!("../../../sql/queries/produce/api_publish_event.sql"),
            &publish,
            1_000,
        ),
        call(
            "publish_events",
            include_str!("../../../sql/queries/produce/publish_events.sql"),
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
            include_str!("../../../sql/queries/endpoints/api_endpoints.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_endpoints_masked",
            include_str!("../../../sql/queries/endpoints/api_endpoints_masked.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_endpoint",
            include_str!("../../../sql/queries/endpoints/api_endpoint.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_endpoint_masked",
            include_str!("../../../sql/queries/endpoints/api_endpoint_masked.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_signing_keys",
            include_str!("../../../sql/queries/endpoints/api_signing_keys.sql"),
            &["'sink'"],
            100,
        ),
        call(
            "api_queue",
            include_str!("../../../sql/queries/deliveries/api_queue.sql"),
            &["null", "null", "null", "4"],
            10_000,
        ),
        call(
            "api_attempts",
            include_str!("../../../sql/queries/watch/api_attempts.sql"),
            &[id, "null", "21"],
            300,
        ),
        call(
            "api_attempts_masked",
            include_str!("../../../sql/queries/watch/api_attempts_masked.sql"),
            &[id, "null", "21"],
            300,
        ),
        call(
            "api_dead_letters",
            include_str!("../../../sql/queries/dead_letters/api_dead_letters.sql"),
            &["'sink'", "null", "101"],
            2_500,
        ),
        call(
            "api_dead_letter",
            include_str!("../../../sql/queries/dead_letters/api_dead_letter.sql"),
            &["(select min(l.id) from postrider.dead_letter l)"],
            100,
        ),
        call(
            "api_dead_letter_masked",
            include_str!("../../../sql/queries/dead_letters/api_dead_letter_masked.sql"),
            &["(select min(l.id) from postrider.dead_letter l)"],
            100,
        ),
        call(
            "api_jobs",
            include_str!("../../../sql/queries/deliveries/api_jobs.sql"),
            &["null", "101"],
            500,
        ),
        call("api_job", include_str!("../../../sql/queries/deliveries/api_job.sql"), &["5"], 100),
        call(
            "api_replays",
            include_str!("../../../sql/queries/archive/api_replays.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_replays_masked",
            include_str!("../../../sql/queries/archive/api_replays_masked.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_replay",
            include_str!("../../../sql/queries/archive/api_replay.sql"),
            &["5"],
            100,
        ),
        call(
            "api_replay_masked",
            include_str!("../../../sql/queries/archive/api_replay_masked.sql"),
            &["5"],
            300,
        ),
        call(
            "api_event_types",
            include_str!("../../../sql/queries/endpoints/api_event_types.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_event_type",
            include_str!("../../../sql/queries/endpoints/api_event_type.sql"),
            &["'placed'"],
            100,
        ),
        call(
            "api_subscriptions",
            include_str!("../../../sql/queries/endpoints/api_subscriptions.sql"),
            &["'sink'", "null", "null", "101"],
            300,
        ),
        call(
            "api_subscription",
            include_str!("../../../sql/queries/endpoints/api_subscription.sql"),
            &["5"],
            100,
        ),
        call(
            "api_settings",
            include_str!("../../../sql/queries/settings/api_settings.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_setting",
            include_str!("../../../sql/queries/settings/api_setting.sql"),
            &["'max_queue_size'"],
            100,
        ),
        call(
            "api_tokens",
            include_str!("../../../sql/queries/access/api_tokens.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_events",
            include_str!("../../../sql/queries/watch/api_events.sql"),
            &["null", "101"],
            500,
        ),
        call(
            "api_consumers",
            include_str!("../../../sql/queries/consume/api_consumers.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_messages",
            include_str!("../../../sql/queries/consume/api_parked_messages.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_messages_masked",
            include_str!("../../../sql/queries/consume/api_parked_messages_masked.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_parked_message",
            include_str!("../../../sql/queries/consume/api_parked_message.sql"),
            &["5"],
            100,
        ),
        call(
            "api_parked_message_masked",
            include_str!("../../../sql/queries/consume/api_parked_message_masked.sql"),
            &["5"],
            100,
        ),
        call(
            "api_actions",
            include_str!("../../../sql/queries/fleet/api_actions.sql"),
            &["null", "101"],
            100,
        ),
        call(
            "api_action",
            include_str!("../../../sql/queries/fleet/api_action.sql"),
            &["'free'"],
            100,
        ),
        call(
            "api_executions",
            include_str!("../../../sql/queries/fleet/api_executions.sql"),
            &["null", "101"],
            4_000,
        ),
    ]
}

/// A statement as it stands.
fn whole(name: &'static str, session: &'static str, sql: &str, most: u64) -> Bound {
    Bound { name, session, types: String::new(), sql: sql.to_owned(), values: String::new(), most }
}

/// What somebody does over HTTP, once, to what there is one of: endpoints, subscriptions, keys, messages. Where the
/// thing is not there, or the other way round, the statement makes it so first.
fn of_verbs() -> Vec<Bound> {
    let call = asked;
    let then = |name, sql: &str, most| whole(name, LISTENERS, sql, most);
    let key = "(select min(k.id) from postrider.signing_key k)";
    let hidden = "(select min(k.id) from postrider.signing_key k where k.is_hidden)";
    let subscription =
        "(select min(k.id) from postrider.subscriptions k where k.event_type is not null)";
    let http = "'{\"url\": \"https://example.com/\"}'";
    vec![
        call(
            "api_create_endpoint",
            include_str!("../../../sql/queries/endpoints/api_create_endpoint.sql"),
            &["'new'", "'http'", http],
            2_000,
        ),
        call(
            "api_alter_endpoint",
            include_str!("../../../sql/queries/endpoints/api_alter_endpoint.sql"),
            &["'sink'", "null", "null", "null", "null", "true"],
            1_500,
        ),
        call(
            "api_validate_endpoint",
            include_str!("../../../sql/queries/endpoints/api_validate_endpoint.sql"),
            &["'http'", http],
            2_000,
        ),
        call(
            "api_validate_retry_policy",
            include_str!("../../../sql/queries/policy/api_validate_retry_policy.sql"),
            &["'{\"max_retries\": 1, \"jitter\": 0.5}'"],
            500,
        ),
        call(
            "api_disable_endpoint",
            include_str!("../../../sql/queries/endpoints/api_disable_endpoint.sql"),
            &["'sink'"],
            1_500,
        ),
        then(
            "api_enable_endpoint",
            "select postrider.enable_endpoint('sink') from postrider.disable_endpoint('sink')",
            2_000,
        ),
        call(
            "api_pause_endpoint",
            include_str!("../../../sql/queries/endpoints/api_pause_endpoint.sql"),
            &["'sink'"],
            1_500,
        ),
        then(
            "api_resume_endpoint",
            "select postrider.resume_endpoint('sink') from postrider.pause_endpoint('sink')",
            2_000,
        ),
        call(
            "api_pause_all",
            include_str!("../../../sql/queries/endpoints/api_pause_all.sql"),
            &[],
            2_000,
        ),
        then("api_resume_all", "select postrider.resume_all() from postrider.pause_all()", 3_000),
        then(
            "api_reset_circuit",
            "with failing as (
                update postrider.circuit c set failure_count = 1 where c.endpoint_id = 1 returning 1
            )
            select postrider.reset_circuit_breaker('sink') from failing",
            500,
        ),
        call(
            "api_add_signing_key",
            include_str!("../../../sql/queries/endpoints/api_add_signing_key.sql"),
            &["'hook'", "null"],
            2_000,
        ),
        call(
            "api_rotate_signing_key",
            include_str!("../../../sql/queries/endpoints/api_rotate_signing_key.sql"),
            &["'hook'", "null"],
            2_000,
        ),
        call(
            "api_retire_signing_key",
            include_str!("../../../sql/queries/endpoints/api_retire_signing_key.sql"),
            &["'hook'", key, "null"],
            2_000,
        ),
        call(
            "api_reveal_signing_key",
            include_str!("../../../sql/queries/endpoints/api_reveal_signing_key.sql"),
            &["'hook'", hidden],
            1_000,
        ),
        call(
            "api_create_event_type",
            include_str!("../../../sql/queries/endpoints/api_create_event_type.sql"),
            &["'new'", "null", "null", "null"],
            500,
        ),
        call(
            "api_alter_event_type",
            include_str!("../../../sql/queries/endpoints/api_alter_event_type.sql"),
            &["'placed'", "'x'", "null", "null"],
            500,
        ),
        then(
            "api_drop_event_type",
            "select postrider.drop_event_type('new') from postrider.create_event_type('new')",
            1_000,
        ),
        call(
            "api_subscribe",
            include_str!("../../../sql/queries/endpoints/api_subscribe.sql"),
            &["'placed'", "'hook'", "null", "null", "null"],
            1_500,
        ),
        call(
            "api_alter_subscription",
            include_str!("../../../sql/queries/endpoints/api_alter_subscription.sql"),
            &[subscription, "'{\"a\": 1}'", "null", "null"],
            1_500,
        ),
        then(
            "api_unsubscribe",
            "select postrider.unsubscribe(s.id) from postrider.subscribe('placed', 'hook') s (id)",
            2_000,
        ),
        call(
            "api_create_consumer",
            include_str!("../../../sql/queries/consume/api_create_consumer.sql"),
            &["'new'", "null", "null", "'now'", "null", "null"],
            800,
        ),
        // Of a new one there is nothing: what others have is not walked through.
        then(
            "api_drop_consumer",
            "select postrider.drop_consumer('new') from postrider.create_consumer('new')",
            1_000,
        ),
        call(
            "api_reset_consumer",
            include_str!("../../../sql/queries/consume/api_reset_consumer.sql"),
            &["'c'", "'beginning'"],
            800,
        ),
        then(
            "api_resolve_parked_message",
            "with parked as (
                insert into postrider.parked_message (
                    consumer_id, message_id, xid, partition, attempt_count, created_at, payload)
                select c.id, 1, '3', 0, 1, now(), '{}' from postrider.consumer c where c.name = 'c'
                returning id
            )
            select postrider.resolve_parked_message(p.id) from parked p",
            300,
        ),
        call(
            "api_set_setting",
            include_str!("../../../sql/queries/settings/api_set_setting.sql"),
            &["'max_queue_size'", "'1000000'"],
            1_000,
        ),
        call(
            "api_reset_setting",
            include_str!("../../../sql/queries/settings/api_reset_setting.sql"),
            &["'max_queue_size'"],
            1_000,
        ),
        call(
            "api_create_token",
            include_str!("../../../sql/queries/access/api_create_token.sql"),
            &["'new'", "'viewer'", "sha256('x')", "null"],
            300,
        ),
        call(
            "api_revoke_token",
            include_str!("../../../sql/queries/access/api_revoke_token.sql"),
            &["'t'"],
            300,
        ),
    ]
}

/// What somebody does over HTTP to deliveries, dead letters and messages: one, or as many as a filter finds.
fn of_verbs_over_many() -> Vec<Bound> {
    let call = asked;
    let then = |name, sql: &str, most| whole(name, LISTENERS, sql, most);
    // One that waits without a key, that nobody has in hand and nobody has cancelled.
    let waiting = |verb: &str| {
        let id = message_id(250);
        format!(
            "with free as (
                delete from postrider.cancellation c
                where c.message_id = {id} and c.target = 1
                returning 1
            )
            select postrider.{verb}
            from (select count(*) from free) f
            cross join postrider.deferred d
            where d.message_id = {id}"
        )
    };
    let ended = format!(
        "with waiting as (
            delete from postrider.deferred d
            where d.message_id = {}
            returning d.message_id, d.target, d.endpoint_id
        ), ended as (
            insert into postrider.ended (message_id, target, endpoint_id, reason)
            select w.message_id, w.target, w.endpoint_id, 'expired'
            from waiting w
            returning message_id
        )
        select postrider.replay_message(e.message_id) from ended e",
        message_id(251)
    );
    // Where fewer than 10,000 wait it looks at what nobody has read: here dispatchers have read all.
    let cancelled = format!(
        "with read as (
            insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
            select
                0, '{DISPATCHER}', array_agg(s.shard), pg_snapshot_xmin(pg_current_snapshot()),
                array_agg(0::bigint), '[]'
            from postrider.shard s
            returning 1
        )
        select postrider.cancel_endpoint_messages('sink') from read"
    );
    let all = "null";
    vec![
        then("api_retry_delivery", &waiting("retry_delivery(d.message_id, null)"), 800),
        then("api_fail_delivery", &waiting("fail_delivery(d.message_id, null, 'r')"), 1_500),
        then("api_skip_delivery", &waiting("skip_delivery(d.message_id, null, 'r')"), 1_000),
        then("api_replay_message", &ended, 1_000),
        then(
            "api_redrive_message",
            "select postrider.redrive_message(l.id)
            from (select k.id from postrider.dead_letter k order by k.id limit 1) l",
            1_500,
        ),
        // An endpoint for which one in ten of all wait.
        call(
            "api_retry_deliveries",
            include_str!("../../../sql/queries/deliveries/api_retry_deliveries.sql"),
            &["'sink'", all, all, all, all, all, all],
            65_000,
        ),
        // And one for which none does: what waits for others is not looked at.
        call(
            "api_fail_deliveries",
            include_str!("../../../sql/queries/deliveries/api_fail_deliveries.sql"),
            &["'r'", "'hook'", all, all, all, all, all, all],
            500,
        ),
        call(
            "api_skip_deliveries",
            include_str!("../../../sql/queries/deliveries/api_skip_deliveries.sql"),
            &["'r'", "'hook'", all, all, all, all, all, all],
            500,
        ),
        call(
            "api_redrive",
            include_str!("../../../sql/queries/dead_letters/api_redrive.sql"),
            &["'sink'", all, all, all, all, all, all],
            105_000,
        ),
        call(
            "api_erase_messages",
            include_str!("../../../sql/queries/deliveries/api_erase_messages.sql"),
            &["'key-3'", all, all, all, all, all],
            65_000,
        ),
        call(
            "api_drop_endpoint",
            include_str!("../../../sql/queries/endpoints/api_drop_endpoint.sql"),
            &["'sink'", "null", "true"],
            65_000,
        ),
        then("api_cancel_endpoint_messages", &cancelled, 65_000),
        // All messages of its range of time, which it reads as a whole.
        call(
            "api_create_replay",
            include_str!("../../../sql/queries/archive/api_create_replay.sql"),
            &["'sink'", "'2001-01-01Z'", "'2101-01-01Z'", all, all, all, all],
            u64::MAX,
        ),
        then(
            "api_cancel_replay",
            "with made as (
                insert into postrider.replay (
                    endpoint_id, endpoint_name, from_ts, to_ts, position, last_id, position_at)
                values (1, 'sink', '2001-01-01', '2101-01-01', 0, 1000, now())
                returning id
            )
            select postrider.cancel_replay(m.id) from made m",
            300,
        ),
        then(
            "api_cancel_job",
            "with made as (
                insert into postrider.job (kind, endpoint_id, endpoint_name, estimate, has_more, last_id)
                values ('retry', 1, 'sink', 0, false, 1000)
                returning id
            )
            select postrider.cancel_job(m.id) from made m",
            300,
        ),
    ]
}

/// What somebody does over HTTP to executions, actions and workers.
fn of_verbs_of_fleets() -> Vec<Bound> {
    let call = asked;
    let then = |name, sql: &str, most| whole(name, LISTENERS, sql, most);
    let none = "null";
    vec![
        call(
            "api_set_action",
            include_str!("../../../sql/queries/fleet/api_set_action.sql"),
            &["'new'", none, none, none, none, "5", none],
            500,
        ),
        then(
            "api_drop_action",
            "select postrider.drop_action('new') from postrider.set_action('new')",
            1_000,
        ),
        call(
            "api_submit_execution",
            include_str!("../../../sql/queries/fleet/api_submit_execution.sql"),
            &["'free'", none, none, none, none, none, none, none, "'new'", none],
            800,
        ),
        then(
            "api_cancel_execution",
            "select postrider.cancel_execution(e.id)
            from (select k.id from postrider.execution k order by k.id desc limit 1) e",
            1_000,
        ),
        then(
            "api_retry_execution",
            "with ended as (
                delete from postrider.live_execution l
                where l.id = (select max(e.id) from postrider.execution e)
                returning id
            )
            select postrider.retry_execution(e.id) from ended e",
            1_000,
        ),
        call(
            "api_cordon_worker",
            include_str!("../../../sql/queries/fleet/api_cordon_worker.sql"),
            &["'w'"],
            500,
        ),
        then(
            "api_uncordon_worker",
            "select postrider.uncordon_worker('w') from postrider.cordon_worker('w')",
            1_500,
        ),
        then(
            "api_drop_worker",
            "select postrider.drop_worker('new') from postrider.addressed_worker('new', null)",
            u64::MAX,
        ),
    ]
}

/// A statement of the command line, with these values.
fn commanded(name: &'static str, sql: &str, values: &[&str], most: u64) -> Bound {
    Bound { session: COMMANDS, ..asked(name, sql, values, most) }
}

/// What the command line does that is not one of the functions above.
fn of_commands() -> Vec<Bound> {
    let call = commanded;
    let then = |name, sql: &str, most| whole(name, COMMANDS, sql, most);
    let subscription =
        "(select min(k.id) from postrider.subscriptions k where k.event_type is not null)";
    vec![
        then(
            "alter_endpoint",
            "select postrider.alter_endpoint('hook', '{\"url\": \"https://example.com/other\"}')",
            2_000,
        ),
        call(
            "set_retry_policy",
            include_str!("../../../sql/queries/policy/set_retry_policy.sql"),
            &["'hook'", "'{\"max_retries\": 1, \"jitter\": 0.5}'"],
            1_500,
        ),
        call(
            "alter_event_type",
            include_str!("../../../sql/queries/endpoints/alter_event_type.sql"),
            &["'placed'", "'x'", "null", "null", "null"],
            500,
        ),
        call(
            "alter_subscription",
            include_str!("../../../sql/queries/endpoints/alter_subscription.sql"),
            &[subscription, "'{\"a\": 1}'", "null"],
            1_500,
        ),
        call(
            "switch_subscription",
            include_str!("../../../sql/queries/endpoints/switch_subscription.sql"),
            &[subscription, "false"],
            1_500,
        ),
        then(
            "check_endpoint_name",
            "select
                postrider.check_endpoint_name('sink'), postrider.check_event_type('placed'),
                postrider.check_action_name(null), postrider.check_pool_name('default')",
            100,
        ),
        then("get_setting", "select postrider.get_setting('max_queue_size')", 50),
        then("cleanup_dlq", "select postrider.cleanup_dlq()", 3_000),
        then("make_tick", "select postrider.tick()", 40_000),
        call(
            "replay_range",
            include_str!("../../../sql/queries/archive/replay_range.sql"),
            // All of the log is looked at, where nobody has summed up when it was written, and none of it is in there.
            &["'sink'", "'2001-01-01Z'", "'2001-01-02Z'", "null"],
            u64::MAX,
        ),
    ]
}

/// What the command line shows: a page costs the same however much there is.
fn of_commands_that_show() -> Vec<Bound> {
    let call = commanded;
    let then = |name, sql: &str, most| whole(name, COMMANDS, sql, most);
    let id = message_id(30).to_string();
    let id = id.as_str();
    let letter = "(select min(l.id) from postrider.dead_letter l)";
    let of = |function: &str| {
        format!(
            "select s.*
            from postrider.message m
            cross join lateral postrider.{function}(m.id) s
            where m.id = {id}"
        )
    };
    let newest = "9223372036854775807";
    let all = "null";
    vec![
        then("message_status", &of("message_status"), 800),
        then("explain_policy", &of("explain_policy"), 5_000),
        call(
            "message_attempts",
            include_str!("../../../sql/queries/watch/message_attempts.sql"),
            &[id],
            300,
        ),
        call(
            "logged_message",
            include_str!("../../../sql/queries/watch/logged_message.sql"),
            &[id],
            100,
        ),
        call(
            "dead_letters",
            include_str!("../../../sql/queries/dead_letters/dead_letters.sql"),
            &["'sink'", "false", "101"],
            25_000,
        ),
        call(
            "dead_letter",
            include_str!("../../../sql/queries/dead_letters/dead_letter.sql"),
            &[letter],
            100,
        ),
        call(
            "dead_letter_masked",
            include_str!("../../../sql/queries/dead_letters/dead_letter_masked.sql"),
            &[letter],
            100,
        ),
        // It counts all letters that are kept.
        call(
            "dlq_summary",
            include_str!("../../../sql/queries/dead_letters/dlq_summary.sql"),
            &[],
            85_000,
        ),
        call(
            "status_totals",
            include_str!("../../../sql/queries/watch/status_totals.sql"),
            &["1000"],
            30_000,
        ),
        call(
            "status_endpoints",
            include_str!("../../../sql/queries/endpoints/status_endpoints.sql"),
            &["20"],
            200_000,
        ),
        call(
            "worker_status",
            include_str!("../../../sql/queries/watch/worker_status.sql"),
            &[],
            800,
        ),
        call("jobs", include_str!("../../../sql/queries/deliveries/jobs.sql"), &["101"], 500),
        call("job", include_str!("../../../sql/queries/deliveries/job.sql"), &["5"], 900),
        call("replays", include_str!("../../../sql/queries/archive/replays.sql"), &["101"], 500),
        call(
            "replays_masked",
            include_str!("../../../sql/queries/archive/replays_masked.sql"),
            &["101"],
            500,
        ),
        call(
            "events",
            include_str!("../../../sql/queries/watch/events.sql"),
            &[all, all, "101"],
            500,
        ),
        call(
            "parked_messages",
            include_str!("../../../sql/queries/consume/parked_messages.sql"),
            &[all, "101"],
            100,
        ),
        call(
            "parked_messages_masked",
            include_str!("../../../sql/queries/consume/parked_messages_masked.sql"),
            &[all, "101"],
            100,
        ),
        call(
            "executions",
            include_str!("../../../sql/queries/fleet/executions.sql"),
            &[all, all, all, all, "101", newest, "101"],
            30_000,
        ),
        call(
            "execution_end",
            include_str!("../../../sql/queries/fleet/execution_end.sql"),
            &["(-5)"],
            200,
        ),
        call(
            "execution_dead_letters",
            include_str!("../../../sql/queries/fleet/execution_dead_letters.sql"),
            &[all, "101", all],
            1_000,
        ),
        call(
            "execution_dead_letters_masked",
            include_str!("../../../sql/queries/fleet/execution_dead_letters_masked.sql"),
            &[all, "101", all],
            1_000,
        ),
        call(
            "worker_executions: shown",
            include_str!("../../../sql/queries/fleet/worker_executions.sql"),
            &["1", "21"],
            800,
        ),
        call("workers", include_str!("../../../sql/queries/fleet/workers.sql"), &[all, all], 2_500),
        call("tokens", include_str!("../../../sql/queries/access/tokens.sql"), &[], 100),
        call("settings", include_str!("../../../sql/queries/settings/settings.sql"), &[all], 500),
        call(
            "signing_keys",
            include_str!("../../../sql/queries/endpoints/signing_keys.sql"),
            &["'hook'"],
            100,
        ),
        call(
            "endpoints",
            include_str!("../../../sql/queries/endpoints/endpoints.sql"),
            &[all],
            200,
        ),
        call(
            "endpoints_masked",
            include_str!("../../../sql/queries/endpoints/endpoints_masked.sql"),
            &[all],
            300,
        ),
        call(
            "endpoint_with_secrets",
            include_str!("../../../sql/queries/endpoints/endpoint_with_secrets.sql"),
            &["'hook'"],
            50,
        ),
        call(
            "transport_options",
            include_str!("../../../sql/queries/endpoints/transport_options.sql"),
            &["'http'"],
            500,
        ),
        call(
            "event_types",
            include_str!("../../../sql/queries/endpoints/event_types.sql"),
            &[],
            50,
        ),
        call(
            "subscriptions",
            include_str!("../../../sql/queries/endpoints/subscriptions.sql"),
            &[all, "true"],
            100,
        ),
    ]
}

fn of_commands_about_schedules() -> Vec<Bound> {
    let call = commanded;
    let then = |name, sql: &str, most| whole(name, COMMANDS, sql, most);
    vec![
        then(
            "create_schedule",
            "select postrider.create_schedule('new', 'every 1 day', p_endpoint_name => 'sink')",
            800,
        ),
        then("alter_schedule", "select postrider.alter_schedule('s7', '{\"priority\": 3}')", 800),
        then("pause_schedule", "select postrider.pause_schedule('s7')", 300),
        then(
            "resume_schedule",
            "select postrider.resume_schedule('s7') from postrider.pause_schedule('s7')",
            500,
        ),
        then("drop_schedule", "select postrider.drop_schedule('s7')", 500),
        then("next_firings", "select * from postrider.next_firings('s7', 5)", 300),
        call(
            "schedules",
            include_str!("../../../sql/queries/schedules/schedules.sql"),
            &["null"],
            1_000,
        ),
        call(
            "schedules_masked",
            include_str!("../../../sql/queries/schedules/schedules_masked.sql"),
            &["null"],
            1_000,
        ),
    ]
}

/// What `postrider tail` runs, in a session that lives long.
fn of_tails() -> Vec<Bound> {
    let query = |name, sql: &str, types: &str, values: &str, most| Bound {
        name,
        session: TAILS,
        types: format!("({types})"),
        sql: sql.trim_end().trim_end_matches(';').to_owned(),
        values: format!("({values})"),
        most,
    };
    vec![
        query(
            "live_start",
            include_str!("../../../sql/queries/watch/live_start.sql"),
            "text, text[]",
            "'now', null",
            50,
        ),
        // From a time on that nothing was written at: all of the log is looked at.
        query(
            "live_start: at a time",
            include_str!("../../../sql/queries/watch/live_start.sql"),
            "text, text[]",
            "(now() + interval '1 hour')::text, null",
            u64::MAX,
        ),
        query(
            "live_messages",
            include_str!("../../../sql/queries/watch/live_messages.sql"),
            "text, bigint, text[], text",
            "pg_current_snapshot()::text, 101, null, null",
            500,
        ),
        query(
            "live_page",
            include_str!("../../../sql/queries/watch/live_page.sql"),
            "text, text, bigint, text[], text, bigint, text",
            "'4:4:', pg_current_snapshot()::text, 101, null, null, 0, null",
            3_000,
        ),
        query(
            "peek_messages",
            include_str!("../../../sql/queries/consume/peek_messages.sql"),
            "text, integer, bigint, text, bigint",
            "'c', 100, null, null, null",
            40_000,
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
            include_str!("../../../sql/queries/fleet/next_execution_due.sql"),
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
        call(
            "rabbitmq_workers",
            include_str!("../../../sql/queries/fleet/rabbitmq_workers.sql"),
            100,
        ),
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

/// As EMPTY_WAITING, of what FILL_WAITING has filled, but the pages stay: a planner, which counts pages and believes
/// what was counted in them, sees a million rows in every table and index where there are none.
const HOLLOW_WAITING: &str = "
    set session_replication_role = replica;
    delete from postrider.message;
    delete from postrider.done;
    delete from postrider.attempt;
    delete from postrider.ended;
    delete from postrider.partly_done;
    delete from postrider.claim;
    delete from postrider.tick;
    delete from postrider.rate_grant;
    delete from postrider.heartbeat;
    delete from postrider.checkpoint;
    delete from postrider.event_log;
    delete from postrider.job;
    delete from postrider.replay;
    delete from postrider.consumer_position;
    delete from postrider.consumer_attempt;
    delete from postrider.consumer_lease;
    delete from postrider.execution;
    delete from postrider.live_execution;
    delete from postrider.execution_end;
    delete from postrider.execution_dead_letter;
    delete from postrider.execution_statistics;
    delete from postrider.deferred;
    delete from postrider.api_request;
    delete from postrider.api_token;
    delete from postrider.idempotency_key;
    delete from postrider.cancellation;
    delete from postrider.dead_letter;
    reset session_replication_role;
    vacuum (truncate false);
    update pg_class c
    set reltuples = 1000000
    where c.relnamespace = 'postrider'::regnamespace
    and c.relkind in ('r', 'i')
    and c.relpages > 0
    and c.reltuples = 0;
    do $do$
    begin
        if (
            select coalesce(max(c.reltuples), 0)
            from pg_class c
            where c.oid = 'postrider.deferred'::regclass
            and c.relpages > 0
        ) < 1000000
        then
            raise exception 'the statistics do not say that many wait';
        end if;
    end
    $do$;
    insert into postrider.api_token (name, role, hash, created_by)
    values ('t', 'producer', sha256('x'), 'test');";

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

/// What a statement did, rows and buffers, for each statement that was run.
type Figures = BTreeMap<&'static str, u64>;

/// How often a statement is run before the tables are filled: as often as it takes to choose a plan for good.
const ROUNDS: usize = 6;

/// Every statement, once; one that fails does not keep the others from being judged. What differs are the settings
/// that a plan is made under. With a mark what they do is told; without one the command line has nothing to do, because
/// it keeps no plan.
fn run_once(bounds: &[Bound], telling: &str, mark: &str) -> String {
    let mut script = "\\set ON_ERROR_STOP off\n".to_owned();
    let mut session = None;
    for (n, bound) in bounds.iter().enumerate() {
        if mark.is_empty() && bound.session == COMMANDS {
            continue;
        }
        if session != Some(bound.session) {
            session = Some(bound.session);
            // What is judged is what they read, not how long that takes.
            let patient = "set statement_timeout = 0;";
            script.push_str(&format!("reset all;\n{telling}\n{}\n{patient}\n", bound.session));
        }
        let statement = match bound.is_prepared() {
            true => format!("execute case_{n} {}", bound.values),
            false => bound.sql.clone(),
        };
        let warn = if mark.is_empty() { String::new() } else { format!("\\warn @@{mark}/{n}\n") };
        script.push_str(&format!(
            "begin;\nset local plans.steps = {STEPS};\n{warn}{statement};\nrollback;\n"
        ));
    }
    script.push_str(&format!("reset all;\n{QUIET}\n\\set ON_ERROR_STOP on\n"));
    script
}

const QUIET: &str = "set client_min_messages = warning;";

/// Runs every statement in one session as a dispatcher has it, before the tables are filled and once after it, and
/// says what it did at last, and what is above its bound, with nothing there and with what waits. `before` makes the
/// tables what they are at first.
fn check_stale_plans(
    shop: &Shop,
    before: &str,
    count: u32,
    bounds: &[Bound],
) -> (Figures, Vec<String>) {
    let mut script = format!("{QUIET}\n\\o /dev/null\n{before}\n");
    for (n, Bound { types, sql, .. }) in bounds.iter().enumerate().filter(|b| b.1.is_prepared()) {
        script.push_str(&format!("prepare case_{n} {types} as {sql};\n"));
    }
    for _ in 1..ROUNDS {
        script.push_str(&run_once(bounds, QUIET, ""));
    }
    script.push_str(&run_once(bounds, TELL_PLANS, "none"));
    script.push_str(&fill_waiting(count));
    script.push('\n');
    script.push_str(&run_once(bounds, TELL_PLANS, "full"));
    let said = shop.psql("shop", &["-v", "SHOW_CONTEXT=never"], &script).succeed().stderr;
    let mut figures = Figures::new();
    let mut wrong = Vec::new();
    let mut judged_count = 0;
    for part in said.split("@@").skip(1) {
        judged_count += 1;
        let (mark, logged) = part.split_once('\n').unwrap();
        let (state, number) = mark.trim().split_once('/').unwrap();
        let bound = &bounds[number.parse::<usize>().unwrap()];
        let waiting = if state == "full" { count } else { 0 };
        match what_it_did(bound, logged, waiting) {
            Ok(figure) if waiting > 0 => {
                figures.insert(bound.name, figure);
            }
            Ok(_) => {}
            Err(error) => wrong.push(error),
        }
    }
    assert_eq!(judged_count, 2 * bounds.len(), "not all were run");
    (figures, wrong)
}

/// Rows and buffers of a statement, by what was said while it ran, unless they are above its bound.
fn what_it_did(bound: &Bound, logged: &str, waiting: u32) -> Result<u64, String> {
    let name = bound.name;
    if let Some(error) = logged.lines().find(|line| line.contains("ERROR:  ")) {
        return Err(format!("{waiting}: {name}: {error}"));
    }
    let plans: Vec<Value> = logged
        .split("plan:\n")
        .skip(1)
        .map(|text| {
            let text = &text[..text.find("\n}").unwrap() + 2];
            serde_json::from_str::<Value>(text).unwrap()["Plan"].clone()
        })
        .collect();
    // The outermost statement ends last, and has the buffers of all that it called.
    let outermost = plans.last().ok_or_else(|| format!("{waiting}: {name}: no plan: {logged}"))?;
    let rows: u64 = plans.iter().map(rows_of).sum();
    let buffers = buffers_of(outermost);
    println!("{waiting}: {name}: {rows} rows, {buffers} buffers");
    let most = bound.most(waiting);
    if rows + buffers <= most {
        return Ok(rows + buffers);
    }
    let worst = plans.iter().max_by_key(|plan| rows_of(plan) + buffers_of(plan));
    println!("{name}: {:#}", worst.unwrap());
    Err(format!("{waiting}: {name}: {rows} rows and {buffers} buffers, not {most}"))
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

/// A dispatcher, an endpoint of each kind, and what belongs to them. Ids of the endpoints of the rows that wait end at
/// 10: the one that signs has a higher one.
async fn shop_that_waits() -> Shop {
    let settings = vec![("autovacuum".to_owned(), "off".to_owned())];
    let shop = Shop::open_migrated_with(Options { settings, ..Options::default() }).await;
    shop.execute(&format!(
        "update postrider.shard set owner = '{DISPATCHER}', epoch = 1;
        select postrider.create_endpoint('sink', 'discard', '{{}}');
        select postrider.create_event_type('placed');
        select postrider.create_event_type('postrider.dead_letter');
        select postrider.subscribe('placed', 'sink');
        select setval(pg_get_serial_sequence('postrider.endpoints', 'id'), 100);
        select postrider.create_endpoint('hook', 'http', '{{\"url\": \"https://example.com/\"}}');
        select postrider.add_signing_key('hook');
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
    shop
}

/// Few and many, and nothing before.
async fn stale(before: &str) {
    let shop = shop_that_waits().await;
    let mut wrong = Vec::new();
    for count in [1_000, waiting_count()] {
        wrong.extend(check_stale_plans(&shop, before, count, &bounds()).1);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// As `stale`, and between the two a fifth of the many, for what may not grow from there on.
async fn stale_and_flat(before: &str) {
    let shop = shop_that_waits().await;
    let flat: Vec<Bound> =
        bounds().into_iter().filter(|bound| FLAT.contains(&bound.name)).collect();
    let mut wrong = check_stale_plans(&shop, before, 1_000, &bounds()).1;
    let (at_a_fifth, wrong_there) = check_stale_plans(&shop, before, waiting_count() / 5, &flat);
    wrong.extend(wrong_there);
    let (at_last, wrong_there) = check_stale_plans(&shop, before, waiting_count(), &bounds());
    wrong.extend(wrong_there);
    for name in FLAT {
        // What is above its bound, or failed, has been said.
        let (Some(fifth), Some(all)) = (at_a_fifth.get(name), at_last.get(name)) else {
            continue;
        };
        println!("{name}: {fifth} at a fifth, {all} at last");
        let added = u64::from(waiting_count() - waiting_count() / 5);
        if *all > fifth + added / 10 * 9 {
            wrong.push(format!("{name} grows: {all}, and {fifth} at a fifth of what waits"));
        }
    }
    assert!(flat.len() == FLAT.len() && wrong.is_empty(), "{wrong:#?}");
}

/// How much waits in these tests. `cargo xtask prove --only plans` makes it a million.
fn waiting_count() -> u32 {
    const NAME: &str = "POSTRIDER_TEST_WAITING";
    std::env::var(NAME).map_or(100_000, |text| text.parse().expect(NAME))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_made_when_nothing_waited_does_for_what_waits() {
    stale_and_flat(&format!("{EMPTY_WAITING}\nanalyze;")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_what_waited_once_do_no_harm() {
    // What was counted, a million, is not what is there: nothing, few, then many.
    let fill = fill_waiting(1_000);
    stale(&format!("{EMPTY_WAITING}\n{fill}\nanalyze;\n{HOLLOW_WAITING}")).await;
}

// Bursts ------------------------------------------------------------------------------------------

/// The deliveries of one step of a burst: a message for each of a hundred endpoints.
struct Step {
    ids: String,
    endpoints: String,
}

impl Step {
    fn new(burst: i64, number: i64) -> Self {
        let list = |of: &dyn Fn(i64) -> i64| {
            let numbers = number * 100 + 1..=number * 100 + 100;
            numbers.map(|n| of(n).to_string()).collect::<Vec<_>>().join(",")
        };
        let id = |n: i64| {
            let message = burst * 1_000_000 + n;
            (message << 10) | ((message >> 6) % 16 * 16)
        };
        Self {
            ids: format!("'{{{}}}'::bigint[]", list(&id)),
            endpoints: format!("'{{{}}}'::integer[]", list(&|n| n + 1_000)),
        }
    }

    /// A flush of these, each to an endpoint of its own, that waits for the first time and is due at once.
    fn flush(&self, kinds: &[&str]) -> String {
        let one = "array_fill(1::integer, array[100])";
        flush(kinds, &self.ids)
            .replace(&format!("_targets => {one}"), &format!("_targets => {}", self.endpoints))
            .replace(&format!("_endpoints => {one}"), &format!("_endpoints => {}", self.endpoints))
            .replace(
                "p_deferred_expires_at => array_fill(now()::timestamptz",
                "p_deferred_expires_at => array_fill(null::timestamptz",
            )
            .replace(
                "p_deferred_waited => array_fill(true",
                "p_deferred_waited => array_fill(false",
            )
            .replace(
                "p_done_offsets => array_fill(null::bytea",
                "p_done_offsets => array_fill('\\x0001'::bytea",
            )
    }
}

/// What a dispatcher runs for a burst: one that is read, waits at once, comes due, and is done. Nothing of it is left
/// but rows that vacuum has not removed.
fn burst(number: i64, endpoint_count: i64) -> String {
    let all = "array(select s.shard from postrider.shard s order by s.shard)";
    let epochs = "array_fill(1::bigint, array[16])";
    let ones = "array_fill(1, array[100])";
    let steps: Vec<Step> = (0..endpoint_count / 100).map(|n| Step::new(number, n)).collect();
    let mut script = format!(
        "{QUIET}
        select pg_snapshot_xmax(pg_current_snapshot()) as seen \\gset
        insert into postrider.message (id, xid, lane, priority, targets, endpoint_name, payload)
        select g << 10 | l.lane, pg_current_xact_id(), l.lane, 0, array[1000 + n], 'e' || n, '{{}}'
        from generate_series(1, {endpoint_count}) n
        cross join lateral (select {number} * 1000000::bigint + n) m (g)
        cross join lateral (select ((g >> 6) % 16 * 16)::smallint) l (lane);
        {TELL_PLANS}
        set auto_explain.log_nested_statements = off;
        "
    );
    let mut run = |kind: &str, sql: &str| {
        script.push_str(&format!("\\warn @@{number}/{kind}\n{sql};\n"));
    };
    run("tick", &filled("execute tick (:'seen', {lanes}, '{}', 4001, 2000)"));
    for Step { ids, .. } in &steps {
        let claim = format!(
            "select postrider.save_claim('{DISPATCHER}', {all}, {epochs}, {ids}, {ones}, {ones})"
        );
        run("save_claim", &claim);
    }
    for step in &steps {
        run("flush of what waits", &step.flush(&["deferred"]));
        let checkpoint = format!(
            "select postrider.save_checkpoint('{DISPATCHER}', {all}, {epochs}, '3',
                array_fill(0::bigint, array[16]), '[]', true)"
        );
        run("save_checkpoint", &checkpoint);
        let heartbeat = format!("select * from postrider.heartbeat('{DISPATCHER}', '{{}}')");
        run("heartbeat", &heartbeat);
    }
    for Step { endpoints, .. } in &steps {
        let most = "array_fill(10::bigint, array[100])";
        let values = filled(&format!("{endpoints}, {most}, {{shards}}, 2000, false"));
        run("deferred_due", &format!("execute deferred_due ({values})"));
    }
    for step in &steps {
        run("flush of what is done", &step.flush(&["settled", "done"]));
    }
    script
}

/// How many endpoints a burst is for: 10,000 where a million rows wait.
fn burst_size() -> i64 {
    if waiting_count() > 100_000 { 10_000 } else { 2_000 }
}

/// A dispatcher's endpoints, and what it prepares.
fn prepared_burst() -> String {
    let count = burst_size();
    let query = |sql: &str| sql.trim_end().trim_end_matches(';').to_owned();
    format!(
        "{QUIET}
        \\o /dev/null
        update postrider.shard set owner = '{DISPATCHER}', epoch = 1;
        select postrider.set_setting('max_queue_size', '0');
        insert into postrider.dispatcher (id, host, pid, version) values ('{DISPATCHER}', 'h', 1, '1');
        set session_replication_role = replica;
        insert into postrider.endpoints (id, name, protocol, config, direct_subscription_id)
        overriding system value
        select 1000 + n, 'e' || n, 'discard', '{{}}', 1000 + n from generate_series(1, {count}) n;
        insert into postrider.subscriptions (id, endpoint_id)
        overriding system value
        select 1000 + n, 1000 + n from generate_series(1, {count}) n;
        insert into postrider.circuit (endpoint_id) select 1000 + n from generate_series(1, {count}) n;
        reset session_replication_role;
        analyze;
        {DISPATCHERS}
        prepare tick (xid8, smallint[], xid8[], bigint, integer) as {tick};
        prepare deferred_due (integer[], bigint[], smallint[], integer, boolean) as {due};
        ",
        tick = query(include_str!("../../../sql/queries/dispatch/tick.sql")),
        due = query(include_str!("../../../sql/queries/dispatch/deferred_due.sql")),
    )
}

/// What dispatchers leave behind (rows of `deferred` that are dead, claims, checkpoints, heartbeats) does not make the
/// next burst to as many endpoints dearer, even where vacuum has not been.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_burst_reads_what_the_first_did() {
    let settings = vec![("autovacuum".to_owned(), "off".to_owned())];
    let shop = Shop::open_migrated_with(Options { settings, ..Options::default() }).await;
    let script = [prepared_burst(), burst(1, burst_size()), burst(2, burst_size())].concat();
    let said = shop.psql("shop", &["-v", "SHOW_CONTEXT=never"], &script).succeed().stderr;
    let mut touched: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut due = 0;
    for part in said.split("@@").skip(1) {
        let (mark, logged) = part.split_once('\n').unwrap();
        let (number, kind) = mark.trim().split_once('/').unwrap();
        let text = logged.split_once("plan:\n").unwrap_or_else(|| panic!("{kind}: {logged}")).1;
        let text = &text[..text.find("\n}").unwrap() + 2];
        let told: Value = serde_json::from_str(text).unwrap();
        touched.entry(kind).or_default()[number.parse::<usize>().unwrap() - 1] +=
            buffers_of(&told["Plan"]);
        if kind == "deferred_due" {
            due += told["Plan"]["Actual Rows"].as_f64().unwrap() as i64;
        }
    }
    println!("{touched:#?}");
    // Both were whole: all waited, came due, and left.
    assert_eq!(due, 2 * burst_size());
    let left = "select count(*) = 0 from postrider.deferred";
    assert!(shop.ask::<bool>(left).await, "something waits still");
    let done = format!("select count(*) = {} from postrider.done", 2 * burst_size());
    assert!(shop.ask::<bool>(&done).await, "not all was done");
    assert_eq!(touched.len(), 7);
    for (kind, [first, second]) in touched {
        assert!(
            first > 0 && second <= first + first / 2 + 500,
            "{kind}: {second} buffers, and {first} in the first burst"
        );
    }
}

/// What needs no bound, and why.
const WITHOUT_BOUND: &[(&str, &str)] = &[
    ("api_endpoints_health", "get_endpoint_health for each endpoint of a page"),
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
    ("worker_session", "settings"),
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
    ("log_shape", "reads a sequence"),
    ("cancel_number", "reads a sequence"),
    ("lease_length", "reads one setting"),
    ("dispatcher_settings", "reads the settings"),
    ("trade_places", "reads loans, a row per endpoint and shard at most, whatever waits"),
    (
        "update_full_endpoints",
        "reads endpoints, and what pending_deliveries looks at, whatever waits",
    ),
    ("action_names", "all of them, 10,000 at most: actions are made by hand"),
    ("endpoint_names", "all of them, 10,000 at most"),
    ("event_type_names", "all of them, 10,000 at most"),
    ("schedule_names", "schedules are 1,000 at most"),
    ("pool_names", "a row per worker, 10,000 names at most"),
    ("worker_names", "all of them, 10,000 at most"),
    ("consumer_names", "the view consumers has tests of its own"),
    ("consumers", "the view consumers has tests of its own"),
    (
        "actions",
        "counts what is scheduled and running of each, which is what workers have room for",
    ),
    ("queue", "the view queue has tests of its own (views_at_size)"),
    ("message_details", "the views queue and archive have tests of their own (views_at_size)"),
    (
        "message_details_masked",
        "the views queue and archive have tests of their own (views_at_size)",
    ),
    ("adopt", "looks at the whole log, once after a restore, while nothing is delivered"),
    ("begin_adopt", "settings"),
    ("live_session", "settings"),
    ("commit", "reads no table"),
    ("stored_form", "reads no table"),
    ("backend_pid", "reads no table"),
    ("partitions", "reads catalogs, a row per partition"),
    ("entitled_roles", "reads catalogs, after something was refused"),
    ("token_role_without_rights", "reads the one row about the installation"),
    ("doctor_holders", "reads sessions, prepared transactions and slots"),
    ("doctor_indexes", "reads catalogs"),
    ("doctor_roles", "reads catalogs, and the one row about the installation"),
    ("doctor_server", "reads catalogs"),
    ("doctor_tables", "reads catalogs, a row per table"),
    ("applied_migrations", "a row per migration"),
    ("installed_version", "reads the one row about the installation"),
    ("lock_holders", "reads the table of locks, after a migration has waited for long"),
    ("missing_indexes", "reads catalogs, before a migration"),
    ("schema_state", "reads catalogs"),
    ("schema_version", "a row per migration"),
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

/// What of ours a statement names, and whether it calls that.
fn names_in(sql: &str) -> Vec<(String, bool)> {
    let code = |line: &str| line.split("--").next().unwrap_or_default().to_owned();
    let sql = sql.lines().map(code).collect::<Vec<_>>().join("\n");
    let name = |rest: &str| {
        let is_over = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let end = rest.find(is_over).unwrap_or(rest.len());
        (rest[..end].to_owned(), rest[end..].starts_with('('))
    };
    sql.split("postrider.").skip(1).map(name).collect()
}

/// The statements of a folder's files that the code includes, or of all, by name.
fn statements_of(folder: &str, code: Option<&str>) -> Vec<(String, String)> {
    let is_run = |path: &str| code.is_none_or(|code| code.contains(path));
    let paths = paths_below(folder, ".sql").into_iter().filter(|(_, path)| is_run(path));
    paths.map(|(name, path)| (name, text_of(&path))).collect()
}

/// A statement has a bound by its name, or because it only calls functions that a statement with a bound calls.
#[test]
fn every_statement_that_we_run_has_a_bound() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let code = ["postrider-store", "postrider"]
        .map(|name| code_below(&root.join("crates").join(name).join("src")))
        .concat();
    let mut run = statements_of("sql/queries", Some(&code));
    run.extend(statements_of("crates/postrider-client/sql", None));
    let all = bounds();
    let bounded: BTreeSet<&str> =
        all.iter().map(|bound| bound.name.split([':', ' ']).next().unwrap()).collect();
    let called: BTreeSet<String> = all
        .iter()
        .flat_map(|bound| names_in(&bound.sql))
        .filter_map(|(name, is_called)| is_called.then_some(name))
        .collect();
    let only_calls = |sql: &str| {
        let names = names_in(sql);
        !names.is_empty()
            && names.iter().all(|(name, is_called)| *is_called && called.contains(name))
    };
    let unbounded: BTreeSet<&str> = run
        .iter()
        .filter(|(name, sql)| !bounded.contains(name.as_str()) && !only_calls(sql))
        .map(|(name, _)| name.as_str())
        .collect();
    let excused: BTreeSet<&str> = WITHOUT_BOUND.iter().map(|(name, _)| *name).collect();

    let missing: Vec<_> = unbounded.difference(&excused).collect();
    assert!(missing.is_empty(), "without a bound, or a reason why not: {missing:?}");
    let idle: Vec<_> = excused.difference(&unbounded).collect();
    assert!(idle.is_empty(), "excused, and not run or bounded: {idle:?}");
}
