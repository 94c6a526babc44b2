//! The plans of queries that run in a loop, on full tables: by the index that each names, and no
//! other way.

mod shop;

use std::collections::BTreeSet;

use serde_json::Value;
use shop::Shop;
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
    insert into postrider.done (bucket, at, offsets)
    select b, now(), decode(repeat('0001', 20), 'hex')
    from generate_series(0, 49) b, generate_series(1, 200);
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
            integer",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', 1000,
            '{}', false, 2000, 16",
        indexes: &["message_id", "message_lane_id"],
    },
    Case {
        name: "page_left",
        sql: include_str!("../../../sql/queries/page_left.sql"),
        types: "smallint, bigint, bigint, pg_snapshot, pg_snapshot, integer[], integer",
        values: "16::smallint, 100000 * 1024, 200000 * 1024, pg_current_snapshot(), '4:4:', '{1}', 16",
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
        types: "smallint[], bigint",
        values: "{shards}, 1000",
        indexes: &["deferred_expires_at", "message_id"],
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
        indexes: &["done_bucket"],
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
