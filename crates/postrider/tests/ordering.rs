//! Ordering keys, with a running dispatcher and real receivers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_testkit::receiver::{Answer, Arrival, Behaviour, Receiver, Request};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_postgres::Client;

/// What is to happen at once happens well before this, on a slow and busy machine too, while nothing stands
/// still: whoever is looked for again, or tried again, comes later.
const SOON: Duration = Duration::from_secs(4);

/// Retries at this distance.
fn every(seconds: u32) -> Value {
    json!({ "base_delay_seconds": seconds, "backoff": "fixed", "jitter": 0, "max_retries": 100 })
}

fn delayed(milliseconds: u64) -> Behaviour {
    let wait = Duration::from_millis(milliseconds);
    Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) }
}

/// Answers messages with this number, or with all, in its own way, the others with 200.
fn answering(
    status: u16,
    is_meant: impl Fn(&str, i64) -> bool + Send + Sync + 'static,
) -> Behaviour {
    Behaviour::custom(move |arrival: &Arrival<'_>| {
        let (key, number) = message_of(arrival.body);
        Answer::status(if is_meant(&key, number) { status } else { 200 })
    })
}

fn message_of(body: &[u8]) -> (String, i64) {
    let body: Value = serde_json::from_slice(body).unwrap();
    (body["k"].as_str().unwrap_or_default().to_owned(), body["n"].as_i64().unwrap())
}

/// The numbers of all requests of a key, in order of arrival.
fn numbers(receiver: &Receiver, key: &str) -> Vec<i64> {
    let of_key = |request: &Request| {
        let (of, number) = message_of(&request.body);
        (of == key).then_some(number)
    };
    receiver.with_requests(|requests| requests.iter().filter_map(of_key).collect())
}

/// The requests of one message of a key.
fn requests_of(receiver: &Receiver, key: &str, number: i64) -> Vec<Request> {
    let mut requests = receiver.requests();
    requests.retain(|request| message_of(&request.body) == (key.to_owned(), number));
    requests
}

/// Each request came after the answer to the one before.
#[track_caller]
fn assert_one_at_a_time(receivers: &[&Receiver], key: &str) {
    let mut requests: Vec<Request> = receivers.iter().flat_map(|r| r.requests()).collect();
    requests.retain(|request| message_of(&request.body).0 == key);
    requests.sort_by_key(|request| request.at);
    for two in requests.windows(2) {
        let (first, second) = (&two[0], &two[1]);
        // Of one message, all endpoints may have it at once.
        let is_apart = second.at >= first.at + first.delay || first.id == second.id;
        assert!(is_apart, "{:?} {:?}", message_of(&first.body), message_of(&second.body));
    }
}

impl Shop {
    /// Sends messages with these numbers and this key, each in a transaction of its own.
    async fn send_keyed(&self, endpoint: &str, key: &str, numbers: impl Iterator<Item = i64>) {
        let client = self.client().await;
        for number in numbers {
            client.execute(KEYED, &[&endpoint, &key, &number, &"{}"]).await.unwrap();
        }
    }

    /// Sends one with further options; its id.
    async fn send_keyed_with(&self, endpoint: &str, key: &str, number: i64, options: Value) -> i64 {
        let client = self.client().await;
        let options = options.to_string();
        client.query_one(KEYED, &[&endpoint, &key, &number, &options]).await.unwrap().get(0)
    }

    async fn publish_keyed(&self, key: &str, number: i64) {
        self.execute(&format!(
            "select postrider.publish(
                'both', jsonb_build_object('k', '{key}', 'n', {number}), p_ordering_key => '{key}')"
        ))
        .await;
    }

    async fn until_empty(&self) {
        self.until("select not exists (select from postrider.deferred)").await;
        self.until(
            "select not exists (
                select
                from postrider.subscriptions s
                where postrider.has_unread_messages(s.id)
            )",
        )
        .await;
    }
}

const KEYED: &str = "select postrider.send_with_options(
    $1, jsonb_build_object('k', $2::text, 'n', $3::bigint), p_ordering_key => nullif($2::text, ''),
    p_priority => coalesce(($4::text::jsonb ->> 'priority')::smallint, 0::smallint),
    p_scheduled_at => clock_timestamp() + ($4::text::jsonb ->> 'scheduled_in')::interval,
    p_expires_at => clock_timestamp() + ($4::text::jsonb ->> 'expires_in')::interval)";

