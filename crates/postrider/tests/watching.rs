//! What people and programs see of the service: figures, health, events. With real dispatchers where
//! these report, and with forged rows where time would have to pass.

use std::{collections::BTreeSet, time::Duration};

use crate::book::{Page, paths_below, table, text_of};
use crate::shop::{
    Shop, changing_the_log,
    producing::{checkpoint, pid_of, until_blocked},
    serving::LONG,
};
use postrider_testkit::{
    postgres::Options,
    receiver::{Behaviour, Receiver},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_postgres::Client;

const COMPONENTS: [&str; 11] = [
    "dispatchers",
    "shards",
    "partitions",
    "lag",
    "clock",
    "oldest transaction",
    "locks",
    "consumers",
    "fleets",
    "failovers",
    "schedules",
];

/// A component's status and details.
async fn health(shop: &Shop, component: &str) -> (String, String) {
    let sql = "select h.status, h.details from postrider.health_check() h where h.component = $1";
    let row = shop.client().await.query_one(sql, &[&component]).await.unwrap();
    (row.get(0), row.get(1))
}

#[track_caller]
fn assert_health((status, details): (String, String), expected: &str, part: &str) {
    assert_eq!(status, expected, "{details}");
    assert!(details.contains(part), "`{part}` is not in `{details}`");
}

async fn until_health(shop: &Shop, component: &str, status: &str) {
    until_details(shop, component, status, "").await;
}

async fn until_details(shop: &Shop, component: &str, status: &str, part: &str) {
    shop.until(&format!(
        "select h.status = '{status}' and h.details like '%{part}%' from postrider.health_check() h
        where h.component = '{component}'"
    ))
    .await;
}

/// What is pending at an endpoint, and whether the oldest is that of this query.
async fn until_pending(shop: &Shop, endpoint: &str, count: i64, oldest: &str) {
    let client = shop.client().await;
    let sql = format!(
        "select h.pending_messages, h.oldest_pending_message is not distinct from ({oldest}),
            concat(h.oldest_pending_message, ' for ', ({oldest}))
        from postrider.get_endpoint_health('{endpoint}') h"
    );
    let began = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        let row = client.query_one(&sql, &[]).await.unwrap();
        let (pending, is_oldest): (i64, bool) = (row.get(0), row.get(1));
        if pending == count && is_oldest {
            return;
        }
        let oldest: String = row.get(2);
        assert!(began.elapsed() < LONG, "{endpoint}: {pending} for {count}, {oldest}");
        look.tick().await;
    }
}

const NONE: &str = "null::timestamptz";
const OLDEST: &str = "select min(created_at) from postrider.message";

async fn hang(shop: &Shop, endpoint: &str, url: &str, concurrency: i64) {
    let config = json!({ "url": url, "concurrency": concurrency, "timeout_seconds": 5 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "max_retries": 100 });
    shop.endpoint(endpoint, config, policy).await;
}

/// For a day; the counter goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_that_took_back_what_was_delivered_is_told_for_a_day() {
    let shop = Shop::open_migrated().await;
    let counter =
        "select metric_value from postrider.metrics() where metric_name = 'log_rewinds_total'";
    assert_eq!(shop.ask::<f64>(counter).await, 0.0);
    assert_health(health(&shop, "failovers").await, "healthy", "nothing that was delivered");
    let found = |age: &str| {
        format!(
            "insert into postrider.rewind (at, lost_bytes, lost_numbers, highest_number)
            values (clock_timestamp() - interval '{age}', 1234, 5, 0)"
        )
    };
    shop.execute(&found("25 hours")).await;
    assert_health(health(&shop, "failovers").await, "healthy", "nothing that was delivered");
    shop.execute(&found("23 hours")).await;
    let expected = "23 h ago the server had forgotten commits that may have been delivered, up to 1234 bytes and about 5";
    assert_health(health(&shop, "failovers").await, "degraded", expected);
    assert_eq!(shop.ask::<f64>(counter).await, 2.0);
}

// Figures ---------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_read_is_pending() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.create_endpoint('b', 'discard', '{}')").await;
    shop.execute("select postrider.create_event_type('e')").await;
    shop.execute("select postrider.subscribe('e', n) from unnest(array['a', 'b']) n").await;
    until_pending(&shop, "a", 0, NONE).await;
    shop.send_many("a", 200).await;
    shop.execute("select postrider.publish('e', '1')").await;
    shop.execute("select postrider.send_with_options('a', '1', p_ordering_key => 'k')").await;
    until_pending(&shop, "a", 202, OLDEST).await;
    until_pending(&shop, "b", 1, "select created_at from postrider.message where event_type = 'e'")
        .await;
}

