//! Messages that are scheduled, and messages that expire, with a running dispatcher and real
//! receivers. Receiver and database have one clock here, so their times can be compared.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, UNIX_EPOCH},
};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio::time::MissedTickBehavior;

/// Before a scheduled message there may arrive what is sent at once in so long after it was due, on a slow and busy
/// machine. Whoever only looked for what is due every few seconds would be later.
const PUNCTUAL: Duration = Duration::from_millis(1_500);
/// The same of most of them.
const USUAL: Duration = Duration::from_millis(300);
/// How many messages are sent at once, at a time.
const AT_ONCE: usize = 3;

fn start(behaviour: Behaviour) -> Receiver {
    Receiver::start(behaviour).unwrap()
}

/// Sends `count` messages that are due at random moments from `start` on, over `length`, both in
/// seconds from now.
fn send_scheduled(endpoint: &str, count: usize, start: f64, length: f64) -> String {
    format!(
        "select count(postrider.send_with_options(
            '{endpoint}', jsonb_build_object('n', n),
            p_scheduled_at => now() + ({start} + {length} * random()) * interval '1 second'))
        from generate_series(1, {count}) n"
    )
}

/// When each message was due and when it arrived, in microseconds, in the order in which they were due. `due` selects
/// ids and moments.
async fn arrivals_in(shop: &Shop, receiver: &Receiver, due: &str) -> Vec<(i64, i64)> {
    let rows = shop.client().await.query(due, &[]).await.unwrap();
    let due: HashMap<i64, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut arrivals: Vec<(i64, i64)> = receiver.with_requests(|requests| {
        let at = |wall_clock: std::time::SystemTime| {
            wall_clock.duration_since(UNIX_EPOCH).unwrap().as_micros() as i64
        };
        requests
            .iter()
            .filter_map(|r| due.get(&r.id.unwrap().0).map(|due| (*due, at(r.wall_clock_at))))
            .collect()
    });
    arrivals.sort_unstable();
    arrivals
}

