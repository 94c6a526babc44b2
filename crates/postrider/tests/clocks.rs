//! The database's clock is set back or forward by more than an hour: nothing waits for longer than a lease more, nothing
//! is lost or comes twice, and nothing is taken from whoever lives.

use std::time::{Duration, Instant};

use crate::shop::{
    Shop,
    executing::{answer, register, run_next, status, submit},
    serving::LONG,
};
use postrider_testkit::{
    postgres::{Options, clock::MovableClock},
    receiver::{Behaviour, Receiver},
    stillness::Stillness,
};
use serde_json::json;

/// Neither is a multiple of the time after which rotating tables are where they were.
const FORWARD: i64 = 80 * 60;
const BACK: i64 = 70 * 60;
/// Waits begin just before the clock is set: they are over some time after it, and long before they would be by
/// the clock.
const SOON: u32 = 20;
const REPLAYED: i64 = 40;
/// After so many seconds a dispatcher's shards go to another one, and a worker counts as lost.
const LEASE: u64 = 10;

/// When each wait was over, from the start with another time on.
struct Waits {
    began: Instant,
    over: Vec<(&'static str, Duration)>,
}

impl Waits {
    fn begin() -> Self {
        Self { began: Instant::now(), over: Vec::new() }
    }

    fn end(&mut self, what: &'static str) {
        self.over.push((what, self.began.elapsed()));
    }
}

/// What goes on while the clock is set, on a server that starts again with another time.
async fn set_clock(from: i64, to: i64) -> Waits {
    let clock = MovableClock::new().unwrap();
    clock.set(from).unwrap();
    let options = Options { installation: Some(clock.installation()), ..Options::default() };
    let mut shop = Shop::open_migrated_with(options).await;
    shop.execute(&format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('circuit_breaker_threshold', '3');
        select postrider.set_setting('circuit_breaker_cooldown', '{SOON}');
        select postrider.set_setting('stale_recovery_timeout', '{LEASE}');
        select postrider.set_setting('worker_heartbeat_interval', '3');
        select postrider.set_setting('worker_stale_after', '3600');
        select postrider.create_consumer('c', p_partitions => 4)"
    ))
    .await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let broken = Receiver::start(Behaviour::Status(503)).unwrap();
    let retrying = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    let policy =
        |seconds| json!({ "base_delay_seconds": seconds, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("good", json!({ "url": good.url() }), json!({})).await;
    shop.endpoint("broken", json!({ "url": broken.url() }), policy(1)).await;
    shop.endpoint("quick", json!({ "url": retrying.url() }), policy(1)).await;
    shop.endpoint("retrying", json!({ "url": retrying.url() }), policy(SOON)).await;
    let dying = shop.serve().await;
    let _staying = shop.serve().await;
    shop.until("select count(distinct s.owner) = 2 from postrider.shard s").await;

    // A claim, and what is to be replayed.
    shop.send("quick", json!({})).await;
    retrying.wait_for_accepted(1, LONG).await.unwrap();
    shop.send_many("good", REPLAYED as usize).await;
    good.wait_for_accepted(REPLAYED as usize, LONG).await.unwrap();
    shop.until(
        "select not postrider.has_unread_messages(s.id) from postrider.subscriptions s
        join postrider.endpoints e on e.direct_subscription_id = s.id where e.name = 'good'",
    )
    .await;
    let claims = "select count(*) from postrider.claim c where c.message_ids <> '{}'";
    let claim_count: i64 = shop.ask(claims).await;
    assert!(claim_count > 0);

    // A worker that dies in the middle of an execution, and one that has failed.
    let client = shop.client().await;
    let worker = register(&client, "'dying', p_capacity => 10").await;
    let run = submit(&client, "'run', p_max_retries => 3").await;
    assert_eq!(run_next(&client, worker.id).await.id, run);
    let long = submit(&client, "'long', p_worker => 'nobody', p_ttl => '20 seconds'").await;
    let failed = submit(&client, "'fail', p_max_retries => 3").await;
    let held = run_next(&client, worker.id).await;
    assert_eq!(held.id, failed);

    // A consumer that dies.
    let lease = |n: u32| {
        format!(
            "select cardinality(postrider.lease_partitions(
            'c', '00000000-0000-0000-0000-{n:012}', '20 seconds'))"
        )
    };
    assert_eq!(shop.ask::<i32>(&lease(1)).await, 4);