/// Neither what is scheduled for later nor what waits for a paused endpoint is late.
#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_is_one_that_could_be_sent() {
    let shop = Shop::open_to_receivers().await;
    let silent = Receiver::start(Behaviour::Hang).unwrap();
    hang(&shop, "a", &silent.url(), 4).await;
    let send = |delay: &str, key: &str| {
        format!(
            "select postrider.send_with_options('a', '1', p_ordering_key => {key},
                p_scheduled_at => now() + interval '{delay}')"
        )
    };
    let age = "select m.metric_value from postrider.metrics() m
        where m.metric_name = 'endpoint_oldest_pending_seconds'";
    let oldest = "select min(created_at) from postrider.message where scheduled_at is null";
    shop.execute(&send("1 hour", "null")).await;
    shop.execute(&send("1 hour", "'k'")).await;
    until_pending(&shop, "a", 2, NONE).await;
    assert_eq!(shop.ask::<f64>(age).await, 0.0);
    shop.send_many("a", 1).await;
    until_pending(&shop, "a", 3, oldest).await;

    // Read, and waiting; then counted by who takes over.
    for _ in 0..2 {
        let dispatcher = shop.serve().await;
        shop.until("select count(*) = 2 from postrider.deferred where retry_count = 0").await;
        shop.until("select count(*) = 0 from postrider.unread_messages()").await;
        until_pending(&shop, "a", 3, oldest).await;
        dispatcher.sigkill();
    }
    shop.execute("select postrider.pause_endpoint('a')").await;
    until_pending(&shop, "a", 3, NONE).await;
    assert_eq!(shop.ask::<f64>(age).await, 0.0);
    let status = shop.run(&["status", "--json"]).json();
    assert_eq!(status["endpoints"][0]["oldest_pending_message"], Value::Null, "{status}");
    shop.execute("select postrider.resume_endpoint('a')").await;
    until_pending(&shop, "a", 3, oldest).await;

    // Only what is scheduled is left.
    silent.set_behaviour(Behaviour::Status(200));
    let _last = shop.serve().await;
    until_pending(&shop, "a", 2, NONE).await;
    assert_eq!(shop.ask::<f64>(age).await, 0.0);
}

/// Of many unread messages a part is looked at, and tells of the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_unread_part_of_the_log_is_estimated() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.create_endpoint('b', 'discard', '{}')").await;
    let fill = "do $$
        begin
            for batch in 1..400 loop
                perform postrider.send_batch(case when batch % 4 = 0 then 'b' else 'a' end,
                    array_fill('1'::jsonb, array[100]));
                commit;
            end loop;
        end;
        $$";
    shop.client().await.batch_execute(fill).await.unwrap();
    let pending = "select array_agg(h.pending_messages::bigint order by h.endpoint_name)
        from postrider.get_endpoint_health() h";
    let counts: Vec<i64> = shop.ask(pending).await;
    assert!((28_500..=31_500).contains(&counts[0]), "{counts:?}");
    assert!((9_500..=10_500).contains(&counts[1]), "{counts:?}");
    until_pending(&shop, "a", counts[0], OLDEST).await;

    // A dispatcher has walked through half of it: nothing of that is unread any more.
    let half: i64 =
        shop.ask("select id from postrider.message order by id offset 20000 limit 1").await;
    let last: i64 = shop.ask("select max(id) from postrider.message").await;
    let top: String = shop.ask("select pg_current_snapshot()::text").await;
    let state = json!([{ "state": {
        "tail": { "base": "4:4:", "window": { "top": top, "id": half, "end": last } }, "done": [],
    } }]);
    let shards: Vec<i16> = (0..16).collect();
    shop.execute(&checkpoint(&shards, &[0; 16], &state.to_string())).await;
    let counts: Vec<i64> = shop.ask(pending).await;
    assert!((14_200..=15_800).contains(&counts[0]), "{counts:?}");
    assert!((4_700..=5_300).contains(&counts[1]), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_hand_left_behind_or_waiting_is_pending_with_and_without_a_dispatcher() {
    let shop = Shop::open_to_receivers().await;
    let silent = Receiver::start(Behaviour::Hang).unwrap();
    let busy = Receiver::start(Behaviour::Status(503)).unwrap();
    hang(&shop, "silent", &silent.url(), 4).await;
    let policy =
        json!({ "base_delay_seconds": 3600, "max_delay_seconds": 3600, "backoff": "fixed" });
    shop.endpoint("busy", json!({ "url": busy.url() }), policy).await;
    let dispatcher = shop.serve().await;
    shop.send_many("busy", 700).await;
    shop.until("select count(*) = 700 from postrider.deferred").await;
    until_pending(&shop, "busy", 700, OLDEST).await;

    // More than one endpoint may have in memory: the rest is left in the log.
    shop.send_many("silent", 3_000).await;
    let oldest = "select min(created_at) from postrider.message where endpoint_name = 'silent'";
    shop.until("select count(*) = 0 from postrider.unread_messages()").await;
    until_pending(&shop, "silent", 3_000, oldest).await;

    // It dies, and what was sent since is unread.
    dispatcher.sigkill();
    shop.send_many("silent", 100).await;
    until_pending(&shop, "silent", 3_100, oldest).await;
    until_pending(&shop, "busy", 700, OLDEST).await;

    // Whoever comes after it counts nothing twice.
    let successor = shop.serve().await;
    shop.until(
        "select count(*) > 0 and bool_and(h.statistics ->> 'shards' <> '[]')
        from (select * from postrider.shard_reports()) h
        join postrider.get_worker_status() w on w.id = h.dispatcher",
    )
    .await;
    until_pending(&shop, "silent", 3_100, oldest).await;
    until_pending(&shop, "busy", 700, OLDEST).await;

    // It stops in order, and everything ends.
    successor.sigterm();
    successor.wait(LONG).await.unwrap();
    until_pending(&shop, "silent", 3_100, oldest).await;
    until_pending(&shop, "busy", 700, OLDEST).await;
    silent.set_behaviour(Behaviour::Status(200));
    busy.set_behaviour(Behaviour::Status(200));
    let _last = shop.serve().await;
    until_pending(&shop, "silent", 0, NONE).await;
    shop.execute("update postrider.deferred set run_at = now()").await;
    until_pending(&shop, "busy", 0, NONE).await;
}

/// What others write into the table of waiting deliveries is counted soon.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_back_is_pending() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.endpoint("a", json!({ "url": receiver.url(), "concurrency": 1 }), json!({})).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("a", 50).await;
    shop.until("select count(*) = 50 from postrider.dead_letter").await;
    until_pending(&shop, "a", 0, NONE).await;
    receiver.set_behaviour(Behaviour::Hang);
    shop.execute("select postrider.redrive_all()").await;
    until_pending(&shop, "a", 50, OLDEST).await;
}