/// When each scheduled message was due and when it arrived; each arrived once, and not before it was due.
async fn check_lateness(shop: &Shop, receiver: &Receiver, count: usize) -> Vec<(i64, i64)> {
    let due = "select id, (extract(epoch from scheduled_at) * 1000000)::bigint
        from postrider.message
        where scheduled_at is not null";
    let arrivals = arrivals_in(shop, receiver, due).await;
    let mut lateness: Vec<i64> = arrivals.iter().map(|(due, at)| at - due).collect();
    lateness.sort_unstable();
    assert_eq!(lateness.len(), count, "each is attempted once");
    let of = |share: f64| lateness[((count - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "late: least {:.1} ms, median {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, most {:.1} ms",
        of(0.0),
        of(0.5),
        of(0.99),
        of(0.999),
        of(1.0)
    );
    assert!(lateness[0] >= 0, "{} µs early", -lateness[0]);
    arrivals
}

/// For each scheduled message, how many of those that were sent at once after it was due arrived before it, sorted.
fn overtakers(scheduled: &[(i64, i64)], at_once: &[(i64, i64)]) -> Vec<usize> {
    let before = |(due, at): &(i64, i64)| {
        let later = &at_once[at_once.partition_point(|(sent, _)| sent <= due)..];
        let sent_in_time = later.iter().take_while(|(sent, _)| sent < at);
        sent_in_time.filter(|(_, arrived)| arrived < at).count()
    };
    let mut counts: Vec<usize> = scheduled.iter().map(before).collect();
    counts.sort_unstable();
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_message_is_attempted_when_it_is_due() {
    // So few in the short form that a slow machine can keep up: none is late because there are too many.
    let (count, length, pause) = match std::env::var_os("POSTRIDER_TEST_FULL") {
        Some(_) => (200_000, 60.0, Duration::from_millis(10)),
        None => (400, 12.0, Duration::from_millis(100)),
    };
    let shop = Shop::open_to_receivers().await;
    let (timed, other) = (start(Behaviour::Status(200)), start(Behaviour::Status(200)));
    shop.quick_endpoint("timed", &timed.url()).await;
    shop.quick_endpoint("other", &other.url()).await;
    let _dispatcher = shop.serve().await;
    // The statement takes its time, and none is due before it is over.
    let lead = 4.0 + count as f64 / 5_000.0;
    shop.execute(&send_scheduled("timed", count, lead, length)).await;
    let is_over = AtomicBool::new(false);
    let traffic = async {
        let client = shop.client().await;
        let send = format!(
            "select postrider.send('timed', '{{}}'), postrider.send('other', '{{}}')
            from generate_series(1, {AT_ONCE})"
        );
        let mut pace = tokio::time::interval(pause);
        // What was not sent while the machine stood still is not sent later.
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sent = 0;
        while !is_over.load(Ordering::Relaxed) {
            pace.tick().await;
            client.batch_execute(&send).await.unwrap();
            sent += AT_ONCE;
        }
        sent
    };
    let all_due = async {
        let waits = "select not exists (select from postrider.deferred)
            and (select max(scheduled_at) < clock_timestamp() from postrider.message)";
        shop.until_within(2 * LONG, waits).await;
        is_over.store(true, Ordering::Relaxed);
    };
    let (sent, ()) = tokio::join!(traffic, all_due);
    timed.wait_for_accepted(count + sent, LONG).await.unwrap();
    other.wait_for_accepted(sent, LONG).await.unwrap();
    let scheduled = check_lateness(&shop, &timed, count).await;
    // The machine of the tests does other things, too, and may be slow or stand still for a while: what is sent at
    // once is the control, and nobody sends then. Whoever looked once a second would let through what is sent at once
    // in half a second as a rule.
    let at_once = "select id, (extract(epoch from created_at) * 1000000)::bigint
        from postrider.message
        where scheduled_at is null";
    let at_once = arrivals_in(&shop, &other, at_once).await;
    let overtakers = overtakers(&scheduled, &at_once);
    // A slow machine sends less often.
    let mut pauses: Vec<i64> = at_once.windows(2).map(|two| two[1].0 - two[0].0).collect();
    pauses.retain(|pause| *pause > 0);
    pauses.sort_unstable();
    let usual_pause = pause.as_secs_f64().max(pauses[pauses.len() / 2] as f64 / 1e6);
    let sent_in =
        |time: Duration| (AT_ONCE as f64 * time.as_secs_f64() / usual_pause).ceil() as usize;
    let usual = overtakers[count / 2];
    println!(
        "sent later and there before: {usual} in the middle, {} at most",
        overtakers[count - 1]
    );
    assert!(usual < sent_in(USUAL), "{usual} in the middle, sent later and there before");
    let late = overtakers.iter().filter(|count| **count > sent_in(PUNCTUAL)).count();
    assert!(late * 4 <= count, "{late} of {count} are late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waits_costs_nothing() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("timed", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    shop.execute(&send_scheduled("timed", 2_000, 3_600.0, 60.0)).await;
    shop.until("select count(*) = 2000 from postrider.deferred").await;
    // What was written before is in the statistics when this is.
    let figures = "select jsonb_build_object(
            'written', t.n_tup_ins + t.n_tup_upd + t.n_tup_del,
            'read', t.idx_tup_fetch + t.seq_tup_read)
        from pg_stat_user_tables t
        where t.schemaname = 'postrider'
        and t.relname = 'deferred'";
    let heartbeats = "select count(*) from postrider.heartbeat";
    shop.until(&format!("select ({figures}) ->> 'written' = '2000'")).await;
    // Two looks at all that waits lie between (one every 5 seconds), and heartbeats.
    let (before, beat): (serde_json::Value, i64) =
        (shop.ask(figures).await, shop.ask(heartbeats).await);
    let lease: String =
        shop.ask("select value from postrider.setting where name = 'stale_recovery_timeout'").await;
    shop.until(&format!("select ({heartbeats}) >= {beat} + 2")).await;
    let after: serde_json::Value = shop.ask(figures).await;
    println!("lease {lease} s; before {before}, after {after}");
    assert_eq!(before["written"], after["written"]);
    let read = after["read"].as_i64().unwrap() - before["read"].as_i64().unwrap();
    assert!(read < 1_000, "{read} rows were read while 2,000 waited");
    assert_eq!(receiver.request_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_makes_no_scheduled_message_early_or_lost() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("timed", &receiver.url()).await;
    let killed = shop.serve().await;
    // Some are due before the kill, some while nobody is there, some later.
    shop.execute(&send_scheduled("timed", 2_000, 0.5, 9.0)).await;
    receiver.wait_for_accepted(100, LONG).await.unwrap();
    killed.sigkill();
    killed.wait(LONG).await.unwrap();
    let recorded = shop.recorded(&receiver).await;
    shop.execute(&send_scheduled("timed", 500, 3.0, 5.0)).await;
    let _successor = shop.serve().await;
    receiver.wait_for_accepted(2_500, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    let early = "select id, (extract(epoch from scheduled_at) * 1000000)::bigint
        from postrider.message";
    let client = shop.client().await;
    let due: HashMap<i64, i64> =
        client.query(early, &[]).await.unwrap().iter().map(|r| (r.get(0), r.get(1))).collect();
    for request in receiver.requests() {
        let at = request.wall_clock_at.duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
        let due = due[&request.id.unwrap().0];
        assert!(at >= due, "{} µs early: {request:?}", due - at);
    }
    println!("{} were attempted twice", receiver.request_count() - 2_500);
    // Only what had landed and was not recorded.
    recorded.check_not_again(&receiver);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_that_waits_does_not_put_the_clock_forward() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("timed", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    // Heartbeats wait for this lock, as they do for a dispatcher that takes shards.
    let client = shop.client().await;
    let beats = "select count(*) from postrider.heartbeat";
    let waits = "select count(*) > 0 and max(clock_timestamp() - a.query_start) > '1 second'
        from pg_stat_activity a
        where a.wait_event = 'relation' and a.application_name like 'postrider%'
        and a.query like '%postrider.heartbeat(%'";
    client.batch_execute("begin; lock table postrider.fence in exclusive mode").await.unwrap();
    let beaten: i64 = shop.ask(beats).await;
    shop.until(waits).await;
    client.batch_execute("rollback").await.unwrap();
    shop.until(&format!("select ({beats}) > {beaten}")).await;
    shop.execute(&send_scheduled("timed", 100, 0.3, 1.0)).await;
    receiver.wait_for_accepted(100, LONG).await.unwrap();
    check_lateness(&shop, &receiver, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_ends_when_it_expires() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(503));
    let policy = json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let _dispatcher = shop.serve().await;
    let send = |scheduled: &str, expires: &str| {
        format!(
            "select postrider.send_with_options(
                'hooks', '{{}}', p_scheduled_at => now() + {scheduled},
                p_expires_at => now() + {expires})"
        )
    };
    // One waits for its retry; the other is scheduled, tried in time, and waits then.
    let retried: i64 = shop.ask(&send("null::interval", "interval '15 s'")).await;
    let timed: i64 = shop.ask(&send("interval '1 s'", "interval '16 s'")).await;
    shop.until("select count(*) = 2 from postrider.ended where reason = 'expired'").await;
    let late: f64 = shop
        .ask(
            "select max(extract(epoch from e.at - m.expires_at))::float8
            from postrider.ended e
            join postrider.message m on m.id = e.message_id
            where e.at >= m.expires_at",
        )
        .await;
    println!("ended {late:.3} s after it expired");
    assert!(late < 10.0, "{late}");
    let early = "select exists (
            select
            from postrider.ended e
            join postrider.message m on m.id = e.message_id
            where e.at < m.expires_at
        )";
    assert!(!shop.ask::<bool>(early).await);
    let mut ids: Vec<i64> = receiver.requests().iter().map(|r| r.id.unwrap().0).collect();
    ids.sort_unstable();
    assert_eq!(ids, [retried, timed]);
    shop.until("select not exists (select from postrider.deferred)").await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.dead_letter)").await);
}