    shop.send_many("broken", 3).await;
    shop.until("select exists (select from postrider.circuit where state = 'open')").await;
    shop.send("retrying", json!({})).await;
    retrying.wait_for(3, LONG).await.unwrap();
    let scheduled = "select postrider.send_with_options(
        'good', '{}', p_scheduled_at => clock_timestamp() + interval '3 hours')";
    let scheduled: i64 = shop.ask(scheduled).await;
    let stored = format!(
        "select exists (select from postrider.deferred d where d.message_id = {scheduled})
        and exists (select from postrider.deferred d
            join postrider.endpoints e on e.id = d.endpoint_id where e.name = 'retrying')"
    );
    shop.until(&stored).await;
    let replay =
        "select postrider.create_replay('good', now() - interval '1 day', now() + interval '1 day',
        p_rate => 4)";
    let replay: i64 = shop.ask(replay).await;
    let running = format!("select replayed_count > 0 from postrider.replay where id = {replay}");
    shop.until(&running).await;
    let fail =
        format!("select postrider.fail_execution({failed}, {}, 'transient_error')", held.fence);
    assert_eq!(answer(&client, &fail).await, "requested");
    // From now on it is not heard of.
    shop.execute(&format!(
        "update postrider.worker set heartbeat_at = clock_timestamp();
        select postrider.set_setting('worker_stale_after', '{LEASE}')"
    ))
    .await;
    dying.sigkill();

    clock.set(to).unwrap();
    drop(client);
    shop.postgres.restart().unwrap();
    let mut waits = Waits::begin();
    broken.set_behaviour(Behaviour::Status(200));

    shop.until("select count(distinct s.owner) = 1 and bool_and(h.at <= clock_timestamp()) from postrider.shard s
        left join lateral (select h.at from postrider.heartbeat h where h.dispatcher = s.owner
            order by h.seq desc limit 1) h on true").await;
    waits.end("shards");
    retrying.wait_for_accepted(2, LONG).await.unwrap();
    waits.end("a retry");
    broken.wait_for_accepted(3, LONG).await.unwrap();
    waits.end("an open circuit");
    shop.until(&format!("select ({}) = 4", lease(2))).await;
    waits.end("a lease of partitions");
    let client = shop.client().await;
    shop.until("select status = 'inactive' from postrider.worker where name = 'dying'").await;
    waits.end("a lost worker");
    // The next one has no heart either, and all the time that it needs.
    shop.execute("select postrider.set_setting('worker_stale_after', '3600')").await;
    let second = register(&client, "'second', p_capacity => 10").await;
    let mut done = Vec::new();
    while done.len() < 2 {
        let held = run_next(&client, second.id).await;
        answer(
            &client,
            &format!("select postrider.complete_execution({}, {})", held.id, held.fence),
        )
        .await;
        done.push(held.id);
    }
    done.sort_unstable();
    assert_eq!(done, [run, failed]);
    waits.end("executions");
    shop.until(&format!("select status = 'failed' from postrider.executions where id = {long}"))
        .await;
    waits.end("a time to live");
    assert_eq!(status(&client, failed).await, "completed");
    shop.until(&format!("select state = 'completed' from postrider.replay where id = {replay}"))
        .await;
    waits.end("a replay");

    // What comes now comes at once, and once.
    shop.send_many("quick", 20).await;
    retrying.wait_for_accepted(22, LONG).await.unwrap();
    waits.end("what comes now");
    shop.until("select count(*) = 1 from postrider.deferred").await;
    let accepted = |receiver: &Receiver| {
        receiver.with_requests(|r| r.iter().filter(|r| r.is_accepted()).count())
    };
    assert_eq!((accepted(&retrying), accepted(&broken)), (22, 3));
    let replays = "select array[count(*), count(distinct replay_of)] from postrider.message where replay_of is not null";
    assert_eq!(shop.ask::<Vec<i64>>(replays).await, [REPLAYED, REPLAYED]);
    good.wait_for_accepted(2 * REPLAYED as usize, LONG).await.unwrap();
    let keeps_its_time = format!(
        "select d.run_at = m.scheduled_at and d.retry_count = 0
        from postrider.deferred d join postrider.message m on m.id = d.message_id
        where d.message_id = {scheduled}"
    );
    assert!(shop.ask::<bool>(&keeps_its_time).await, "its sender meant that time");
    let lost =
        "select exists (select from postrider.dead_letter) or exists (select from postrider.ended)";
    assert!(!shop.ask::<bool>(lost).await);
    // What dispatchers rely on is not thrown away.
    for _ in 0..3 {
        shop.execute("select postrider.rotate_slots()").await;
    }
    assert!(shop.ask::<i64>(claims).await >= claim_count);
    if to < from {
        shop.until(
            "select exists (select from postrider.clock_jump where finished_at is not null)",
        )
        .await;
    }
    waits
}

