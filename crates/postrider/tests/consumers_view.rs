//! Where consumers are, how far behind, and what keeps them: the view, the metrics, the health check.

use std::time::Instant;

use crate::shop::{
    Shop, changing_the_log,
    consuming::{acknowledge, drain, fetch, fetch_with, tick},
    producing::{id_of, pid_of},
    serving::LONG,
};
use postrider_testkit::postgres::Options;
use serde_json::{Value, json};
use tokio_postgres::Client;

const SEND: &str = "select postrider.send('a', '{\"n\": 1}')";

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// A row of the view.
async fn row(client: &Client, consumer: &str) -> Value {
    let sql = "select to_jsonb(c) from postrider.consumers c where c.name = $1";
    client.query_one(sql, &[&consumer]).await.unwrap().get(0)
}

async fn lag(client: &Client, consumer: &str) -> i64 {
    let sql = "select sum(c.lag_messages)::bigint from postrider.consumers c where c.name = $1";
    client.query_one(sql, &[&consumer]).await.unwrap().get(0)
}

async fn health(client: &Client) -> (String, String) {
    let sql = "select h.status, h.details from postrider.health_check() h
        where h.component = 'consumers'";
    let row = client.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

#[track_caller]
fn assert_health((status, details): (String, String), expected: &str, part: &str) {
    assert_eq!(status, expected, "{details}");
    assert!(details.contains(part), "`{part}` is not in `{details}`");
}

#[tokio::test]
async fn a_partition_shows_where_it_is_and_who_has_it() {
    let shop = Shop::open_to_consumers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.consumers").await, 0);
    run(
        &client,
        "select postrider.create_consumer('c', array['order.*'], '{\"n\": 1}');
        select postrider.create_consumer('p', p_partitions => 3, p_ordering => 'transaction')",
    )
    .await;
    let fresh = row(&client, "c").await;
    for (column, expected) in [
        ("ordering", json!("commit")),
        ("event_types", json!(["order.*"])),
        ("filter", json!({ "n": 1 })),
        ("partition", json!(0)),
        ("partition_count", json!(1)),
        ("channel", json!("postrider:c")),
        ("position", json!(null)),
        ("tick", json!(null)),
        ("message_count", json!(0)),
        ("lag_messages", json!(0)),
        ("lag_seconds", json!(0)),
        ("last_fetched_at", json!(null)),
        ("last_acknowledged_at", json!(null)),
        ("holder_pid", json!(null)),
        ("leased_to", json!(null)),
        ("parked_count", json!(0)),
        ("waits_since", json!(null)),
    ] {
        assert_eq!(fresh[column], expected, "{column}");
    }
    let partitions = "select array_agg(c.partition order by c.partition) from postrider.consumers c
        where c.name = 'p'";
    assert_eq!(shop.ask::<Vec<i32>>(partitions).await, [0, 1, 2]);

    let send = "select postrider.publish('order.placed', '{\"n\": 1}')";
    for _ in 0..3 {
        run(&client, send).await;
    }
    tick(&client).await;
    run(&other, "set application_name = 'projection'; begin").await;
    let batch = fetch(&other, "c", 2).await;
    acknowledge(&other, "c", batch[0].position).await;
    let held = row(&client, "c").await;
    assert_eq!(held["holder_pid"], json!(pid_of(&other).await));
    assert_eq!(held["holder_application"], json!("projection"));
    assert!(held["holder_since"].is_string());
    assert_eq!((&held["position"], &held["lag_messages"]), (&json!(null), &json!(3)));
    run(&other, "commit").await;
    let moved = row(&client, "c").await;
    assert_eq!(moved["position"], json!(batch[0].position));
    assert_eq!((&moved["tick"], &moved["message_count"]), (&json!(1), &json!(1)));
    assert_eq!((&moved["holder_pid"], &moved["lag_messages"]), (&json!(null), &json!(2)));
    assert!(moved["last_fetched_at"].is_string() && moved["last_acknowledged_at"].is_string());
    assert!(moved["lag_seconds"].as_f64().unwrap() > 0.0);
    drain(&client, "c", 10).await;
    assert_eq!(row(&client, "c").await["position"], json!(batch[1].position + 1));

    // Leases: the newest of each member, while it lasts.
    run(
        &client,
        "insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at)
        select c.id, m.member::uuid, m.partitions::smallint[], now() + m.rest::interval, now()
        from postrider.consumer c
        cross join (values
            ('00000000-0000-0000-0000-000000000001', '{0,1,2}', '1 minute'),
            ('00000000-0000-0000-0000-000000000001', '{0,1}', '1 minute'),
            ('00000000-0000-0000-0000-000000000002', '{2}', '-1 s')) m (member, partitions, rest)
        where c.name = 'p'",
    )
    .await;
    let leased = "select array_agg(right(c.leased_to::text, 1) order by c.partition)
        from postrider.consumers c where c.name = 'p'";
    let leased: Vec<Option<String>> = shop.ask(leased).await;
    assert_eq!(leased, [Some("1".to_owned()), Some("1".to_owned()), None]);

    // Who may read it, and sees no less.
    for role in ["postrider_application", "postrider_monitor", "postrider_admin"] {
        run(&client, &format!("set role {role}")).await;
        assert_eq!(row(&client, "c").await["message_count"], json!(3), "{role}");
        run(&client, "reset role").await;
    }
}

/// What the view counts is what then comes, for consumers of every kind.
#[tokio::test]
async fn the_lag_is_what_comes() {
    let shop = Shop::open_to_consumers().await;
    let (client, early, open) = (shop.client().await, shop.client().await, shop.client().await);
    let publish = |name: &str, n: i32, key: &str| {
        format!("select postrider.publish('{name}', '{{\"n\": {n}}}', p_ordering_key => {key})")
    };
    // Took its transaction id and a number early, and commits late.
    run(&early, "begin").await;
    run(&early, SEND).await;
    run(&open, "begin").await;
    for _ in 0..10 {
        run(&open, SEND).await;
    }
    for n in 0..20 {
        run(&client, SEND).await;
        run(&client, &publish("order.placed", n % 3, "null")).await;
        run(&client, &publish("order_paid", n % 3, &format!("'k{n}'"))).await;
        tick(&client).await;
    }
    let middle = id_of(&client, "select id from postrider.message order by id offset 30 limit 1");
    let middle = middle.await;
    run(
        &client,
        &format!(
            "select postrider.create_consumer('all');
            select postrider.create_consumer('begun');
            select postrider.create_consumer('typed', array['order.*']);
            select postrider.create_consumer('filtered', p_filter => '{{\"n\": 2}}');
            select postrider.create_consumer('split', p_partitions => 4);
            select postrider.create_consumer('now', p_start => 'now');
            select postrider.create_consumer('from', p_start => '{middle}');
            select postrider.create_consumer('since', p_start => now()::text);
            select postrider.create_consumer('t', p_ordering => 'transaction');
            select postrider.create_consumer('t_typed', array['order.*'], p_ordering => 'transaction');
            select postrider.create_consumer('t_now', p_start => 'now', p_ordering => 'transaction')"
        ),
    )
    .await;
    tick(&client).await;
    run(&client, "begin").await;
    let batch = fetch(&client, "begun", 25).await;
    acknowledge(&client, "begun", batch[24].position).await;
    run(&client, "commit").await;
    run(&early, "commit").await;
    for n in 0..5 {
        run(&client, SEND).await;
        run(&client, &publish("order.placed", n, "null")).await;
    }

    let names = [
        "all", "begun", "typed", "filtered", "split", "now", "from", "since", "t", "t_typed",
        "t_now",
    ];
    let mut expected = Vec::new();
    for name in names {
        expected.push((name, lag(&client, name).await));
    }
    // Those that read by transaction get on when nothing is open any more.
    run(&open, "rollback").await;
    let mut found = Vec::new();
    for name in names {
        let began = Instant::now();
        let mut count = drain(&client, name, 7).await.len();
        // Each time any partition that has something. A transaction of the server's own, as an analyze, may be open
        // for a moment.
        while lag(&client, name).await > 0 {
            assert!(began.elapsed() < LONG, "{name}: {count} have come, and some are left");
            count += drain(&client, name, 7).await.len();
        }
        assert_eq!(drain(&client, name, 7).await.len(), 0, "{name}");
        found.push((name, i64::try_from(count).unwrap()));
    }
    assert_eq!(found, expected);
    assert_eq!(found[0].1, 71);
    assert_eq!(found[1].1, 46);
}

async fn send_in_batches(client: &Client, batch_count: usize) {
    let sql = format!(
        "do $$
        begin
            for batch in 1..{batch_count} loop
                perform postrider.send_batch('a', array_fill('1'::jsonb, array[100]));
                commit;
                perform postrider.tick();
                commit;
            end loop;
        end;
        $$"
    );
    client.batch_execute(&sql).await.unwrap();
}

/// Blocks that a statement looks at.
async fn buffers(client: &Client, sql: &str) -> i64 {
    client.batch_execute(sql).await.unwrap();
    let explain = format!("explain (analyze, buffers, format json) {sql}");
    let plan: Value = client.query_one(&explain, &[]).await.unwrap().get(0);
    let plan = &plan[0]["Plan"];
    plan["Shared Hit Blocks"].as_i64().unwrap() + plan["Shared Read Blocks"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_lag_is_estimated_at_the_same_cost() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.set_setting('max_queue_size', '0');
        select postrider.create_consumer('c');
        select postrider.create_consumer('filtered', p_filter => '{\"n\": 2}');
        select postrider.create_consumer('t', p_ordering => 'transaction');
        select postrider.create_consumer('half', p_partitions => 2)",
    )
    .await;
    let sql = "select * from postrider.consumers";
    // Cost is compared from where a look does not see everything any more.
    send_in_batches(&client, 200).await;
    client.batch_execute("vacuum analyze").await.unwrap();
    let few = buffers(&client, sql).await;
    send_in_batches(&client, 1800).await;
    client.batch_execute("vacuum analyze").await.unwrap();
    let many = buffers(&client, sql).await;
    println!("{few} blocks, {many} with ten times the rows");
    assert!(many <= few + few / 4 + 200, "{few} blocks, then {many}");

    for (name, messages) in [("c", 200_000), ("filtered", 0), ("t", 200_000), ("half", 200_000)] {
        let found = lag(&client, name).await;
        assert!((found - messages).abs() <= messages / 10, "{name}: {found}");
    }
    // One in ten is wanted, of those that are looked at.
    let change = "update postrider.message set payload = '{\"n\": 2}' where (id >> 10) % 10 = 0";
    run(&client, &changing_the_log(change)).await;
    let found = lag(&client, "filtered").await;
    assert!((18_000..=22_000).contains(&found), "{found}");
}

#[tokio::test]
async fn it_shows_which_transaction_a_consumer_waits_for() {
    let options = Options { max_prepared_transactions: 4, ..Options::default() };
    let shop = Shop::open_migrated_with(options).await;
    shop.execute(
        "select postrider.create_endpoint('a', 'discard', '{}');
        create table public.t ();
        select postrider.create_consumer('t', p_ordering => 'transaction')",
    )
    .await;
    let (client, other) = (shop.client().await, shop.client().await);
    run(&other, "begin; insert into public.t default values").await;
    assert_eq!(row(&client, "t").await["waits_since"], json!(null), "there is nothing to read");
    run(&client, SEND).await;
    assert_eq!(fetch(&client, "t", 10).await, []);
    let waiting = row(&client, "t").await;
    assert_eq!(waiting["lag_messages"], json!(1));
    assert!(waiting["waits_since"].is_string() && waiting["waits_for_age"].is_string());
    assert_eq!(waiting["waits_for_pid"], json!(pid_of(&other).await));
    assert_eq!(waiting["waits_for_gid"], json!(null));
    assert!(waiting["waits_for_query"].is_string(), "{waiting}");

    assert_health(health(&client).await, "healthy", "consumers: 1");
    let age = "update postrider.message set created_at = created_at - interval '6 minutes'";
    shop.execute(&changing_the_log(age)).await;
    let text =
        format!("consumer t has waited for 6 min for pid {}, open for", pid_of(&other).await);
    assert_health(health(&client).await, "degraded", &text);

    run(&other, "prepare transaction 'forgotten'").await;
    let waiting = row(&client, "t").await;
    assert_eq!(
        (&waiting["waits_for_pid"], &waiting["waits_for_gid"]),
        (&json!(null), &json!("forgotten"))
    );
    assert_health(health(&client).await, "degraded", "for prepared transaction 'forgotten'");
    run(&other, "rollback prepared 'forgotten'").await;
    assert_eq!(row(&client, "t").await["waits_since"], json!(null));
    assert_eq!(fetch(&client, "t", 10).await.len(), 1);
    assert_health(health(&client).await, "healthy", "");
}

/// Also one that has fetched within a savepoint, and one that is prepared.
#[tokio::test]
async fn a_holder_is_told_by_the_row_that_it_has_locked() {
    let options = Options { max_prepared_transactions: 4, ..Options::default() };
    let shop = Shop::open_migrated_with(options).await;
    let (client, other) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.set_setting('tick_interval_ms', '0');
        select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.create_consumer('c')",
    )
    .await;
    run(&client, SEND).await;
    tick(&client).await;
    let pid = json!(pid_of(&other).await);
    let holder = async || {
        let row = row(&client, "c").await;
        (row["holder_pid"].clone(), row["holder_since"].is_string())
    };
    let nobody = (json!(null), false);
    assert_eq!(holder().await, nobody);

    let take = "select from postrider.fetch_messages('c')";
    run(&other, &format!("begin; {take}")).await;
    assert_eq!(holder().await, (pid.clone(), true));
    run(&other, "rollback").await;
    assert_eq!(holder().await, nobody, "it has ended");
    run(&other, &format!("begin; savepoint s; {take}")).await;
    assert_eq!(holder().await, (pid.clone(), true));
    run(&other, "release s").await;
    assert_eq!(holder().await, (pid.clone(), true), "the savepoint's lock is its transaction's");
    run(&other, "rollback").await;
    run(&other, &format!("begin; savepoint s; {take}; rollback to s")).await;
    assert_eq!(holder().await, nobody, "it was rolled back");
    run(&other, "rollback").await;

    run(&other, &format!("begin; {take}; prepare transaction 'kept'")).await;
    assert_eq!(holder().await, (json!(null), true));
    let gid: String = shop.ask("select h.gid from postrider.consumer_holders() h").await;
    assert_eq!(gid, "kept");
    run(&other, "rollback prepared 'kept'").await;
    assert_eq!(holder().await, nobody);
}