/// A heartbeat counts for the shards that nobody else has spoken of since.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_is_spoken_for_by_the_last_who_had_it() {
    let shop = Shop::open_to_producers().await;
    let beat = |shards: &str, count: i64| {
        format!(
            "insert into postrider.heartbeat (
                slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
            select 0, gen_random_uuid(), now(), now(), pg_current_xact_id(), 0,
                jsonb_build_object('shards', '{shards}'::jsonb,
                    'pending', jsonb_build_array(jsonb_build_array(e.id, {count}, 1000000, null)))
            from postrider.endpoints e"
        )
    };
    let all: Vec<i16> = (0..16).collect();
    let pending = "select h.pending_messages from postrider.get_endpoint_health('a') h";
    shop.execute(&beat(&json!(all).to_string(), 1600)).await;
    assert_eq!(shop.ask::<i64>(pending).await, 1600);
    shop.execute(&beat("[0, 1, 2, 3]", 500)).await;
    assert_eq!(shop.ask::<i64>(pending).await, 500 + 1200);
    shop.execute(&beat("[]", 7)).await;
    assert_eq!(shop.ask::<i64>(pending).await, 500 + 1200);
    until_pending(&shop, "a", 1700, "select to_timestamp(1)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoint_health_has_the_state_of_the_circuit() {
    let shop = Shop::open_to_producers().await;
    shop.execute(
        "select postrider.create_endpoint('b', 'discard', '{}');
        select postrider.disable_endpoint('b');
        update postrider.circuit
        set state = 'open', probe_at = now() + interval '1 minute', failure_count = 12,
            last_success_at = '2026-01-01 00:00Z', last_failure_at = '2026-02-01 00:00Z'
        where endpoint_id = 1",
    )
    .await;
    let client = shop.client().await;
    let rows = client.query("select to_jsonb(h) from postrider.get_endpoint_health() h", &[]).await;
    let rows: Vec<Value> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["endpoint_name"], &rows[0]["enabled"]), (&json!("a"), &json!(true)));
    assert_eq!(
        (&rows[0]["circuit_state"], &rows[0]["circuit_failure_count"]),
        (&json!("open"), &json!(12))
    );
    assert!(rows[0]["last_success_at"].as_str().unwrap().starts_with("2026-01-01"));
    assert!(rows[0]["probe_at"].is_string() && rows[0]["paused"] == json!(false));
    assert_eq!((&rows[1]["enabled"], &rows[1]["circuit_state"]), (&json!(false), &json!("closed")));
    assert_eq!(shop.refusal("select postrider.get_endpoint_health('nowhere')").await, "42704");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_live_dispatchers_have_a_status() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.quick_endpoint("a", &receiver.url()).await;
    shop.execute("select postrider.register_dispatcher(gen_random_uuid(), 'h', 1, 'v')").await;
    let dispatcher = shop.serve().await;
    shop.send("a", json!(1)).await;
    shop.until(
        "select w.messages_processed = 2 and w.error_count = 1 and w.in_flight = 0
            and w.last_error like '%503%'
        from postrider.get_worker_status() w",
    )
    .await;
    shop.until(
        "select cardinality(w.shards) = 16 and w.started_at < w.heartbeat_at
            and w.version = (select product_version from postrider.installation)
            and abs(extract(epoch from w.clock_offset)) < 1
        from postrider.get_worker_status() w",
    )
    .await;
    let pid: i32 = shop.ask("select w.pid from postrider.get_worker_status() w").await;
    assert_eq!(pid, dispatcher.pid() as i32);
    dispatcher.sigterm();
    dispatcher.wait(LONG).await.unwrap();
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.get_worker_status()").await, 0);
}

// Health ----------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_delivers_is_healthy_and_one_that_does_not_is_not() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let components = "select array_agg(h.component) from postrider.health_check() h";
    assert_eq!(shop.ask::<Vec<String>>(components).await, COMPONENTS);
    assert_health(health(&shop, "dispatchers").await, "unhealthy", "no dispatcher is running");
    assert_health(health(&shop, "shards").await, "unhealthy", "0 of 16 shards");

    let dispatcher = shop.serve().await;
    shop.until(
        "select bool_and(h.status = 'healthy') and bool_and(h.checked_at between
            now() - interval '1 minute' and clock_timestamp())
        from postrider.health_check() h",
    )
    .await;
    // Frozen, and to be seen for one that delivers by nobody for long.
    assert!(dispatcher.sigstop());
    until_health(&shop, "dispatchers", "unhealthy").await;
    until_details(&shop, "shards", "unhealthy", "without: 0, 1, 2").await;
    assert!(dispatcher.sigcont());
    // It begins a new tenure, unless a heartbeat of the old one gets through before it sees that this is over: nobody has taken
    // its shards. Whichever it is has them to stay once it has renewed its lease some more times.
    let sql = "select coalesce(max(seq), 0) from postrider.heartbeat";
    let seq: i64 = shop.ask(sql).await;
    shop.until(&format!(
        "select bool_and(s.owner is not null and 3 <= (
            select count(*)
            from postrider.heartbeat h
            where h.dispatcher = s.owner
            and h.seq > {seq}))
        from postrider.shard s"
    ))
    .await;
    until_health(&shop, "dispatchers", "healthy").await;
    until_health(&shop, "shards", "healthy").await;
    dispatcher.sigkill();
    until_details(&shop, "dispatchers", "unhealthy", "lost: dispatcher").await;
}

