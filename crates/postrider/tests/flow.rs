//! How much an endpoint takes: rate limits, pauses, memory; and receivers that do not play by the rules.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What a single message waits for at most, half of the time and nearly always, with unoptimised code and
/// other tests beside it on a slow machine: behind others it would wait for minutes, and behind a request to a
/// rude receiver for its timeout. docs/proofs.md has what a release build measures.
const HALF: Duration = Duration::from_secs(5);
const NEARLY_ALL: Duration = Duration::from_secs(15);
/// What an attempt at a rude receiver is given.
const RUDE_TIMEOUT: Duration = NEARLY_ALL.saturating_mul(2);

fn patient() -> Value {
    json!({ "max_retries": 1000, "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 })
}

/// When requests arrived, by a clock that stands still while the machine does and nothing arrives: of what a rate gave
/// meanwhile there is a burst at most.
fn awake_moments(receiver: &Receiver, pulse: &Pulse) -> Vec<Instant> {
    const GAP: Duration = Duration::from_millis(200);
    let pauses = pulse.pauses();
    let mut still = Duration::ZERO;
    let mut newest: Option<Instant> = None;
    let mut moments = Vec::new();
    for at in receiver.requests().iter().map(|request| request.at) {
        let before = newest.replace(at).unwrap_or(at);
        if at.duration_since(before) > GAP {
            let of = |(from, to): &(Instant, Instant)| {
                at.min(*to).saturating_duration_since(before.max(*from))
            };
            still += pauses.iter().map(of).sum::<Duration>();
        }
        moments.push(at - still);
    }
    moments
}

/// How many of these moments lie in a window of ten seconds, in the middle of all windows. A busy machine
/// delays some, and so the windows that they lie in have too few or too many.
fn count_over_10_s(moments: &[Instant]) -> usize {
    let window = Duration::from_secs(10);
    let last = moments[moments.len() - 1];
    let full = moments.iter().take_while(|at| **at + window <= last);
    let mut counts: Vec<usize> = full
        .enumerate()
        .map(|(first, at)| moments[first..].iter().take_while(|m| **m < *at + window).count())
        .collect();
    counts.sort_unstable();
    let (middle, most) = (counts[counts.len() / 2], counts[counts.len() - 1]);
    println!("{} to {most} requests in windows of 10 s", counts[0]);
    assert!(most * 10 <= middle * 13, "{most} at most, {middle} in the middle");
    middle
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_is_shared_and_exact() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config = json!({ "url": receiver.url(), "rate_limit_per_second": 100 });
    shop.endpoint("limited", config, patient()).await;
    let _one = shop.serve().await;
    let _other = shop.serve().await;
    shop.until("select count(distinct owner) = 2 from postrider.shard").await;
    let pulse = Pulse::of(&shop).await;
    shop.send_many("limited", 1_600).await;
    receiver.wait_for_accepted(1_600, LONG).await.unwrap();
    let count = count_over_10_s(&awake_moments(&receiver, &pulse));
    assert!((900..=1_100).contains(&count), "{count} in 10 s at 100/s");
    assert_eq!(receiver.distinct_ids().len(), 1_600);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dispatcher_gets_the_whole_rate_when_the_other_has_nothing_to_send() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config = json!({ "url": receiver.url(), "rate_limit_per_second": 20 });
    shop.endpoint("limited", config, patient()).await;
    let _one = shop.serve().await;
    let _other = shop.serve().await;
    shop.until("select count(distinct owner) = 2 from postrider.shard").await;
    let pulse = Pulse::of(&shop).await;
    // Twenty keys that are in one shard: one dispatcher has them all, and enough that may go at once, however
    // slow the machine is.
    shop.execute(
        "select postrider.send_with_options('limited', '{}', p_ordering_key => k.key)
        from (
            select 'key ' || n as key
            from generate_series(1, 1000) n
            where postrider.key_shard('key ' || n) = 7
            limit 20
        ) k
        cross join generate_series(1, 14)",
    )
    .await;
    receiver.wait_for_accepted(280, LONG).await.unwrap();
    let count = count_over_10_s(&awake_moments(&receiver, &pulse));
    assert!((180..=220).contains(&count), "{count} in 10 s at 20/s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_may_come_after_a_rest() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config =
        json!({ "url": receiver.url(), "rate_limit_per_second": 2, "rate_limit_burst": 40 });
    shop.endpoint("limited", config, patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("limited", 52).await;
    receiver.wait_for_accepted(52, LONG).await.unwrap();
    let requests = receiver.requests();
    let at = |index: usize| requests[index].at - requests[0].at;
    // At the rate alone it would be 20 s; the last twelve come at the rate, in 6 s.
    assert!(at(39) < Duration::from_secs(10), "{:?}", at(39));
    assert!(at(51) >= Duration::from_secs(4), "{:?}", at(51));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_can_be_changed_and_taken_away() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config = json!({ "url": receiver.url(), "rate_limit_per_second": 1 });
    shop.endpoint("limited", config, patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("limited", 500).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    assert!(receiver.accepted_count() < 20);
    let alter = "select postrider.alter_endpoint('limited', $1)";
    shop.client().await.execute(alter, &[&json!({ "url": receiver.url() })]).await.unwrap();
    receiver.wait_for_accepted(500, LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_endpoint_takes_messages_and_gets_none() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let other = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("other", json!({ "url": other.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.run(&["endpoint", "pause", "hooks"]).succeed();
    assert!(!shop.ask::<bool>("select postrider.pause_endpoint('hooks')").await);
    // It has been heard when a later change of the other one has.
    let config = json!({ "url": format!("{}later", other.url()) });
    shop.execute(&format!("select postrider.alter_endpoint('other', '{config}')")).await;
    let is_heard =
        || other.with_requests(|requests| requests.iter().any(|request| request.path == "/later"));
    let mut sent = 0;
    while !is_heard() {
        shop.send("other", json!({})).await;
        sent += 1;
        other.wait_for_accepted(sent, LONG).await.unwrap();
    }
    shop.send_many("hooks", 3_000).await;
    for n in 1..30 {
        shop.send("other", json!({})).await;
        other.wait_for_accepted(sent + n, LONG).await.unwrap();
    }
    assert_eq!(receiver.accepted_count(), 1);
    let waiting: i64 =
        shop.ask("select count(*) from postrider.queue where endpoint_name = 'hooks'").await;
    assert_eq!(waiting, 3_000);
    shop.run(&["endpoint", "resume", "hooks"]).succeed();
    receiver.wait_for_accepted(3_001, LONG).await.unwrap();
    assert_eq!(receiver.distinct_ids().len(), 3_001);
    let events: Vec<String> = shop
        .ask(
            "select array_agg(event order by id) from postrider.event_log
            where event in ('endpoint.paused', 'endpoint.resumed')",
        )
        .await;
    assert_eq!(events, ["endpoint.paused", "endpoint.resumed"]);
    for function in ["pause_endpoint", "resume_endpoint"] {
        assert_eq!(shop.refusal(&format!("select postrider.{function}('x')")).await, "42704");
        assert_eq!(shop.refusal(&format!("select postrider.{function}(null)")).await, "22004");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flow_options_have_bounds() {
    let shop = Shop::open_migrated().await;
    for (option, value) in [
        ("rate_limit_per_second", json!(0)),
        ("rate_limit_per_second", json!(100_001)),
        ("rate_limit_burst", json!(0)),
        ("max_in_memory", json!(0)),
        ("max_in_memory", json!("10")),
        ("max_queue_size", json!(-1)),
        ("max_queue_size", json!(2_147_483_648_i64)),
    ] {
        let config = json!({ option: value });
        let sql = format!("select postrider.create_endpoint('x', 'discard', '{config}')");
        assert_eq!(shop.refusal(&sql).await, "22023", "{config}");
    }
}

// Receivers that do not play by the rules -----------------------------------------------------------

/// How a receiver treats whoever connects to it.
#[derive(Debug, Clone, Copy)]
enum Rude {
    /// Takes the request and never answers.
    Hangs,
    /// Answers a byte per second.
    Trickles,
    /// Answers with a body that does not end.
    Floods,
    /// Answers the head, and then a byte of the body per second.
    TricklesBody,
    /// Closes the connection with a reset.
    Resets,
}

async fn rude_receiver(rude: Rude) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(treat(stream, rude));
        }
    });
    url
}

async fn treat(mut stream: TcpStream, rude: Rude) {
    let mut request = [0; 4096];
    while stream.read(&mut request).await.is_ok_and(|count| count > 0) {
        let answered = match rude {
            Rude::Hangs => continue,
            Rude::Trickles => {
                trickle(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await
            }
            Rude::TricklesBody => {
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";
                match stream.write_all(head).await {
                    Ok(()) => trickle(&mut stream, &[b'x'; 1000]).await,
                    other => other,
                }
            }
            Rude::Floods => {
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                let mut result = stream.write_all(head).await;
                while result.is_ok() {
                    result = stream.write_all(b"1000\r\n").await;
                    if result.is_ok() {
                        result = stream.write_all(&[b'x'; 0x1000]).await;
                    }
                    if result.is_ok() {
                        result = stream.write_all(b"\r\n").await;
                    }
                }
                result
            }
            Rude::Resets => {
                let _ = socket_reset(&stream);
                return;
            }
        };
        if answered.is_err() {
            return;
        }
    }
}

async fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

/// Closing it sends a reset.
fn socket_reset(stream: &TcpStream) -> std::io::Result<()> {
    #[allow(deprecated)]
    stream.set_linger(Some(Duration::ZERO))
}

/// From the commit to the arrival of each of so many messages to `good`.
async fn waits(shop: &Shop, good: &Receiver, count: usize) -> Vec<Duration> {
    let client = shop.client().await;
    let mut committed_at = HashMap::new();
    let mut pace = tokio::time::interval(Duration::from_millis(50));
    let before = good.accepted_count();
    for _ in 0..count {
        pace.tick().await;
        let id: i64 =
            client.query_one("select postrider.send('good', '{}')", &[]).await.unwrap().get(0);
        committed_at.insert(id, Instant::now());
    }
    good.wait_for_accepted(before + count, LONG).await.unwrap();
    let requests = good.requests();
    let mut waits: Vec<Duration> = requests
        .iter()
        .filter_map(|r| Some((r.at, committed_at.get(&r.id?.0)?)))
        .map(|(arrived_at, committed_at)| arrived_at.saturating_duration_since(*committed_at))
        .collect();
    waits.sort();
    waits
}

fn check_waits(when: &str, waits: &[Duration]) {
    let (median, p95) = (waits[waits.len() / 2], waits[waits.len() * 95 / 100]);
    println!("{when}: median {median:?}, p95 {p95:?}, maximum {:?}", waits.last());
    assert!(median < HALF && p95 < NEARLY_ALL, "{when}: {waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rude_receivers_slow_nobody_else() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.reset_setting('circuit_breaker_threshold')").await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("good", json!({ "url": good.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let all = [Rude::Hangs, Rude::Trickles, Rude::Floods, Rude::TricklesBody, Rude::Resets];
    for rude in all {
        let name = format!("{rude:?}").to_lowercase();
        let timeout = RUDE_TIMEOUT.as_secs();
        let config = json!({ "url": rude_receiver(rude).await, "timeout_seconds": timeout });
        shop.endpoint(&name, config, patient()).await;
        shop.send_many(&name, 1_500).await;
    }
    shop.until("select count(*) >= 100 from postrider.attempt").await;
    let waits = waits(&shop, &good, 100).await;
    check_waits("beside rude receivers", &waits);
    // What answers with a status has accepted, however it goes on; what does not is tried again.
    shop.until(
        "select count(distinct endpoint_id) >= 3 from postrider.attempt
        where outcome = 'unknown'",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_100_000_delays_no_other_endpoint() {
    let shop = Shop::open_to_receivers().await;
    let (good, flooded) = (
        Receiver::start(Behaviour::Status(200)).unwrap(),
        Receiver::start(Behaviour::Status(200)).unwrap(),
    );
    shop.endpoint("good", json!({ "url": good.url() }), patient()).await;
    let slow = json!({ "url": flooded.url(), "rate_limit_per_second": 500 });
    shop.endpoint("flooded", slow, patient()).await;
    shop.execute(
        "select postrider.create_event_type('flood.event');
        select postrider.subscribe('flood.event', 'flooded')",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let flood = {
        let client = shop.client().await;
        tokio::spawn(async move {
            for _ in 0..9 {
                let send =
                    "select postrider.send_batch('flooded', array_fill('{}'::jsonb, array[10000]))";
                client.execute(send, &[]).await.unwrap();
            }
            for _ in 0..2 {
                let publish = "select postrider.publish_batch(jsonb_agg(
                        jsonb_build_object('event_type', 'flood.event', 'payload', '{}'::jsonb)))
                    from generate_series(1, 5000)";
                client.execute(publish, &[]).await.unwrap();
            }
        })
    };
    flooded.wait_for_accepted(1, LONG).await.unwrap();
    let during = waits(&shop, &good, 100).await;
    flood.await.unwrap();
    let after = waits(&shop, &good, 100).await;
    check_waits("after a flood", &after);
    // The senders of the flood take the processor, too.
    println!("during it: median {:?}, maximum {:?}", during[50], during.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_kept_in_memory_than_is_allowed() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let config = json!({ "url": receiver.url(), "concurrency": 1, "max_in_memory": 10,
        "timeout_seconds": 100 });
    shop.endpoint("slow", config, patient()).await;
    let dispatcher = shop.serve().await;
    shop.send_many("slow", 1_000).await;
    receiver.wait_for(1, LONG).await.unwrap();
    dispatcher.sigkill();
    dispatcher.wait(LONG).await.unwrap();
    shop.end_leases().await;
    receiver.set_behaviour(Behaviour::Status(200));
    let _other = shop.serve().await;
    receiver.wait_for_accepted(1_000, LONG).await.unwrap();
    // What was in memory has lost a retry with its dispatcher, and nothing else.
    let lost: i64 = receiver.requests().iter().filter(|r| r.attempt > 1).count() as i64;
    assert!((1..=11).contains(&lost), "{lost}");
}
