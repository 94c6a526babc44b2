//! Who is attempted first, with a running dispatcher and an endpoint that has more than it can take.

use std::time::{Duration, Instant};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Answer, Behaviour, Keep, Receiver, Request};
use serde_json::json;
use tokio::sync::mpsc;

/// How many others may be attempted between the commit of an urgent message and its attempt: as many as the
/// endpoint takes in a few seconds. Behind the backlog it would be nearly all of it.
const MOST_BEFORE: usize = 12_000;

/// How many messages wait for the endpoint; a million in the full form.
fn backlog() -> usize {
    match std::env::var_os("POSTRIDER_TEST_FULL") {
        Some(_) => 1_000_000,
        None => 100_000,
    }
}

/// A receiver that answers late, and the priorities of what arrives there, as far as they are in the
/// payload.
fn slow_receiver(wait: Duration) -> (Receiver, mpsc::UnboundedReceiver<(i64, Instant)>) {
    let (sender, arrivals) = mpsc::unbounded_channel();
    let behaviour = Behaviour::custom(move |arrival| {
        let number = arrival.body.strip_prefix(b"{\"priority\": ");
        let number = number.and_then(|rest| str::from_utf8(rest.strip_suffix(b"}")?).ok());
        if let Some(priority) = number.and_then(|number| number.parse().ok()) {
            // A test that has what it wants does not listen any more.
            let _ = sender.send((priority, Instant::now()));
        }
        Answer { delay: wait, ..Answer::status(200) }
    });
    (Receiver::start_with(behaviour, Keep::default()).unwrap(), arrivals)
}

async fn next(arrivals: &mut mpsc::UnboundedReceiver<(i64, Instant)>) -> (i64, Instant) {
    tokio::time::timeout(LONG, arrivals.recv()).await.expect("it arrives").unwrap()
}

fn send_with_priority(priority: i64, count: usize) -> String {
    format!(
        "select postrider.send_batch_with_priority(
            'slow', array_agg('{{\"priority\": {priority}}}'::jsonb), {priority}::smallint)
        from generate_series(1, {count})"
    )
}

async fn open(url: &str, concurrency: Option<usize>) -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('max_queue_size', '0')").await;
    let mut config = json!({ "url": url });
    if let Some(concurrency) = concurrency {
        config["concurrency"] = concurrency.into();
    }
    shop.endpoint("slow", config, json!({})).await;
    shop
}

/// With a backlog under way, urgent messages are attempted soon after their commit.
async fn check_overtaking(shop: &Shop, receiver: &Receiver, arrivals: &mut Arrivals, label: &str) {
    let client = shop.client().await;
    // Not all at the same moment of the backlog: while it is read, and when that has come far.
    for round in 0..3 {
        for priority in [10, 5, 1, 10] {
            client.batch_execute(&send_with_priority(priority, 1)).await.unwrap();
            let committed_at = Instant::now();
            let (arrived, at) = next(arrivals).await;
            assert_eq!(arrived, priority);
            let wait = at.saturating_duration_since(committed_at);
            let is_before = |request: &&Request| (committed_at..at).contains(&request.at);
            let before = receiver.with_requests(|all| all.iter().filter(is_before).count());
            let said = format!("priority {priority} after {wait:?}, behind {before} others");
            println!("{label}, round {round}: {said}");
            assert!(before < MOST_BEFORE, "{label}, round {round}: {said}");
        }
        receiver.wait_for(receiver.request_count() + 1_000, LONG).await.unwrap();
    }
    assert!(receiver.accepted_count() < backlog(), "the backlog was over before the end");
}

type Arrivals = mpsc::UnboundedReceiver<(i64, Instant)>;