// How fast ---------------------------------------------------------------------------------------

/// Sends requests one after the other on one connection, each when the one before is on record, until
/// it is told to stop: the round trip on this machine at this time, by the plainest means.
async fn measure_round_trip(url: String, client: Client, is_over: Arc<AtomicBool>) -> Duration {
    client.batch_execute("create table record (number bigint)").await.unwrap();
    let record = client.prepare("insert into record values ($1)").await.unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\n\r\n{{}}");
    let (began, mut count) = (Instant::now(), 0_u32);
    let mut answer = [0; 4096];
    while !is_over.load(Ordering::Relaxed) {
        stream.write_all(request.as_bytes()).await.unwrap();
        let length = stream.read(&mut answer).await.unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
        client.execute(&record, &[&i64::from(count)]).await.unwrap();
        count += 1;
    }
    began.elapsed() / count
}

/// The shortest time from an arrival to the one so many later.
fn span(receiver: &Receiver, count: usize) -> Duration {
    let of = |window: &[Request]| window[count].at - window[0].at;
    receiver.with_requests(|requests| requests.windows(count + 1).map(of).min()).unwrap()
}

/// One key gets at least 80 % of what its round trips allow, in order.
async fn check_throughput_of_one_key(waits_before: bool) {
    const COUNT: i64 = 150;
    let shop = Shop::open_to_receivers().await;
    let (receiver, other) =
        (Receiver::start(delayed(40)).unwrap(), Receiver::start(delayed(40)).unwrap());
    shop.quick_endpoint("sink", &receiver.url()).await;
    let _early = if waits_before { None } else { Some(shop.serve().await) };
    if waits_before {
        shop.send_keyed("sink", "k", 1..=COUNT).await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let measured = measure_round_trip(other.url(), shop.client().await, Arc::clone(&is_over));
    let measured = tokio::spawn(measured);
    let _late = if waits_before { Some(shop.serve().await) } else { None };
    if !waits_before {
        shop.send_keyed("sink", "k", 1..=COUNT).await;
    }
    receiver.wait_for_accepted(COUNT as usize, LONG).await.unwrap();
    is_over.store(true, Ordering::Relaxed);
    let round_trip = measured.await.unwrap();
    assert_eq!(numbers(&receiver, "k"), (1..=COUNT).collect::<Vec<_>>());
    assert_one_at_a_time(&[&receiver], "k");
    // Others use this machine, too: what counts is the best third, and the whole is not far from it.
    let share = |count: usize| (round_trip * count as u32).div_duration_f64(span(&receiver, count));
    let (best, whole) = (share(COUNT as usize / 3), share(COUNT as usize - 1));
    println!(
        "{:.0} % of a round trip of {round_trip:?}, {:.0} % at best",
        whole * 100.0,
        best * 100.0
    );
    assert!(best >= 0.8 && whole >= 0.6, "{best:.2} {whole:.2} of a round trip of {round_trip:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_as_fast_as_its_round_trips_while_messages_come() {
    check_throughput_of_one_key(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_as_fast_as_its_round_trips_when_all_have_waited() {
    check_throughput_of_one_key(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_do_not_wait_for_each_other() {
    const KEYS: i64 = 50;
    const OF_EACH: i64 = 40;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(delayed(100)).unwrap();
    shop.quick_endpoint("sink", &receiver.url()).await;
    for number in 1..=OF_EACH {
        shop.execute(&format!(
            "select count(postrider.send_with_options(
                'sink', jsonb_build_object('k', 'k' || k, 'n', {number}),
                p_ordering_key => 'k' || k))
            from generate_series(1, {KEYS}) k"
        ))
        .await;
    }
    let _dispatcher = shop.serve().await;
    receiver.wait_for_accepted((KEYS * OF_EACH) as usize, LONG).await.unwrap();
    for key in 1..=KEYS {
        assert_eq!(numbers(&receiver, &format!("k{key}")), (1..=OF_EACH).collect::<Vec<_>>());
    }
    let alone = Duration::from_millis(100) * OF_EACH as u32;
    let took = span(&receiver, (KEYS * OF_EACH) as usize - 1);
    println!("{KEYS} keys took {took:?}, one alone needs {alone:?}");
    // One key after the other would take 200 s.
    assert!(took < 10 * alone, "{took:?}, one alone needs {alone:?}");
    assert!(receiver.in_flight_peak() as i64 <= KEYS);
}

// What blocks whom -------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_delivery_blocks_its_key_at_its_endpoint_and_nothing_else() {
    let shop = Shop::open_to_receivers().await;
    let failing = Receiver::start(answering(503, |key, _| key == "stuck")).unwrap();
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("failing", json!({ "url": failing.url() }), every(1)).await;
    shop.quick_endpoint("good", &good.url()).await;
    let _dispatcher = shop.serve().await;
    shop.send_keyed("failing", "stuck", 1..=40).await;
    failing.wait_for(1, LONG).await.unwrap();
    shop.send_keyed("failing", "other", 1..=10).await;
    shop.send_keyed("failing", "", 1..=10).await;
    shop.send_keyed("good", "stuck", 1..=10).await;
    failing.wait_for_accepted(20, LONG).await.unwrap();
    good.wait_for_accepted(10, LONG).await.unwrap();
    assert!(numbers(&failing, "stuck").iter().all(|number| *number == 1));
    assert_eq!(numbers(&failing, "other"), (1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&good, "stuck"), (1..=10).collect::<Vec<_>>());
    failing.set_behaviour(Behaviour::Status(200));
    failing.wait_for_accepted(60, LONG).await.unwrap();
    let mut arrived = numbers(&failing, "stuck");
    arrived.dedup();
    assert_eq!(arrived, (1..=40).collect::<Vec<_>>());
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn priorities_do_not_overtake_within_a_key() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(delayed(2)).unwrap();
    shop.quick_endpoint("sink", &receiver.url()).await;
    for number in 1..=60 {
        let priority = json!({ "priority": number * 7 % 11 });
        shop.send_keyed_with("sink", "k", number, priority).await;
    }
    let _dispatcher = shop.serve().await;
    for number in 61..=120 {
        let priority = json!({ "priority": number * 7 % 11 });
        shop.send_keyed_with("sink", "k", number, priority).await;
    }
    receiver.wait_for_accepted(120, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "k"), (1..=120).collect::<Vec<_>>());
    assert_one_at_a_time(&[&receiver], "k");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_priority_decides_between_keys() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| Answer {
        delay: Duration::from_secs(if message_of(arrival.body).1 == 0 { 8 } else { 0 }),
        ..Answer::status(200)
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "concurrency": 1, "timeout_seconds": 100 });
    shop.endpoint("narrow", config, every(1)).await;
    let _dispatcher = shop.serve().await;
    shop.send_keyed("narrow", "first", 0..=0).await;
    receiver.wait_for(1, LONG).await.unwrap();
    for priority in 1..=10 {
        let options = json!({ "priority": priority });
        shop.send_keyed_with("narrow", &format!("k{priority}"), priority, options).await;
    }
    receiver.wait_for_accepted(11, LONG).await.unwrap();
    let mut order: Vec<i64> =
        receiver.with_requests(|all| all[1..].iter().map(|r| message_of(&r.body).1).collect());
    // One turn in eight belongs to the one that has waited longest.
    let shared = order.iter().position(|number| *number == 1).unwrap();
    assert!(shared <= 9);
    order.remove(shared);
    assert_eq!(order, (2..=10).rev().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_message_holds_back_what_is_behind_it() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("sink", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.send_keyed("sink", "k", 1..=1).await;
    let id = shop.send_keyed_with("sink", "k", 2, json!({ "scheduled_in": "8 seconds" })).await;
    shop.send_keyed("sink", "k", 3..=40).await;
    shop.send_keyed_with("sink", "k", 41, json!({ "scheduled_in": "1 second" })).await;
    shop.send_keyed("sink", "k", 42..=42).await;
    shop.send_keyed("sink", "other", 1..=1).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!((numbers(&receiver, "k"), numbers(&receiver, "other")), (vec![1], vec![1]));
    receiver.wait_for_accepted(43, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "k"), (1..=42).collect::<Vec<_>>());
    let at = format!("select scheduled_at from postrider.message where id = {id}");
    let scheduled_at: SystemTime = shop.ask(&at).await;
    let second = requests_of(&receiver, "k", 2)[0].wall_clock_at;
    let late = second.duration_since(scheduled_at).expect("not before its time");
    assert!(late < SOON + pulse.still(), "{late:?}");
    assert!(receiver.with_requests(|all| all.iter().all(|request| request.attempt == 1)));
    shop.until_empty().await;
}

// What releases a key ----------------------------------------------------------------------------

/// How long after the answer to one message the next of its key came.
fn gap(receiver: &Receiver, key: &str, first: i64, second: i64) -> Duration {
    let first = requests_of(receiver, key, first).pop().unwrap();
    let second = requests_of(receiver, key, second).swap_remove(0);
    second.at.duration_since(first.at + first.delay)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_releases_the_next_at_once() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(answering(400, |_, number| number % 2 == 1)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), every(60)).await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.send_keyed("hooks", "rejected", 1..=80).await;
    receiver.wait_for(80, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "rejected"), (1..=80).collect::<Vec<_>>());
    for number in 1..80 {
        let gap = gap(&receiver, "rejected", number, number + 1);
        assert!(gap < SOON + pulse.still(), "{number}: {gap:?}");
    }

    let exhausted = Receiver::start(answering(503, |_, number| number == 1)).unwrap();
    let policy =
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0, "max_retries": 1 });
    shop.endpoint("exhausted", json!({ "url": exhausted.url() }), policy).await;
    shop.send_keyed("exhausted", "k", 1..=3).await;
    exhausted.wait_for(4, LONG).await.unwrap();
    assert_eq!(numbers(&exhausted, "k"), [1, 1, 2, 3]);
    let gap = gap(&exhausted, "k", 1, 2);
    assert!(gap < SOON + pulse.still(), "{gap:?}");
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_message_releases_the_next_at_once() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(answering(503, |_, number| number == 1)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), every(60)).await;

    // Before anybody looked at it.
    shop.send_keyed_with("hooks", "early", 1, json!({ "expires_in": "200 milliseconds" })).await;
    shop.send_keyed("hooks", "early", 2..=3).await;
    shop.until("select bool_or(expires_at < clock_timestamp()) from postrider.message").await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "early"), [2, 3]);

    // While it waits for a retry.
    let expires = json!({ "expires_in": "5 seconds" });
    let id = shop.send_keyed_with("hooks", "retry", 1, expires).await;
    shop.send_keyed("hooks", "retry", 2..=3).await;
    receiver.wait_for_accepted(4, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "retry"), [1, 2, 3]);
    let expired_at: SystemTime =
        shop.ask(&format!("select expires_at from postrider.message where id = {id}")).await;
    let second = requests_of(&receiver, "retry", 2)[0].wall_clock_at;
    let late = second.duration_since(expired_at).expect("the first had not expired yet");
    assert!(late < SOON + pulse.still(), "{late:?}");

    // While it waits behind another one.
    shop.send_keyed("hooks", "behind", 1..=1).await;
    let id = shop.send_keyed_with("hooks", "behind", 2, json!({ "expires_in": "1 second" })).await;
    shop.send_keyed("hooks", "behind", 3..=3).await;
    shop.until(&format!(
        "select exists (select from postrider.ended where message_id = {id} and reason = 'expired')"
    ))
    .await;
    assert!(numbers(&receiver, "behind").iter().all(|number| *number == 1));
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute(
        "update postrider.deferred set run_at = clock_timestamp() where not is_blocked;
        select pg_notify('postrider', 'deferred')",
    )
    .await;
    receiver.wait_for_accepted(6, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "behind").iter().filter(|number| **number > 1).count(), 1);
    let gap = gap(&receiver, "behind", 1, 3);
    assert!(gap < SOON + pulse.still(), "{gap:?}");
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_message_releases_the_next_at_once() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(answering(503, |_, number| number == 1)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), every(1)).await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;

    // The head, while it waits for its time.
    let head = shop.send_keyed_with("hooks", "head", 2, json!({ "scheduled_in": "1 hour" })).await;
    shop.send_keyed("hooks", "head", 3..=5).await;
    shop.until("select count(*) = 4 from postrider.deferred").await;
    let cancelled_at = Instant::now();
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({head})")).await);
    receiver.wait_for_accepted(3, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "head"), [3, 4, 5]);
    let late = requests_of(&receiver, "head", 3)[0].at.duration_since(cancelled_at);
    assert!(late < SOON + pulse.still(), "{late:?}");

    // A follower, while it waits for its turn.
    shop.send_keyed("hooks", "tail", 1..=1).await;
    let follower = shop.send_keyed_with("hooks", "tail", 2, json!({})).await;
    shop.send_keyed("hooks", "tail", 3..=4).await;
    shop.until("select count(*) = 4 from postrider.deferred").await;
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({follower})")).await);
    receiver.set_behaviour(Behaviour::Status(200));
    receiver.wait_for_accepted(6, LONG).await.unwrap();
    let mut arrived = numbers(&receiver, "tail");
    arrived.dedup();
    assert_eq!(arrived, [1, 3, 4]);
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_endpoint_goes_on_in_order_when_it_is_enabled() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(answering(503, |_, number| number == 1)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    shop.send_keyed("hooks", "k", 1..=50).await;
    receiver.wait_for(1, LONG).await.unwrap();
    shop.until("select count(*) = 50 from postrider.deferred").await;
    shop.execute("select postrider.disable_endpoint('hooks')").await;
    receiver.set_behaviour(delayed(20));
    shop.execute("select postrider.enable_endpoint('hooks')").await;
    receiver.wait_for_accepted(5, LONG).await.unwrap();
    shop.execute("select postrider.disable_endpoint('hooks')").await;
    shop.execute("select postrider.enable_endpoint('hooks')").await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    let mut arrived = numbers(&receiver, "k");
    arrived.dedup();
    assert_eq!(arrived, (1..=50).collect::<Vec<_>>());
    assert_one_at_a_time(&[&receiver], "k");
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redriven_message_takes_its_turn() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| {
        let (_, number) = message_of(arrival.body);
        let is_first = number == 1 && arrival.earlier_count == 0;
        // The one behind it takes long enough for it to come back meanwhile.
        let delay = Duration::from_secs(if number == 2 { 12 } else { 0 });
        Answer { delay, ..Answer::status(if is_first { 400 } else { 200 }) }
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    shop.endpoint("hooks", config, every(1)).await;
    let _dispatcher = shop.serve().await;
    shop.send_keyed("hooks", "k", 1..=4).await;
    receiver.wait_for(2, LONG).await.unwrap();
    shop.execute("select postrider.redrive_all()").await;
    receiver.wait_for_accepted(4, LONG).await.unwrap();
    assert_eq!(numbers(&receiver, "k"), [1, 2, 1, 3, 4]);
    assert_one_at_a_time(&[&receiver], "k");
    shop.until_empty().await;
}

// Across endpoints -------------------------------------------------------------------------------

/// Two endpoints, `left` and `right`, that both get what is published as `both`.
async fn open_with_two(left: &Receiver, right: &Receiver) -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.create_event_type('both')").await;
    for (name, receiver) in [("left", left), ("right", right)] {
        shop.endpoint(name, json!({ "url": receiver.url() }), every(1)).await;
        shop.execute(&format!("select postrider.subscribe('both', '{name}')")).await;
    }
    shop
}

