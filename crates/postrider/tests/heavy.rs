//! Payloads that are in memory only while they are sent: nobody has all the room for them, and what waits for room
//! waits as everything else does.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Answer, Arrival, Behaviour, Receiver, Request};
use serde_json::json;

/// All of these together have no room in memory.
const HEAVY: usize = 100;
const HEAVY_BYTES: usize = 1_040_000;

/// An endpoint that can take much at once.
async fn patient(shop: &Shop, name: &str, receiver: &Receiver) {
    let config = json!({ "url": receiver.url(), "concurrency": 1024, "timeout_seconds": 300 });
    shop.endpoint(name, config, json!({})).await;
}

/// Sends so many messages that are heavy.
async fn send_heavy(shop: &Shop, name: &str, count: usize) {
    shop.execute(&format!(
        "select postrider.send_batch('{name}', array_agg(
            jsonb_build_object('n', n, 'text', repeat('x', {HEAVY_BYTES}))))
        from generate_series(1, {count}) n"
    ))
    .await;
}

/// An endpoint that can take much at once, and has shown that it works.
async fn trusted(shop: &Shop, name: &str, receiver: &Receiver) {
    patient(shop, name, receiver).await;
    shop.send(name, json!({ "n": 0 })).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
}

/// Answers what is heavy in its own way, and the rest at once.
fn slow(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Behaviour {
    Behaviour::custom(move |arrival: &Arrival<'_>| match arrival.body.len() > HEAVY_BYTES / 2 {
        true => answer(),
        false => Answer::status(200),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_slow_with_large_payloads_holds_up_no_other() {
    let shop = Shop::open_to_receivers().await;
    let slow = Receiver::start(slow(Answer::default)).unwrap();
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let late = Receiver::start(Behaviour::Status(200)).unwrap();
    let _dispatcher = shop.serve().await;
    trusted(&shop, "slow", &slow).await;
    trusted(&shop, "good", &good).await;
    send_heavy(&shop, "slow", HEAVY).await;
    // Not all of them have room; those that have get no answer.
    slow.wait_for(12, LONG).await.unwrap();
    shop.execute(
        "select postrider.send_batch('good', array_agg(
            jsonb_build_object('n', n, 'text', repeat('x', 100 * n))))
        from generate_series(1, 200) n",
    )
    .await;
    good.wait_for_accepted(201, LONG).await.unwrap();
    // So has one that comes now, with as large a payload.
    trusted(&shop, "late", &late).await;
    send_heavy(&shop, "late", 1).await;
    late.wait_for_accepted(2, LONG).await.unwrap();
    assert!(slow.request_count() <= 1 + HEAVY / 2, "{} at once", slow.request_count());
}

/// Each of them alone leaves some room, all together would leave none.
#[tokio::test(flavor = "multi_thread")]
async fn endpoints_that_hang_with_large_payloads_leave_room_to_those_that_work() {
    const HANGING: usize = 20;
    let shop = Shop::open_to_receivers().await;
    let hanging = Receiver::start(slow(Answer::default)).unwrap();
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let _dispatcher = shop.serve().await;
    trusted(&shop, "good", &good).await;
    for number in 0..HANGING {
        patient(&shop, &format!("hanging-{number}"), &hanging).await;
    }
    for number in 0..HANGING {
        send_heavy(&shop, &format!("hanging-{number}"), 10).await;
    }
    // As many as have room in theirs.
    hanging.wait_for(10, LONG).await.unwrap();
    send_heavy(&shop, "good", HEAVY).await;
    good.wait_for_accepted(1 + HEAVY, LONG).await.unwrap();
    // What finds no room lets pass what needs none, or less.
    let new = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("new", &new.url()).await;
    send_heavy(&shop, "new", 1).await;
    shop.execute(
        "select postrider.send('new', jsonb_build_object('n', 2));
        select postrider.send('new', jsonb_build_object('n', 3, 'text', repeat('x', 9000)))",
    )
    .await;
    new.wait_for_accepted(3, LONG).await.unwrap();
    let count = hanging.request_count();
    assert!(count < HANGING * 10, "all of them had room");
    assert_eq!(hanging.accepted_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expires_while_it_waits_for_room_is_not_attempted() {
    // Long enough for a dozen to go, and over when the first answers come.
    const LIFE: Duration = Duration::from_secs(18);
    const ANSWER: Duration = Duration::from_secs(26);
    let shop = Shop::open_to_receivers().await;
    let late = || Answer { delay: ANSWER, ..Answer::status(200) };
    let receiver = Receiver::start(slow(late)).unwrap();
    let _dispatcher = shop.serve().await;
    trusted(&shop, "slow", &receiver).await;
    shop.execute(&format!(
        "select postrider.send_with_options(
            'slow', jsonb_build_object('n', n, 'text', repeat('x', {HEAVY_BYTES})),
            p_expires_at => clock_timestamp() + interval '{} s')
        from generate_series(1, {HEAVY}) n",
        LIFE.as_secs()
    ))
    .await;
    receiver.wait_for_accepted(12, LONG).await.unwrap();
    shop.until(&format!(
        "select count(*) = 1 + {HEAVY} from postrider.archive where endpoint_name = 'slow'"
    ))
    .await;
    let requests: Vec<Request> = receiver.requests();
    let first_answer =
        requests[1..].iter().map(|request| request.at + request.delay).min().unwrap();
    let after = requests[1..].iter().filter(|request| request.at >= first_answer).count();
    assert_eq!(after, 0, "attempted although they had expired");
    let expired: i64 =
        shop.ask("select count(*) from postrider.archive where status = 'expired'").await;
    assert_eq!(usize::try_from(expired).unwrap() + requests.len(), 1 + HEAVY);
    assert!(expired > 0);
}

/// No share of the room is enough for it: it goes alone, and waits for nobody but another one like it.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_is_larger_than_any_share_goes_alone() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('max_payload_size', '67108864')").await;
    let slow = Receiver::start(slow(Answer::default)).unwrap();
    let big = Receiver::start(Behaviour::Status(200)).unwrap();
    let _dispatcher = shop.serve().await;
    trusted(&shop, "slow", &slow).await;
    trusted(&shop, "big", &big).await;
    send_heavy(&shop, "slow", HEAVY).await;
    slow.wait_for(12, LONG).await.unwrap();
    for count in 2..=4 {
        shop.execute(
            "select postrider.send('big', jsonb_build_object('text', repeat('x', 40000000)))",
        )
        .await;
        big.wait_for_accepted(count, LONG).await.unwrap();
    }
    assert_eq!(slow.accepted_count(), 1);
}