/// Beside what it takes where a server starts again with the same time: that is where a slow machine shows, but for how
/// long it stands still.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_delays_nothing_for_longer_than_a_lease() {
    let control = set_clock(0, 0).await.over;
    let mut late = Vec::new();
    for (from, to) in [(0, -BACK), (-FORWARD, 0)] {
        let stillness = Stillness::watch().unwrap();
        let seen = set_clock(from, to).await.over;
        let still: Duration = stillness.stop().iter().map(|time| time.end - time.start).sum();
        println!(
            "from {from} s to {to} s: {seen:?}, {still:?} of it still, and in the control {control:?}"
        );
        assert_eq!(seen.len(), control.len());
        for ((what, took), (_, usual)) in seen.iter().zip(&control) {
            if *took > *usual * 2 + Duration::from_secs(LEASE) + still {
                late.push(format!("{what}, from {from} s to {to} s: {took:?}, else {usual:?}"));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

/// What was given away of a rate limit lasts for as long as it would have.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_delays_no_rate_limit() {
    let shop = Shop::open_to_producers().await;
    let take = |count: i32| {
        format!(
            "select t.wait_ms from postrider.take_tokens('{{1}}', '{{{count}}}', '{{1}}', '{{600}}') t"
        )
    };
    assert_eq!(shop.ask::<i32>(&take(600)).await, 0, "a burst");
    let before: i32 = shop.ask(&take(100)).await;
    assert!(before <= 100_000, "{before}");
    let set_back = "update postrider.rate_grant g
        set used_until = g.used_until + interval '3 h', granted_at = g.granted_at + interval '3 h'";
    shop.execute(set_back).await;
    let after: i32 = shop.ask(&take(1)).await;
    assert!(after <= 101_000, "{after}");
}

/// For dispatchers that keep their connections it is the same whether the clock moves or all that was written by
/// it.
#[tokio::test(flavor = "multi_thread")]
async fn no_live_owner_loses_its_lease_to_a_clock() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '20')").await;
    let dispatchers = [shop.serve().await, shop.serve().await];
    shop.until("select count(distinct s.owner) = 2 from postrider.shard s").await;
    let owners = "select array_agg(s.epoch order by s.shard) from postrider.shard s";
    let before: Vec<i64> = shop.ask(owners).await;
    for hours in [-1, 1, -1] {
        let moved = format!(
            "update postrider.heartbeat
            set at = at + interval '{hours} h', lease_until = lease_until + interval '{hours} h'"
        );
        shop.execute(&moved).await;
        let seq: i64 = shop.ask("select max(seq) from postrider.heartbeat").await;
        let renewed = format!(
            "select count(distinct h.dispatcher) filter (where h.seq > {seq}) = 2 from postrider.heartbeat h"
        );
        shop.until(&renewed).await;
    }
    assert_eq!(shop.ask::<Vec<i64>>(owners).await, before);
    // Who is dead, by a clock that says otherwise, is found out all the same.
    dispatchers[0].sigkill();
    shop.execute("update postrider.heartbeat set at = at + interval '1 h', lease_until = lease_until + interval '1 h'")
        .await;
    shop.until_within(LONG, "select count(distinct s.owner) = 1 from postrider.shard s").await;
    assert!(Duration::from_secs(3600) > LONG);
}

/// A dispatcher's heartbeat, as it would be written by a clock that is ahead, and what it put off.
async fn write_ahead(shop: &Shop, dispatcher: &str, message: i64, hours: i64) {
    let sql = format!(
        "insert into postrider.dispatcher (id, host, pid, version, started_at)
            values ('{dispatcher}', 'here', 1, '0', clock_timestamp() + interval '{hours} h')
            on conflict do nothing;
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
        values (
            postrider.current_slot(), '{dispatcher}', clock_timestamp() + interval '{hours} h',
            clock_timestamp() + interval '{hours} h', pg_current_xact_id(), 0,
            pg_snapshot_xmin(pg_current_snapshot()), '{{}}');
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        values ({message}, 1, 1, 0, clock_timestamp() + interval '{hours} h', now())"
    );
    shop.execute(&sql).await;
}

/// While somebody's transaction of before the first jump is open, that one is not over.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_twice_delays_nothing() {
    const DISPATCHER: &str = "00000000-0000-0000-0000-000000000001";
    let shop = Shop::open_to_producers().await;
    let stranger = shop.client().await;
    stranger.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
    let is_brought = |message: i64| {
        format!(
            "select clock_timestamp() + interval '5 minutes' > d.run_at from postrider.deferred d
            where d.message_id = {message}"
        )
    };
    for (message, hours) in [(1, 2), (2, 1)] {
        write_ahead(&shop, DISPATCHER, message, hours).await;
        shop.advance_jobs_until(&format!("({})", is_brought(message))).await;
    }
    let jumps = "select array[count(*), count(finished_at)] from postrider.clock_jump";
    assert_eq!(shop.ask::<Vec<i64>>(jumps).await, [2, 0]);
    let is_patient = "select bool_and(j.next_at > j.at and j.at <= clock_timestamp()) from postrider.clock_jump j";
    assert!(shop.ask::<bool>(is_patient).await, "no round follows the other at once");
    stranger.batch_execute("rollback").await.unwrap();
    shop.advance_jobs_until(
        "not exists (select from postrider.clock_jump where finished_at is null)",
    )
    .await;
}

/// It keeps what rotating tables hold of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_dispatcher_that_began_in_the_future_is_forgotten() {
    let shop = Shop::open_to_producers().await;
    write_ahead(&shop, "00000000-0000-0000-0000-000000000001", 1, 3).await;
    let forget = "select postrider.forget_dispatchers()";
    assert_eq!(shop.ask::<i32>(forget).await, 0, "its lease may last");
    shop.execute("update postrider.heartbeat set lease_until = 'epoch'").await;
    assert_eq!(shop.ask::<i32>(forget).await, 1);
}