async fn set_scope(shop: &Shop, scope: &str) {
    shop.execute(&format!("select postrider.set_setting('ordering_scope', '{scope}')")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_global_scope_a_key_waits_across_endpoints() {
    let left = Receiver::start(delayed(15)).unwrap();
    let right = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    let shop = open_with_two(&left, &right).await;
    set_scope(&shop, "global").await;
    let _dispatcher = shop.serve().await;
    let mut expected = Vec::new();
    for number in 1..=60 {
        match number % 20 {
            5 => shop.send_keyed("right", "k", number..=number).await,
            0 => shop.publish_keyed("k", number).await,
            _ => shop.send_keyed("left", "k", number..=number).await,
        }
        if number % 20 != 5 {
            expected.push(number);
        }
    }
    left.wait_for_accepted(57, LONG).await.unwrap();
    right.wait_for_accepted(6, LONG).await.unwrap();
    assert_eq!(numbers(&left, "k"), expected);
    assert_eq!(numbers(&right, "k"), [5, 5, 20, 20, 25, 25, 40, 40, 45, 45, 60, 60]);
    // Whatever the endpoint: nothing of a message before the one before it was accepted everywhere.
    let mut all: Vec<Request> = left.requests();
    all.extend(right.requests());
    all.sort_by_key(|request| request.at);
    let order: Vec<i64> = all.iter().map(|request| message_of(&request.body).1).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_one_at_a_time(&[&left, &right], "k");
    shop.until_empty().await;
}

/// More keys than are asked for at once wait for room at a paused endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn in_the_global_scope_keys_that_wait_for_a_paused_endpoint_hold_up_no_other() {
    const WAITING: i64 = 150;
    let left = Receiver::start(Behaviour::Status(200)).unwrap();
    let first_fails = |arrival: &Arrival<'_>| {
        let is_first = message_of(arrival.body).1 == 1 && arrival.earlier_count == 0;
        Answer::status(if is_first { 503 } else { 200 })
    };
    let right = Receiver::start(Behaviour::custom(first_fails)).unwrap();
    let shop = open_with_two(&left, &right).await;
    set_scope(&shop, "global").await;
    shop.execute("select postrider.pause_endpoint('left')").await;
    let _dispatcher = shop.serve().await;
    for number in 1..=WAITING {
        shop.send_keyed("left", &format!("left {number}"), 1..=1).await;
        // Behind it something for an endpoint that works.
        shop.send_keyed("right", &format!("left {number}"), 2..=2).await;
    }
    shop.until(&format!("select count(*) = {} from postrider.deferred", 2 * WAITING)).await;
    shop.send_keyed("right", "z", 1..=100).await;
    right.wait_for_accepted(100, LONG).await.unwrap();
    let expected: Vec<i64> = std::iter::once(1).chain(1..=100).collect();
    assert_eq!(numbers(&right, "z"), expected);
    assert_eq!(left.request_count(), 0);
    // With the pause their wait ends, in order.
    shop.execute("select postrider.resume_endpoint('left')").await;
    right.wait_for_accepted(100 + WAITING as usize, LONG).await.unwrap();
    for number in 1..=WAITING {
        let key = format!("left {number}");
        assert_eq!((numbers(&left, &key), numbers(&right, &key)), (vec![1], vec![2]));
    }
    shop.until_empty().await;
}