/// A dispatcher is silent before its lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_dispatcher_is_noticed_before_its_lease_ends() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.register_dispatcher('00000000-0000-0000-0000-000000000007', 'h', 9, 'v');
        select postrider.heartbeat('00000000-0000-0000-0000-000000000007', '{}');
        select postrider.take_shards('00000000-0000-0000-0000-000000000007', 16)",
    )
    .await;
    assert_health(health(&shop, "dispatchers").await, "healthy", "1 dispatcher is running");
    assert_health(health(&shop, "shards").await, "healthy", "16 of 16");
    shop.execute("update postrider.heartbeat set at = at - interval '11 s'").await;
    assert_health(
        health(&shop, "dispatchers").await,
        "degraded",
        "pid 9) has given no sign of life",
    );
    shop.execute("update postrider.shard set owner = null where shard = 3").await;
    assert_health(
        health(&shop, "shards").await,
        "degraded",
        "15 of 16 shards have a live dispatcher; without: 3",
    );
}

/// It has sent its messages so long ago.
async fn age(shop: &Shop, seconds: i64) {
    shop.execute(&changing_the_log(&format!(
        "set local session_replication_role = replica;
        update postrider.message set created_at = now() - interval '{seconds} s';
        update postrider.deferred set run_at = now() - interval '{seconds} s';
        update postrider.endpoints set updated_at = now() - interval '1 day';
        update postrider.circuit set since = now() - interval '1 day'"
    )))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_have_been_attempted_and_was_not_is_lag() {
    let shop = Shop::open_to_producers().await;
    assert_health(health(&shop, "lag").await, "healthy", "nothing is overdue");
    shop.send("a", json!(1)).await;
    assert_health(health(&shop, "lag").await, "healthy", "endpoint a, not read");
    age(&shop, 70).await;
    assert_health(health(&shop, "lag").await, "degraded", "has waited for 7");
    age(&shop, 700).await;
    assert_health(health(&shop, "lag").await, "unhealthy", "has waited for 11 min");

    // One that is sent to is slow, and not forgotten.
    shop.execute("update postrider.circuit set last_failure_at = now()").await;
    assert_health(health(&shop, "lag").await, "degraded", "has waited for 11 min");
    shop.execute("update postrider.circuit set last_failure_at = now() - interval '2 min'").await;
    assert_health(health(&shop, "lag").await, "unhealthy", "has waited for 11 min");

    // What may not be attempted is not late.
    for (stop, go_on) in
        [("enabled = false", "enabled = true"), ("paused = true", "paused = false")]
    {
        shop.execute(&format!("update postrider.endpoints set {stop}")).await;
        assert_health(health(&shop, "lag").await, "healthy", "nothing is overdue");
        shop.execute(&format!("update postrider.endpoints set {go_on}")).await;
        assert_health(health(&shop, "lag").await, "healthy", "has waited for");
    }
    age(&shop, 700).await;
    shop.execute("update postrider.circuit set state = 'open', probe_at = now()").await;
    assert_health(health(&shop, "lag").await, "healthy", "nothing is overdue");
    shop.execute("update postrider.circuit set state = 'closed', probe_at = null").await;
    assert_health(health(&shop, "lag").await, "unhealthy", "not read");

    // It was read and waits for a retry that nobody makes.
    let shards: Vec<i16> = (0..16).collect();
    let top: String = shop.ask("select pg_current_snapshot()::text").await;
    let state = json!([{ "state": { "tail": { "base": top }, "done": [] } }]).to_string();
    shop.execute(&checkpoint(&shards, &[0; 16], &state)).await;
    assert_health(health(&shop, "lag").await, "healthy", "nothing is overdue");
    shop.execute(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, m.targets[1], 1, 0, now(), now()
        from postrider.message m",
    )
    .await;
    age(&shop, 90).await;
    assert_health(health(&shop, "lag").await, "degraded", "(endpoint a, waiting)");
    shop.execute("update postrider.deferred set run_at = now() + interval '1 h'").await;
    assert_health(health(&shop, "lag").await, "healthy", "nothing is overdue");

    // Passed over in the log, and nobody comes back for it.
    shop.execute(
        "insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
        values (0, gen_random_uuid(), now(), now(), pg_current_xact_id(), 0, jsonb_build_object(
            'shards', '[0]'::jsonb, 'pending', jsonb_build_array(jsonb_build_array(
                1, 5, 1000000, (extract(epoch from now()) - 80) * 1000000))))",
    )
    .await;
    assert_health(health(&shop, "lag").await, "degraded", "(endpoint a, passed over)");
}

/// A dispatcher that lives and cannot read: an administrator has locked the log.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_log_is_noticed_and_nothing_fails() {
    let shop = Shop::open_to_producers().await;
    let _dispatcher = shop.serve().await;
    let other = shop.client().await;
    other
        .batch_execute("begin; lock table postrider.message in access exclusive mode")
        .await
        .unwrap();
    assert_health(health(&shop, "lag").await, "unhealthy", "could not be checked");
    let metrics = "select count(*) filter (where m.metric_name = 'unread_messages') = 0
            and count(*) filter (where m.metric_name = 'dispatchers') = 1
        from postrider.metrics() m";
    // Only with an endpoint at which something is pending could it be told from nothing unread. All in one
    // snapshot: the dispatcher knows better, and says so at its next heartbeat.
    let client = shop.client().await;
    client
        .batch_execute(
            "begin isolation level repeatable read;
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
        select 0, gen_random_uuid(), now(), now(), pg_current_xact_id(), 0, jsonb_build_object(
            'shards', jsonb_agg(s.shard), 'pending', '[[1, 5, 1000000, null]]'::jsonb)
        from postrider.shard s",
        )
        .await
        .unwrap();
    assert!(client.query_one(metrics, &[]).await.unwrap().get::<_, bool>(0));
    client.batch_execute("rollback").await.unwrap();
    other.batch_execute("rollback").await.unwrap();
    until_health(&shop, "lag", "healthy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_watched() {
    let shop = Shop::open_to_producers().await;
    assert_health(health(&shop, "partitions").await, "healthy", "partitions exist for the next");
    shop.execute(
        "create function pg_temp.drop_from(bound timestamptz) returns void language plpgsql as $$
        declare partition text;
        begin
            for partition in
                select c.oid::regclass
                from pg_inherits i
                join pg_class c on c.oid = i.inhrelid
                where i.inhparent = 'postrider.done'::regclass
                and substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([^'']+)')::timestamptz
                    > bound
            loop
                execute 'drop table ' || partition;
            end loop;
        end $$;
        select pg_temp.drop_from(now() + interval '33 days');",
    )
    .await;
    // Of the months what is left ends within this month, or soon after.
    let horizon: f64 = shop
        .ask(
            "select extract(epoch from h.horizon)::float8 / 86400
            from postrider.partition_horizons() h where h.table_name = 'done'",
        )
        .await;
    assert!(horizon < 33.0, "{horizon}");
    let expected = if horizon < 14.0 { "degraded" } else { "healthy" };
    assert_health(health(&shop, "partitions").await, expected, "");
    shop.execute(
        "do $$ declare partition text; begin
            for partition in
                select i.inhrelid::regclass from pg_inherits i
                where i.inhparent = 'postrider.done'::regclass
                and i.inhrelid <> 'postrider.done_default'::regclass
            loop execute 'drop table ' || partition; end loop;
        end $$;
        create table postrider.done_near partition of postrider.done
        for values from ('2020-01-01') to (current_date + 5)",
    )
    .await;
    assert_health(health(&shop, "partitions").await, "degraded", "maintain_archive_partitions()");
    shop.execute("drop table postrider.done_near").await;
    assert_health(health(&shop, "partitions").await, "unhealthy", "no current partition of done");
    shop.execute("select postrider.maintain_archive_partitions()").await;
    assert_health(health(&shop, "partitions").await, "healthy", "");
    shop.execute("insert into postrider.done (bucket, at, offsets) values (1, '2001-01-01', '')")
        .await;
    assert_health(
        health(&shop, "partitions").await,
        "degraded",
        "the default partition of done has rows",
    );
    let rows = "select sum(m.metric_value) from postrider.metrics() m
        where m.metric_name = 'default_partition_rows'";
    assert_eq!(shop.ask::<f64>(rows).await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_are_compared() {
    let shop = Shop::open_migrated().await;
    assert_health(health(&shop, "clock").await, "healthy", "no live dispatcher");
    for (id, milliseconds, status, part) in [
        (1, 300, "healthy", "h1 is 0.300 s ahead of the database's"),
        (2, -5_000, "degraded", "h2 is 5.000 s behind the database's"),
        (3, 61_000, "unhealthy", "h3 is 61.000 s ahead of the database's"),
    ] {
        shop.execute(&format!(
            "select postrider.register_dispatcher(
                '00000000-0000-0000-0000-00000000000{id}', 'h{id}', {id}, 'v');
            select postrider.heartbeat(
                '00000000-0000-0000-0000-00000000000{id}', '{{\"clock_offset_ms\": {milliseconds}}}')"
        ))
        .await;
        assert_health(health(&shop, "clock").await, status, part);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_what_of_ours_is_named() {
    let options = Options { max_prepared_transactions: 4, ..Options::default() };
    let shop = Shop::open_migrated_with(options).await;
    assert_health(health(&shop, "locks").await, "healthy", "no open transaction holds anything");
    shop.execute(
        "create role boss login; grant all on all tables in schema postrider to boss;
        grant usage on schema postrider to boss",
    )
    .await;
    let boss = shop.postgres.connect_as("boss", "shop").await.unwrap();
    let held = "set application_name = 'cleaning up'; begin; delete from postrider.deferred";
    boss.batch_execute(held).await.unwrap();
    let pid = pid_of(&boss).await;
    let holder =
        format!("pid {pid} (role boss, application cleaning up, idle in transaction, for ");
    let said = health(&shop, "locks").await;
    assert_health(said.clone(), "healthy", &holder);
    assert_health(said, "healthy", "holds RowExclusiveLock on postrider.deferred");

    // One of ours that waits for it makes it degraded; another application that does is its own business.
    let lock = "begin; lock table postrider.deferred in exclusive mode; commit";
    let other = shop.client().await;
    let other_pid = pid_of(&other).await;
    let other = tokio::spawn(async move { other.batch_execute(lock).await });
    until_blocked(&shop, other_pid).await;
    assert_health(health(&shop, "locks").await, "healthy", &holder);
    boss.batch_execute("rollback").await.unwrap();
    other.await.unwrap().unwrap();
    boss.batch_execute(held).await.unwrap();
    let ours = shop.client().await;
    ours.batch_execute("set application_name = 'postrider test'").await.unwrap();
    let our_pid = pid_of(&ours).await;
    let ours = tokio::spawn(async move { ours.batch_execute(lock).await });
    until_blocked(&shop, our_pid).await;
    let said = health(&shop, "locks").await;
    assert_health(said.clone(), "degraded", &holder);
    assert_health(said, "degraded", "and 1 of our sessions wait for it");
    boss.batch_execute("rollback").await.unwrap();
    ours.await.unwrap().unwrap();

    shop.execute("begin; delete from postrider.deferred; prepare transaction 'g'").await;
    let text = "prepared transaction 'g' (role postgres, for ";
    assert_health(health(&shop, "locks").await, "healthy", text);
    shop.execute("rollback prepared 'g'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_transaction_of_the_cluster_is_named() {
    let options = Options { max_prepared_transactions: 4, ..Options::default() };
    let shop = Shop::open_migrated_with(options).await;
    assert_health(health(&shop, "oldest transaction").await, "healthy", "");
    let elsewhere = shop.postgres.connect_to("postgres").await.unwrap();
    elsewhere.batch_execute("set application_name = 'forgotten'; begin; select 1").await.unwrap();
    let pid: i32 = elsewhere.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let said = health(&shop, "oldest transaction").await;
    let text = format!("pid {pid}, database postgres, idle in transaction, application forgotten");
    assert_health(said, "healthy", &text);
    elsewhere.batch_execute("rollback").await.unwrap();
    shop.execute(
        "create table public.t (); begin; insert into t default values; prepare transaction 'g'",
    )
    .await;
    assert_health(
        health(&shop, "oldest transaction").await,
        "healthy",
        "prepared transaction 'g', database shop, prepared",
    );
    for (age, status, text) in
        [(3_599, "healthy", "59 min"), (3_600, "degraded", "60 min"), (90_000, "unhealthy", "25 h")]
    {
        shop.execute(&format!(
            "create or replace function postrider.open_transactions(p_limit integer)
            returns table (kind text, pid integer, gid text, database text, state text,
                application_name text, age double precision)
            language sql stable
            as 'select ''session'', 7, null, ''d'', ''active'', ''x'', {age}.0::double precision'"
        ))
        .await;
        assert_health(health(&shop, "oldest transaction").await, status, text);
    }
    let metric = "select m.metric_value from postrider.metrics() m
        where m.metric_name = 'oldest_transaction_seconds'";
    assert_eq!(shop.ask::<f64>(metric).await, 90_000.0);
    // One who may not see others' sessions is told what to do.
    shop.execute("rollback prepared 'g'").await;
    shop.execute(
        "create role plain; grant usage on schema postrider to plain;
        grant execute on all functions in schema postrider to plain",
    )
    .await;
    let client = shop.client().await;
    client.batch_execute("set role plain").await.unwrap();
    let sql = "select c.details from postrider.check_transactions() c";
    let details: String = client.query_one(sql, &[]).await.unwrap().get(0);
    assert!(details.contains("cannot be seen: grant pg_read_all_stats to plain"), "{details}");
}

/// A component that cannot be checked is unhealthy, and the others are checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_is_unhealthy() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create or replace function postrider.check_clock()
        returns table (status text, details text) language sql stable
        as 'select (1 / (random() * 0)::integer)::text, null::text'",
    )
    .await;
    assert_health(
        health(&shop, "clock").await,
        "unhealthy",
        "could not be checked: division by zero",
    );
    assert_health(health(&shop, "partitions").await, "healthy", "");
}

// Events ----------------------------------------------------------------------------------------

/// The names of events that the SQL writes.
fn events() -> BTreeSet<String> {
    let mut events = BTreeSet::new();
    for (name, path) in paths_below("sql/functions", ".sql") {
        let sql = text_of(&path);
        for insert in sql.split("insert into postrider.event_log").skip(1) {
            let statement = insert.split(';').next().unwrap_or_default();
            let found = statement.split('\'').skip(1).step_by(2).filter(|text| {
                let (area, what) = text.split_once('.').unwrap_or_default();
                let is_word = |word: &str| {
                    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                };
                is_word(area) && is_word(what)
            });
            let before = events.len();
            events.extend(found.map(str::to_owned));
            let is_known = statement.split('\'').any(|text| events.contains(text));
            assert!(events.len() > before || is_known, "{name}: an event without a name");
        }
    }
    events
}

#[test]
fn every_event_is_described() {
    let page = Page::read("docs/reference/events.md");
    let described: Vec<String> = page
        .sections()
        .into_iter()
        .flat_map(|section| table(page.section(section)))
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    let described: BTreeSet<String> = described.into_iter().collect();
    assert_eq!(described, events());
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_shown_from_the_newest() {
    let shop = Shop::open_to_producers().await;
    shop.execute(
        "select postrider.disable_endpoint('a');
        update postrider.event_log set at = at - interval '2 h' where event = 'endpoint.created';
        select postrider.set_setting('http_timeout', '20')",
    )
    .await;
    let names = |options: &[&str]| {
        let rows = shop.run(&[&["events", "--json"], options].concat()).json();
        let rows = rows.as_array().unwrap().clone();
        rows.iter().map(|row| row["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["setting.changed", "endpoint.disabled", "endpoint.created"]);
    assert_eq!(names(&["--endpoint", "a"]), ["endpoint.disabled", "endpoint.created"]);
    assert_eq!(names(&["--endpoint", "a", "--since", "1h"]), ["endpoint.disabled"]);
    assert_eq!(names(&["--limit", "1"]), ["setting.changed"]);
    shop.run(&["events", "--endpoint", "nowhere"]).fail(1, "Endpoint 'nowhere' does not exist");
    let text = shop.run(&["events"]).succeed().stdout;
    assert!(text.starts_with("AT  ") && text.contains("endpoint.disabled"), "{text}");
    shop.run(&["events", "--since", "soon"]).fail(2, "expected a time with its offset such as");
}

// The command line ------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_of_health_says_how_it_is() {
    let shop = Shop::open_to_producers().await;
    let run = shop.run(&["health"]).fail(2, "");
    assert!(run.stdout.starts_with("COMPONENT") && run.stderr.is_empty(), "{run:?}");
    let dispatcher = shop.serve().await;
    until_health(&shop, "dispatchers", "healthy").await;
    until_health(&shop, "shards", "healthy").await;
    let rows = shop.run(&["health", "--json"]).json();
    let components = rows.as_array().unwrap().iter().map(|row| row["component"].as_str().unwrap());
    assert_eq!(components.collect::<Vec<_>>(), COMPONENTS);
    shop.execute("insert into postrider.done (bucket, at, offsets) values (1, '2001-01-01', '')")
        .await;
    shop.run(&["health"]).fail(1, "");
    drop(dispatcher);
    let nowhere = crate::shop::run("postgres://127.0.0.1:1/shop", &["health"], "");
    nowhere.fail(3, "postrider:");
    // A role that may not has found nothing. A wrong configuration ends with 2, as everywhere.
    shop.execute("create role sender login in role postrider_producer").await;
    let sender = crate::shop::run(&shop.postgres.url_as("sender", "shop"), &["health"], "");
    sender.fail(3, "permission denied");
    shop.run(&["health", "--database-url", "nonsense"]).fail(2, "database_url is neither");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_printed_as_prometheus_reads_them() {
    let shop = Shop::open_to_producers().await;
    shop.send_many("a", 3).await;
    let text = shop.run(&["metrics"]).succeed().stdout;
    for line in [
        "# TYPE postrider_endpoint_pending_messages gauge",
        "postrider_endpoint_pending_messages{endpoint=\"a\"} 3",
        "postrider_shards 16",
        "postrider_shards_owned 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    // Every metric has its type and its help, once, and a name that is one.
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let helped = text.lines().filter(|line| line.starts_with("# HELP postrider_")).count();
    assert_eq!(names.len(), helped);
    assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    let rows = shop.run(&["metrics", "--json"]).json();
    assert_eq!(
        rows.as_array().unwrap().len(),
        text.lines().filter(|l| !l.starts_with('#')).count()
    );
}

#[test]
fn every_metric_is_described() {
    let page = Page::read("docs/reference/functions/metrics.md");
    let described: Vec<String> = table(page.section("Metrics"))
        .into_iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    let names: Vec<&str> = METRICS.iter().map(|(name, ..)| *name).collect();
    let mut described: Vec<&str> = described.iter().map(String::as_str).collect();
    described.sort_unstable();
    assert_eq!(described, names);
}

// Metrics ---------------------------------------------------------------------------------------

/// Every metric, its type and its labels.
const METRICS: &[(&str, &str, &[&str])] = &[
    ("broker_connected", "gauge", &["process"]),
    ("build_info", "gauge", &["version"]),
    ("clock_offset_seconds", "gauge", &["dispatcher", "host"]),
    ("consumer_lag_messages", "gauge", &["consumer", "partition"]),
    ("consumer_lag_seconds", "gauge", &["consumer", "partition"]),
    ("consumer_messages_total", "counter", &["consumer", "partition"]),
    ("consumer_parked_messages", "gauge", &["consumer", "partition"]),
    ("dead_letter_queue_depth", "gauge", &[]),
    ("dead_letters_estimate", "gauge", &[]),
    ("default_partition_rows", "gauge", &["table"]),
    ("dispatchers", "gauge", &[]),
    ("endpoint_circuit_failure_count", "gauge", &["endpoint"]),
    ("endpoint_circuit_state", "gauge", &["endpoint"]),
    ("endpoint_enabled", "gauge", &["endpoint"]),
    ("endpoint_last_success_timestamp_seconds", "gauge", &["endpoint"]),
    ("endpoint_oldest_pending_seconds", "gauge", &["endpoint"]),
    ("endpoint_paused", "gauge", &["endpoint"]),
    ("endpoint_pending_messages", "gauge", &["endpoint"]),
    ("errors_total", "counter", &["dispatcher", "host"]),
    ("execution_dead_letters_total", "counter", &["outcome"]),
    ("execution_retries_total", "counter", &["action", "pool", "reason"]),
    ("executions", "gauge", &["pool", "status"]),
    ("executions_ended_total", "counter", &["action", "pool", "reason", "status"]),
    ("executions_oldest_scheduled_seconds", "gauge", &["pool"]),
    ("executions_overdue", "gauge", &["pool"]),
    ("in_flight", "gauge", &["dispatcher", "host"]),
    ("log_rewinds_total", "counter", &[]),
    ("messages_processed_total", "counter", &["dispatcher", "host"]),
    ("oldest_transaction_seconds", "gauge", &[]),
    ("oldest_unread_seconds", "gauge", &[]),
    ("partition_horizon_seconds", "gauge", &["table"]),
    ("pool_capacity", "gauge", &["pool"]),
    ("pool_free_capacity", "gauge", &["pool"]),
    ("pool_scaling_signal_seconds", "gauge", &["pool"]),
    ("queue_depth", "gauge", &[]),
    ("queue_limit", "gauge", &[]),
    ("shards", "gauge", &[]),
    ("shards_owned", "gauge", &[]),
    ("ticks_total", "counter", &[]),
    ("unread_messages", "gauge", &[]),
    ("workers", "gauge", &["pool", "status"]),
];

async fn metric(client: &Client, name: &str) -> f64 {
    let sql = "select sum(m.metric_value) from postrider.metrics() m where m.metric_name = $1";
    client.query_one(sql, &[&name]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_has_its_name_type_and_labels() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.set_setting('worker_stale_after', '3600')").await;
    shop.execute("update postrider.circuit set last_success_at = now()").await;
    shop.execute("select postrider.create_consumer('c')").await;
    shop.send("a", json!(1)).await;
    shop.execute("select postrider.tick()").await;
    // An attempt that is retried, an execution that was cancelled, and one that has run: how long
    // executions run is known then, while the first one waits for its second attempt.
    shop.execute(
        "select postrider.register_worker('w'), postrider.note_broker('p', true, 0, null);
        select postrider.submit_execution('a', p_max_retries => 1), postrider.submit_execution('a');
        select t.* from postrider.take_executions(1, 1) t;
        select postrider.fail_execution(l.id, l.fence, 'transient_error')
        from postrider.live_execution l where l.id = 1;
        select postrider.cancel_execution(2);
        select postrider.submit_execution('a');
        select t.* from postrider.take_executions(1, 1) t;
        select s.* from postrider.live_execution l, postrider.start_execution(l.id, l.fence) s
        where l.id = 3;
        select postrider.complete_execution(l.id, l.fence) from postrider.live_execution l where l.id = 3",
    )
    .await;
    let _dispatcher = shop.serve().await;
    shop.until("select exists (select from postrider.metrics() m where m.metric_name = 'execution_retries_total')").await;
    shop.until("select exists (select from postrider.metrics() m where m.metric_name = 'clock_offset_seconds')").await;
    let client = shop.client().await;
    let sql = "select m.metric_name, m.metric_type, array(
            select jsonb_object_keys(m.labels) order by 1)
        from postrider.metrics() m
        group by m.metric_name, m.metric_type, 3
        order by m.metric_name collate \"C\"";
    let rows = client.query(sql, &[]).await.unwrap();
    let found: Vec<(String, String, Vec<String>)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let found: Vec<(&str, &str, Vec<&str>)> = found
        .iter()
        .map(|(name, kind, labels)| {
            (name.as_str(), kind.as_str(), labels.iter().map(String::as_str).collect())
        })
        .collect();
    let expected: Vec<(&str, &str, Vec<&str>)> =
        METRICS.iter().map(|(name, kind, labels)| (*name, *kind, labels.to_vec())).collect();
    assert_eq!(found, expected);

    assert_eq!(metric(&client, "dispatchers").await, 1.0);
    assert_eq!(
        (metric(&client, "shards").await, metric(&client, "shards_owned").await),
        (16.0, 16.0)
    );
    assert_eq!(metric(&client, "queue_limit").await, 1_000_000.0);
    shop.execute("update postrider.circuit set state = 'open', probe_at = now()").await;
    assert_eq!(metric(&client, "endpoint_circuit_state").await, 2.0);
    shop.execute(
        "update postrider.circuit set state = 'half_open', probe_at = null, probe_owner = gen_random_uuid()",
    )
    .await;
    assert_eq!(metric(&client, "endpoint_circuit_state").await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_shows_in_the_metrics() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    assert_eq!(metric(&client, "queue_depth").await, 0.0);
    shop.send_many("a", 300).await;
    assert_eq!(metric(&client, "unread_messages").await, 300.0);
    assert_eq!(metric(&client, "queue_depth").await, 300.0);
    assert_eq!(metric(&client, "endpoint_pending_messages").await, 300.0);
    age(&shop, 100).await;
    for name in ["oldest_unread_seconds", "endpoint_oldest_pending_seconds"] {
        let age = metric(&client, name).await;
        assert!((100.0..200.0).contains(&age), "{name}: {age}");
    }
}

/// Blocks that a statement looks at.
async fn buffers(client: &Client, sql: &str) -> i64 {
    // Once before: the first run of a session reads catalogs.
    client.batch_execute(sql).await.unwrap();
    let explain = format!("explain (analyze, buffers, format json) {sql}");
    let plan: Value = client.query_one(&explain, &[]).await.unwrap().get(0);
    let plan = &plan[0]["Plan"];
    plan["Shared Hit Blocks"].as_i64().unwrap() + plan["Shared Read Blocks"].as_i64().unwrap()
}

/// Ten times the rows, and the same cost.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_counts_rows() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.set_setting('max_queue_size', '0')").await;
    let client = shop.client().await;
    let fill = |from: i64, to: i64| {
        let send = format!(
            "do $$
            begin
                for batch in {from} / 500 .. {to} / 500 - 1 loop
                    perform postrider.send_batch('a', array_fill('1'::jsonb, array[500]));
                    commit;
                end loop;
            end;
            $$"
        );
        let rest = format!(
            "insert into postrider.deferred (
                message_id, target, endpoint_id, shard, run_at, message_created_at)
            select m.id, m.targets[1], 1, (m.id & 1023) >> 4,
                now() + interval '1 h' * (random() - 0.5), now()
            from postrider.message m
            where (m.id >> 10) between {from} and {to}
            and (m.id >> 10) % 4 = 0
            on conflict do nothing;
            insert into postrider.dead_letter (
                message_id, target, endpoint_id, endpoint_name, cause, retry_count,
                message_created_at, priority, payload)
            select m.id, m.targets[1], 1, 'a', 'rejected', 0, now(), 0, '1'
            from postrider.message m
            where (m.id >> 10) between {from} + 1 and {to}
            and (m.id >> 10) % 4 = 1"
        );
        [send, rest]
    };
    let statements = [
        "select * from postrider.get_endpoint_health()",
        "select * from postrider.get_worker_status()",
        "select * from postrider.health_check()",
        "select * from postrider.metrics()",
    ];
    let fill = async |from, to| {
        for sql in fill(from, to) {
            client.batch_execute(&sql).await.unwrap();
        }
        client.batch_execute("vacuum analyze").await.unwrap();
    };
    fill(0, 20_000).await;
    let mut few = Vec::new();
    for sql in statements {
        few.push(buffers(&client, sql).await);
    }
    fill(20_000, 200_000).await;
    let waiting: i64 = shop.ask("select count(*) from postrider.deferred").await;
    assert!(waiting >= 40_000, "{waiting}");
    for (sql, few) in statements.into_iter().zip(few) {
        let many = buffers(&client, sql).await;
        println!("{sql}: {few} blocks, {many} with ten times the rows");
        assert!(many <= few + few / 4 + 200, "{sql}: {few} blocks, then {many}");
    }
}