#[tokio::test]
async fn who_holds_a_consumer_for_long_is_named() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    assert_health(health(&client).await, "healthy", "there are no consumers");
    run(&client, "select postrider.create_consumer('c')").await;
    run(&client, SEND).await;
    // As if these transactions had begun earlier: the clock of the check is ahead.
    let later = |interval: &str| {
        format!(
            "do $$
            declare
                body text := pg_get_functiondef('postrider.check_consumers'::regproc);
            begin
                execute regexp_replace(
                    body, 'clock_timestamp\\(\\)', '(clock_timestamp() + interval ''{interval}'')', 'g');
            end;
            $$"
        )
    };
    tick(&client).await.unwrap();
    let holding = shop.client().await;
    run(&holding, "begin").await;
    assert_eq!(fetch_with(&holding, "'c'").await.len(), 1);
    assert_health(health(&client).await, "healthy", "");
    run(&client, &later("61 minutes")).await;
    let text = format!("pid {} holds consumer c for 61 min", pid_of(&holding).await);
    assert_health(health(&client).await, "degraded", &text);
    run(&holding, "rollback").await;
    assert_health(health(&client).await, "healthy", "");
}

#[tokio::test]
async fn consumers_show_in_the_metrics() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('c')").await;
    for _ in 0..3 {
        run(&client, SEND).await;
    }
    tick(&client).await;
    run(&client, "begin").await;
    let batch = fetch(&client, "c", 2).await;
    acknowledge(&client, "c", batch[0].position).await;
    run(&client, "commit").await;
    let text = shop.run(&["metrics"]).succeed().stdout;
    for line in [
        "# TYPE postrider_consumer_messages_total counter",
        "postrider_consumer_messages_total{consumer=\"c\",partition=\"0\"} 1",
        "postrider_consumer_lag_messages{consumer=\"c\",partition=\"0\"} 2",
        "postrider_consumer_parked_messages{consumer=\"c\",partition=\"0\"} 0",
        "postrider_ticks_total 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    // A locked log: no figures of consumers, and the others are there.
    let other = shop.client().await;
    run(&other, "begin; lock table postrider.message in access exclusive mode").await;
    let names = "select array_agg(distinct m.metric_name::text) from postrider.metrics() m";
    let names: Vec<String> = shop.ask(names).await;
    assert!(names.contains(&"shards".to_owned()));
    assert!(!names.iter().any(|name| name.starts_with("consumer_")), "{names:?}");
}