/// Of a chain across endpoints a dispatcher that died had attempted the first only, whether it had read it
/// from the log or from the table.
#[tokio::test(flavor = "multi_thread")]
async fn in_the_global_scope_a_crash_costs_the_first_of_a_chain_a_retry_and_no_other() {
    let left = Receiver::start(Behaviour::Hang).unwrap();
    let right = Receiver::start(Behaviour::Status(200)).unwrap();
    let shop = open_with_two(&left, &right).await;
    set_scope(&shop, "global").await;
    shop.execute("update postrider.endpoints set config = config || '{\"timeout_seconds\": 300}'")
        .await;
    let mut dispatcher = shop.serve().await;
    shop.send_keyed("left", "k", 1..=2).await;
    left.wait_for(1, LONG).await.unwrap();
    shop.send_keyed("right", "k", 3..=4).await;
    shop.publish_keyed("k", 5).await;
    // All of it is in hand.
    shop.until("select count(*) = 0 from postrider.unread_messages()").await;
    for crashes in 1..=3 {
        dispatcher.sigkill();
        dispatcher.wait(LONG).await.unwrap();
        shop.end_leases().await;
        dispatcher = shop.serve().await;
        left.wait_for(crashes + 1, LONG).await.unwrap();
        shop.until("select count(*) = 6 from postrider.deferred").await;
        let counts: Vec<i32> = shop
            .ask(
                "select array_agg(retry_count order by message_id, target) from postrider.deferred",
            )
            .await;
        let crashes = i32::try_from(crashes).unwrap();
        assert_eq!(counts, [crashes, 0, 0, 0, 0, 0]);
        let charged: Vec<i64> =
            shop.ask("select array_agg(message_id) from postrider.attempt").await;
        assert_eq!(charged.len() as i32, crashes, "each with an attempt in the history");
    }
    assert_eq!(right.request_count(), 0);
    left.set_behaviour(Behaviour::Status(200));
    dispatcher.sigkill();
    dispatcher.wait(LONG).await.unwrap();
    shop.end_leases().await;
    let _last = shop.serve().await;
    left.wait_for_accepted(3, LONG).await.unwrap();
    right.wait_for_accepted(3, LONG).await.unwrap();
    assert_eq!(numbers(&right, "k"), [3, 4, 5]);
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scope_changes_while_messages_wait() {
    let stuck = || answering(503, |key, _| key == "k");
    let left = Receiver::start(stuck()).unwrap();
    let right = Receiver::start(Behaviour::Status(200)).unwrap();
    let shop = open_with_two(&left, &right).await;
    let dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.send_keyed("left", "k", 1..=40).await;
    left.wait_for(1, LONG).await.unwrap();
    shop.send_keyed("right", "k", 41..=50).await;
    right.wait_for_accepted(10, LONG).await.unwrap();

    let position = dispatcher.log_position();
    set_scope(&shop, "global").await;
    dispatcher.wait_for_log_from(position, "ordering scope changed", LONG).await.unwrap();
    shop.send_keyed("right", "k", 51..=60).await;
    shop.send_keyed("right", "other", 1..=10).await;
    right.wait_for_accepted(20, LONG).await.unwrap();
    shop.until("select count(*) = 50 from postrider.deferred").await;
    assert_eq!(numbers(&right, "k"), (41..=50).collect::<Vec<_>>());

    let position = dispatcher.log_position();
    set_scope(&shop, "endpoint").await;
    dispatcher.wait_for_log_from(position, "ordering scope changed", LONG).await.unwrap();
    let changed_at = Instant::now();
    right.wait_for_accepted(30, LONG).await.unwrap();
    assert_eq!(numbers(&right, "k"), (41..=60).collect::<Vec<_>>());
    let late = requests_of(&right, "k", 51)[0].at.duration_since(changed_at);
    assert!(late < SOON + pulse.still(), "{late:?}");

    set_scope(&shop, "global").await;
    shop.send_keyed("right", "k", 61..=70).await;
    left.set_behaviour(Behaviour::Status(200));
    left.wait_for_accepted(40, LONG).await.unwrap();
    right.wait_for_accepted(40, LONG).await.unwrap();
    let mut arrived = numbers(&left, "k");
    arrived.dedup();
    assert_eq!(arrived, (1..=40).collect::<Vec<_>>());
    assert_eq!(numbers(&right, "k"), (41..=70).collect::<Vec<_>>());
    shop.until_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scope_changes_while_messages_flow() {
    let (left, right) =
        (Receiver::start(delayed(4)).unwrap(), Receiver::start(delayed(9)).unwrap());
    let shop = open_with_two(&left, &right).await;
    let dispatcher = shop.serve().await;
    let mut number = 0;
    for scope in ["global", "endpoint", "global", "endpoint"] {
        let position = dispatcher.log_position();
        set_scope(&shop, scope).await;
        let changed = dispatcher.wait_for_log_from(position, "ordering scope changed", LONG);
        tokio::pin!(changed);
        // Messages flow before, during and after the change.
        loop {
            number += 1;
            shop.publish_keyed(&format!("k{}", number % 3), number).await;
            if is_done(&mut changed).await {
                break;
            }
        }
    }
    left.wait_for_accepted(number as usize, LONG).await.unwrap();
    right.wait_for_accepted(number as usize, LONG).await.unwrap();
    for receiver in [&left, &right] {
        assert_eq!(receiver.request_count(), number as usize);
        for key in 0..3 {
            let arrived = numbers(receiver, &format!("k{key}"));
            assert!(arrived.is_sorted(), "{arrived:?}");
        }
    }
    shop.until_empty().await;
}

/// Whether a future that has to succeed has, by now.
async fn is_done<T, E: std::fmt::Debug>(
    future: &mut (impl Future<Output = Result<T, E>> + Unpin),
) -> bool {
    match tokio::time::timeout(Duration::from_millis(10), future).await {
        Ok(result) => {
            result.unwrap();
            true
        }
        Err(_) => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_endpoint_leaves_dead_letters_and_holds_nobody_back() {
    let answer = Duration::from_millis(700);
    let failing = Behaviour::Delay { wait: answer, then: Box::new(Behaviour::Status(503)) };
    let left = Receiver::start(failing).unwrap();
    let right = Receiver::start(Behaviour::Status(200)).unwrap();
    let shop = open_with_two(&left, &right).await;
    set_scope(&shop, "global").await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.send_keyed("left", "k", 1..=40).await;
    left.wait_for(1, LONG).await.unwrap();
    shop.send_keyed("right", "k", 41..=80).await;
    shop.until("select count(*) = 80 from postrider.deferred").await;
    // Dropped while an attempt of a message that was read just now is on its way.
    shop.send_keyed("left", "fresh", 1..=3).await;
    shop.send_keyed("right", "fresh", 4..=6).await;
    while numbers(&left, "fresh").is_empty() {
        left.wait_for(left.request_count() + 1, LONG).await.unwrap();
    }
    assert_eq!(right.request_count(), 0);
    shop.execute("select postrider.drop_endpoint('left', p_force => true)").await;
    let dropped_at = Instant::now();
    right.wait_for_accepted(43, LONG).await.unwrap();
    assert_eq!(numbers(&right, "k"), (41..=80).collect::<Vec<_>>());
    assert_eq!(numbers(&right, "fresh"), [4, 5, 6]);
    for (key, number) in [("k", 41), ("fresh", 4)] {
        let late = requests_of(&right, key, number)[0].at.duration_since(dropped_at);
        assert!(late < answer + SOON + pulse.still(), "{key}: {late:?}");
    }
    shop.until("select count(*) = 43 from postrider.dead_letter").await;
    let causes: Vec<String> =
        shop.ask("select array_agg(distinct cause) from postrider.dead_letter").await;
    assert_eq!(causes, ["endpoint_dropped"]);
    shop.until_empty().await;
}

// Dispatchers that come and go -------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_and_a_second_dispatcher_keep_the_order_and_use_up_no_retries() {
    const KEYS: i64 = 20;
    const OF_EACH: i64 = 200;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(delayed(30)).unwrap();
    shop.quick_endpoint("sink", &receiver.url()).await;
    for number in 1..=OF_EACH {
        shop.execute(&format!(
            "select count(postrider.send_with_options(
                'sink', jsonb_build_object('k', 'k' || k, 'n', {number}),
                p_ordering_key => 'k' || k))
            from generate_series(1, {KEYS}) k"
        ))
        .await;
    }
    let first = shop.serve().await;
    receiver.wait_for(100, LONG).await.unwrap();
    first.sigterm();
    assert!(first.wait(LONG).await.unwrap().success());
    assert!(receiver.request_count() < (KEYS * OF_EACH) as usize);
    let second = shop.serve().await;
    let before = receiver.request_count();
    receiver.wait_for(before + 100, LONG).await.unwrap();
    let third = shop.serve().await;
    let before = receiver.request_count();
    receiver.wait_for(before + 50, LONG).await.unwrap();
    second.sigterm();
    receiver.wait_for_accepted((KEYS * OF_EACH) as usize, LONG).await.unwrap();
    assert!(second.wait(LONG).await.unwrap().success());
    shop.until_empty().await;
    drop(third);
    for key in (1..=KEYS).map(|key| format!("k{key}")) {
        assert_eq!(numbers(&receiver, &key), (1..=OF_EACH).collect::<Vec<_>>());
        assert_one_at_a_time(&[&receiver], &key);
    }
    assert!(receiver.with_requests(|all| all.iter().all(|request| request.attempt == 1)));
}
