//! Messages that are taken back while a dispatcher runs: either it is cancelled, or it arrives.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio::sync::Mutex;

async fn cancel(shop: &Shop, id: i64) -> bool {
    shop.ask(&format!("select postrider.cancel_message({id})")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_can_be_cancelled_and_what_is_under_way_cannot() {
    let shop = Shop::open_to_receivers().await;
    let hanging = Receiver::start(Behaviour::Hang).unwrap();
    let config = json!({ "url": hanging.url(), "concurrency": 1, "timeout_seconds": 300 });
    shop.endpoint("full", config, json!({})).await;
    let early = shop.send("full", json!({ "n": 0 })).await;
    assert!(cancel(&shop, early).await, "nobody has read it");
    assert!(!cancel(&shop, early).await, "it is cancelled already");
    let _dispatcher = shop.serve().await;
    let under_way = shop.send("full", json!({ "n": 1 })).await;
    hanging.wait_for(1, LONG).await.unwrap();
    assert!(!cancel(&shop, under_way).await, "it is being attempted");
    let later = "select postrider.send_with_options(
        'full', '{}', p_scheduled_at => clock_timestamp() + interval '1 hour')";
    let scheduled: i64 = shop.ask(later).await;
    shop.until("select exists (select from postrider.deferred)").await;
    assert!(cancel(&shop, scheduled).await, "it is not due");
    // Some of a long backlog are in the log still, because the endpoint has no room for them.
    shop.send_many("full", 20_000).await;
    let lag = "select exists (select from postrider.checkpoint c where c.state::text like '%lag%')";
    shop.until(lag).await;
    let last: i64 = shop.ask("select max(id) from postrider.message").await;
    assert!(cancel(&shop, last).await, "it was left in the log");
    let ended: Vec<i64> = shop
        .ask(
            "select array_agg(message_id order by message_id)
            from postrider.ended
            where reason = 'cancelled'",
        )
        .await;
    assert_eq!(ended, [early, scheduled, last]);
    assert_eq!(hanging.requests().iter().map(|r| r.id.unwrap().0).collect::<Vec<_>>(), [under_way]);
    assert!(!cancel(&shop, under_way).await);
}

/// What became of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Cancelled,
    Refused,
    RolledBack,
}

/// Sends messages while others cancel them; returns what became of each cancellation.
async fn race(shop: &Arc<Shop>, count: usize, seed: u64) -> HashMap<i64, Fate> {
    const CANCELLERS: usize = 6;
    let (sender, ids) = tokio::sync::mpsc::channel::<i64>(1);
    let ids = Arc::new(Mutex::new(ids));
    let cancellers: Vec<_> = (0..CANCELLERS)
        .map(|index| {
            let (shop, ids) = (Arc::clone(shop), Arc::clone(&ids));
            tokio::spawn(async move {
                let mut dice = fastrand::Rng::with_seed(seed + index as u64);
                let client = shop.client().await;
                let cancel = client.prepare("select postrider.cancel_message($1)").await.unwrap();
                let mut fates = HashMap::new();
                loop {
                    let next = ids.lock().await.recv().await;
                    let Some(id) = next else { return fates };
                    // Spread over the way from the commit to the attempt.
                    tokio::time::sleep(Duration::from_micros(dice.u64(0..20_000))).await;
                    client.batch_execute("begin").await.unwrap();
                    let is_cancelled: bool =
                        client.query_one(&cancel, &[&id]).await.unwrap().get(0);
                    if dice.u8(..50) == 0 {
                        let open = Duration::from_millis(dice.u64(100..600));
                        tokio::time::sleep(open).await;
                    }
                    let is_kept = dice.u8(..5) > 0;
                    client
                        .batch_execute(if is_kept { "commit" } else { "rollback" })
                        .await
                        .unwrap();
                    let fate = match (is_cancelled, is_kept) {
                        (false, _) => Fate::Refused,
                        (true, false) => Fate::RolledBack,
                        (true, true) => Fate::Cancelled,
                    };
                    fates.insert(id, fate);
                }
            })
        })
        .collect();
    let client = shop.client().await;
    let now = client.prepare("select postrider.send('hooks', '{}')").await.unwrap();
    let later = client
        .prepare(
            "select postrider.send_with_options(
                'hooks', '{}', p_scheduled_at => clock_timestamp() + interval '15 milliseconds')",
        )
        .await
        .unwrap();
    for number in 0..count {
        let statement = if number % 4 == 0 { &later } else { &now };
        let id: i64 = client.query_one(statement, &[]).await.unwrap().get(0);
        sender.send(id).await.unwrap();
    }
    drop(sender);
    let mut fates = HashMap::new();
    for canceller in cancellers {
        fates.extend(canceller.await.unwrap());
    }
    assert_eq!(fates.len(), count);
    fates
}

/// What was cancelled never arrived, everything else did.
async fn check_race(shop: &Shop, receiver: &Receiver, fates: &HashMap<i64, Fate>) {
    let with = |wanted: Fate| -> HashSet<i64> {
        fates.iter().filter(|(_, fate)| **fate == wanted).map(|(id, _)| *id).collect()
    };
    let cancelled = with(Fate::Cancelled);
    println!(
        "{} cancelled, {} refused, {} rolled back",
        cancelled.len(),
        with(Fate::Refused).len(),
        with(Fate::RolledBack).len()
    );
    let arrived = || -> HashSet<i64> { receiver.distinct_ids().iter().map(|id| id.0).collect() };
    if receiver.wait_for_accepted(fates.len() - cancelled.len(), LONG).await.is_err() {
        let lost: Vec<_> = fates
            .iter()
            .filter(|(id, fate)| **fate != Fate::Cancelled && !arrived().contains(id))
            .collect();
        panic!("lost: {lost:?}");
    }
    // One sent afterwards shows that everything before it was read.
    shop.send("hooks", json!({})).await;
    receiver.wait_for_accepted(fates.len() - cancelled.len() + 1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    shop.until("select not exists (select from postrider.cancellation)").await;
    let both: Vec<i64> = arrived().intersection(&cancelled).copied().collect();
    assert!(both.is_empty(), "cancelled, and attempted all the same: {both:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_either_cancelled_or_attempted() {
    let shop = Arc::new(Shop::open_to_receivers().await);
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let fates = race(&shop, 2_000, seed).await;
    check_race(&shop, &receiver, &fates).await;
    assert_eq!(receiver.request_count(), receiver.accepted_count(), "nothing came twice");
    assert!(fates.values().any(|fate| *fate == Fate::Cancelled));
    assert!(fates.values().any(|fate| *fate == Fate::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_so_when_a_dispatcher_is_killed_as_well() {
    let shop = Arc::new(Shop::open_to_receivers().await);
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let (killed, _staying) = (shop.serve().await, shop.serve().await);
    shop.until("select count(distinct s.owner) = 2 from postrider.shard s").await;
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let kill = async {
        receiver.wait_for_accepted(200, LONG).await.unwrap();
        killed.sigkill();
        killed.wait(LONG).await.unwrap();
        shop.recorded(&receiver).await
    };
    let (fates, recorded) = tokio::join!(race(&shop, 1_500, seed), kill);
    check_race(&shop, &receiver, &fates).await;
    let doubled = receiver.request_count() - receiver.accepted_count();
    println!("{doubled} came twice");
    // Only what was in hand at the kill comes once more.
    assert!(!recorded.ids.is_empty());
    recorded.check_not_again(&receiver);
}