#[tokio::test(flavor = "multi_thread")]
async fn an_urgent_message_overtakes_a_backlog() {
    let (receiver, mut arrivals) = slow_receiver(Duration::from_millis(20));
    let shop = open(&receiver.url(), None).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("slow", backlog()).await;
    receiver.wait_for(64, LONG).await.unwrap();
    check_overtaking(&shop, &receiver, &mut arrivals, "sent under way").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_urgent_message_overtakes_a_backlog_from_before_the_start() {
    let (receiver, mut arrivals) = slow_receiver(Duration::from_millis(20));
    let shop = open(&receiver.url(), None).await;
    shop.send_many("slow", backlog()).await;
    shop.execute(&send_with_priority(10, 1)).await;
    let options = shop.serve_options().argument("--max-buffered-messages").argument("64");
    let dispatcher = postrider_testkit::process::Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    let began = Instant::now();
    let (priority, at) = next(&mut arrivals).await;
    assert_eq!(priority, 10);
    let before = receiver.with_requests(|requests| requests.iter().filter(|r| r.at < at).count());
    let wait = at.saturating_duration_since(began);
    println!("the urgent one comes {wait:?} after the start, behind {before} others");
    assert!(before <= 2_000, "{before}");
    check_overtaking(&shop, &receiver, &mut arrivals, "sent before the start").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_priorities_go_in_the_order_of_the_log() {
    let (receiver, _) = slow_receiver(Duration::ZERO);
    let shop = open(&receiver.url(), Some(1)).await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    let mut sent: Vec<i64> = Vec::new();
    for round in 0..200 {
        let send = format!(
            "select postrider.send_with_options('slow', '{{}}', p_priority => {}::smallint)",
            round / 100
        );
        sent.push(client.query_one(&send, &[]).await.unwrap().get(0));
    }
    receiver.wait_for_accepted(200, LONG).await.unwrap();
    let arrived: Vec<i64> = receiver.requests().iter().map(|r| r.id.unwrap().0).collect();
    let of = |ids: &[i64], priority| -> Vec<i64> {
        ids.iter().filter(|id| **id & 15 == priority).copied().collect()
    };
    for priority in [0, 1] {
        assert_eq!(of(&arrived, priority), of(&sent, priority), "priority {priority}");
    }
}

/// Priority 10 is sent faster than the endpoint takes it: of eight turns, one is left to priority 0.
async fn check_share(arguments: &[&str], shares: std::ops::Range<f64>) {
    let (receiver, mut arrivals) = slow_receiver(Duration::from_millis(10));
    let shop = open(&receiver.url(), Some(8)).await;
    let mut options = shop.serve_options();
    for argument in arguments {
        options = options.argument(*argument);
    }
    let dispatcher = postrider_testkit::process::Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    let client = shop.client().await;
    client.batch_execute(&send_with_priority(10, 6_000)).await.unwrap();
    next(&mut arrivals).await;
    client.batch_execute(&send_with_priority(0, 400)).await.unwrap();
    let (mut urgent, mut common, mut ahead) = (0_usize, 0_usize, 6_000_usize);
    // What arrives between the first and the last of the common ones.
    let mut urgent_between = 0;
    while common < 300 {
        let (priority, _) = next(&mut arrivals).await;
        if priority == 0 {
            common += 1;
            urgent_between = urgent;
            continue;
        }
        urgent += usize::from(common > 0);
        ahead -= 1;
        // Long before the endpoint has taken them all, however long sending takes.
        if ahead < 5_000 {
            client.batch_execute(&send_with_priority(10, 1_000)).await.unwrap();
            ahead += 1_000;
        }
    }
    let share = common as f64 / (common + urgent_between) as f64;
    println!("{arguments:?}: {common} common beside {urgent_between} urgent: {share:.3}");
    assert!(shares.contains(&share), "{share}");
}

#[tokio::test(flavor = "multi_thread")]
async fn low_priorities_are_slowed_down_and_never_stopped() {
    check_share(&[], 0.04..0.25).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn low_priorities_are_not_stopped_with_little_memory_either() {
    // What is in memory is so little that the reading of both counts for more: seven in a hundred were seen on
    // a quiet machine, sixteen on a busy one.
    check_share(&["--max-buffered-messages", "64"], 0.03..0.50).await;
}
