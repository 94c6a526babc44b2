//! Pausing all endpoints at once, and resuming what was paused.

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

const CREATE: &str = "select postrider.create_endpoint(n, 'discard', '{}')
    from unnest(array['a', 'b', 'c', 'd']) n";
const PAUSED: &str = "select coalesce(array_agg(e.name order by e.name), '{}')
    from postrider.endpoints e where e.paused";

async fn paused(shop: &Shop) -> Vec<String> {
    shop.ask(PAUSED).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_paused_by_itself_stays_paused() {
    let shop = Shop::open_migrated().await;
    shop.execute(CREATE).await;
    shop.execute("select postrider.pause_endpoint('a')").await;
    let all = shop.run(&["endpoint", "pause", "--all", "--json"]).json();
    assert_eq!(all, json!({ "paused": 3, "held": [] }));
    assert_eq!(paused(&shop).await, ["a", "b", "c", "d"]);
    // One that is made now is not paused, and is added by a second call.
    shop.execute("select postrider.create_endpoint('new', 'discard', '{}')").await;
    assert_eq!(paused(&shop).await, ["a", "b", "c", "d"]);
    assert_eq!(shop.ask::<i64>("select paused_count from postrider.pause_all()").await, 1);
    // One that is paused once more is paused by itself, and so is one that was resumed in between.
    assert!(shop.ask::<bool>("select postrider.pause_endpoint('b')").await);
    assert!(!shop.ask::<bool>("select postrider.pause_endpoint('b')").await);
    shop.execute("update postrider.endpoints set paused = false where name = 'c'").await;
    assert!(shop.ask::<bool>("select postrider.pause_endpoint('c')").await);
    // Another change changes nothing of that.
    shop.execute("update postrider.endpoints set retry_policy = '{}' where name = 'd'").await;
    let all = shop.run(&["endpoint", "resume", "--all", "--json"]).json();
    assert_eq!(all, json!({ "resumed": 2, "held": [] }));
    assert_eq!(paused(&shop).await, ["a", "b", "c"]);
    assert_eq!(shop.ask::<i64>("select resumed_count from postrider.resume_all()").await, 0);

    let events: Vec<String> = shop
        .ask(
            "select array_agg(concat_ws(' ', event, endpoint_name, details ->> 'count') order by id)
            from postrider.event_log
            where event ~ '^endpoints?[.](paused|resumed)'",
        )
        .await;
    let expected = [
        "endpoint.paused a",
        "endpoint.paused b",
        "endpoint.paused c",
        "endpoint.paused d",
        "endpoints.paused 3",
        "endpoint.paused new",
        "endpoints.paused 1",
        "endpoint.paused b",
        "endpoint.resumed c",
        "endpoint.paused c",
        "endpoint.resumed d",
        "endpoint.resumed new",
        "endpoints.resumed 2",
        "endpoints.resumed 0",
    ];
    assert_eq!(events, expected);
    for wrong in [&["endpoint", "pause"][..], &["endpoint", "resume", "a", "--all"]] {
        assert_eq!(shop.run(wrong).code, 2, "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_somebody_holds_keeps_the_others_from_nothing() {
    let shop = Shop::open_migrated().await;
    shop.execute(CREATE).await;
    let holder = shop.client().await;
    let hold = "begin; update postrider.endpoints set retry_policy = '{}' where name = 'b'";
    holder.batch_execute(hold).await.unwrap();
    let row = shop.client().await;
    let row = row.query_one("select * from postrider.pause_all()", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, Vec<String>>(1)), (3, vec!["b".to_owned()]));
    assert_eq!(paused(&shop).await, ["a", "c", "d"]);
    let run = shop.run(&["endpoint", "pause", "--all"]).fail(1, "locked them: b");
    assert!(run.stdout.contains("0 endpoints are paused"), "{run:?}");
    holder.batch_execute("commit").await.unwrap();
    shop.run(&["endpoint", "pause", "--all"]).succeed();
    holder.batch_execute("begin; select postrider.pause_endpoint('c')").await.unwrap();
    let resume = "select to_jsonb(r) from postrider.resume_all() r";
    assert_eq!(shop.ask::<Value>(resume).await, json!({ "resumed_count": 3, "held": ["c"] }));
    // By then it is paused by itself.
    holder.batch_execute("commit").await.unwrap();
    assert_eq!(shop.ask::<Value>(resume).await, json!({ "resumed_count": 0, "held": [] }));
    assert_eq!(paused(&shop).await, ["c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_until_all_are_resumed() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    for name in ["a", "b"] {
        shop.quick_endpoint(name, &receiver.url()).await;
    }
    let _dispatcher = shop.serve().await;
    shop.execute("select * from postrider.pause_all()").await;
    // Dispatchers have heard of it when they have heard of what came later.
    shop.quick_endpoint("later", &receiver.url()).await;
    shop.send("later", json!({})).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.send_many("a", 20).await;
    shop.send_many("b", 20).await;
    shop.send("later", json!({})).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!(receiver.accepted_count(), 2);
    shop.execute("select * from postrider.resume_all()").await;
    receiver.wait_for_accepted(42, LONG).await.unwrap();
    assert_eq!(receiver.accepted_count(), 42);
}
