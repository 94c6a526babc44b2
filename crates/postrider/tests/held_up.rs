//! Dispatchers that are held up: by sessions that keep rows and relations locked, by their own runtime, by a
//! lost connection. No tenure ends, others go on, and nothing comes twice.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_store::{
    bounded::{Bounded, Bounds, Then},
    connect::{Connector, DatabaseUrl},
};
use postrider_testkit::{
    process::Dispatcher,
    receiver::{Behaviour, Receiver},
};
use serde_json::json;

/// Short, and no shorter than a machine that stands still for some seconds can keep.
const LEASE: &str = "10";

async fn open() -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute(&format!("select postrider.set_setting('stale_recovery_timeout', '{LEASE}')"))
        .await;
    shop
}

/// Whoever owns shards, which changes with every tenure.
async fn owners(shop: &Shop) -> Vec<String> {
    shop.ask(
        "select array_agg(distinct s.owner::text order by s.owner::text)
        from postrider.shard s
        where s.owner is not null",
    )
    .await
}

/// Waits until the lease was renewed so often from now on.
async fn until_renewed(shop: &Shop, count: i64) {
    let seq: i64 = shop.ask("select coalesce(max(seq), 0) from postrider.heartbeat").await;
    shop.until(&format!("select count(*) >= {count} from postrider.heartbeat where seq > {seq}"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_what_chores_need_holds_nobody_else_up() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let limited = Receiver::start(Behaviour::Status(200)).unwrap();
    let gone = Receiver::start(Behaviour::Status(410)).unwrap();
    shop.endpoint("good", json!({ "url": receiver.url() }), json!({})).await;
    shop.endpoint(
        "limited",
        json!({ "url": limited.url(), "rate_limit_per_second": 1000 }),
        json!({}),
    )
    .await;
    shop.endpoint("gone", json!({ "url": gone.url() }), json!({})).await;
    shop.endpoint("dropped", json!({ "url": receiver.url() }), json!({})).await;
    let dispatcher = shop.serve().await;
    let owned = owners(&shop).await;

    let holder = shop.client().await;
    holder
        .batch_execute(
            "begin;
            update postrider.setting set value = value;
            select from postrider.circuit c join postrider.endpoints e on e.id = c.endpoint_id
            where e.name <> 'dropped' for update;
            lock table postrider.dispatcher, postrider.setting, postrider.shard
                in share row exclusive mode;
            lock table postrider.rate_grant, postrider.replay, postrider.execution
                in share row exclusive mode",
        )
        .await
        .unwrap();
    // Maintenance follows.
    shop.execute("select postrider.drop_endpoint('dropped')").await;
    shop.send_many("limited", 20).await;
    shop.send("gone", json!({})).await;
    gone.wait_for(1, LONG).await.unwrap();
    dispatcher.wait_for_log("statements wait for another session", LONG).await.unwrap();
    // For longer than a lease.
    for _ in 0..8 {
        shop.send_many("good", 5).await;
        until_renewed(&shop, 1).await;
    }
    receiver.wait_for_accepted(40, LONG).await.unwrap();
    assert_eq!(limited.request_count(), 0, "tokens were to be had");
    assert_eq!(owners(&shop).await, owned);

    holder.batch_execute("commit").await.unwrap();
    limited.wait_for_accepted(20, LONG).await.unwrap();
    assert_eq!(owners(&shop).await, owned);
    assert_eq!((receiver.request_count(), limited.request_count()), (40, 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_a_result_up_is_named_and_ends_no_tenure() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), json!({})).await;
    let dispatcher = shop.serve().await;
    let owned = owners(&shop).await;
    let holder = shop.client().await;
    holder
        .batch_execute("begin; lock table postrider.done in share row exclusive mode")
        .await
        .unwrap();
    receiver.set_behaviour(Behaviour::Status(200));
    shop.send_many("hooks", 50).await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    let line = dispatcher.wait_for_log("statements wait for another session", LONG).await.unwrap();
    assert!(line.contains("recording") && line.contains("postrider.done"), "{line}");
    until_renewed(&shop, 8).await;
    assert_eq!(owners(&shop).await, owned);
    let done = "select coalesce(sum(octet_length(d.offsets) / 2), 0)::bigint from postrider.done d";
    assert_eq!(shop.ask::<i64>(done).await, 0);
    holder.batch_execute("commit").await.unwrap();
    shop.until(&format!("select ({done}) = 50")).await;
    assert_eq!(owners(&shop).await, owned);
    assert_eq!(receiver.request_count(), 50);
}

/// They are attempted one at a time, and whoever is held is passed over.
#[tokio::test(flavor = "multi_thread")]
async fn who_holds_a_suspect_holds_no_other_suspect_up() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let policy = json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let dispatcher = shop.serve().await;
    shop.send_many("hooks", 3).await;
    shop.until("select count(*) = 3 from postrider.deferred d where d.retry_count = 1").await;
    dispatcher.stop(LONG).await.unwrap();
    // As if they had been in the hands of dispatchers that died.
    shop.execute(
        "update postrider.deferred d
        set run_at = now(),
            recovery_count = case
                when d.message_id = (select min(f.message_id) from postrider.deferred f) then 2
                else 3
            end",
    )
    .await;
    let holder = shop.client().await;
    holder
        .batch_execute(
            "begin; select from postrider.deferred d where d.recovery_count = 2 for update",
        )
        .await
        .unwrap();
    receiver.set_behaviour(Behaviour::Status(200));
    let _dispatcher = shop.serve().await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    shop.until("select count(*) = 1 from postrider.deferred d").await;
    let claimed = "select bool_or(d.message_id = any (c.message_ids))
        from postrider.claim c
        join postrider.deferred d on true";
    assert!(!shop.ask::<bool>(claimed).await, "nobody would know whether it was attempted");
    holder.batch_execute("commit").await.unwrap();
    receiver.wait_for_accepted(3, LONG).await.unwrap();
    assert_eq!(receiver.request_count(), 6);
}

/// It cannot be divided, so it gets more time than others.
#[tokio::test(flavor = "multi_thread")]
async fn one_message_that_is_too_much_for_a_statement_is_recorded() {
    let shop = open().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    // Twice what a statement gets by this lease.
    shop.execute(
        "create function be_slow() returns trigger language plpgsql as $$
        begin
            perform pg_sleep(7);
            return null;
        end $$;
        create trigger be_slow after insert on postrider.done
        for each statement execute function be_slow()",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let owned = owners(&shop).await;
    shop.send("sink", json!({})).await;
    let done = "select coalesce(sum(octet_length(d.offsets) / 2), 0) from postrider.done d";
    shop.until(&format!("select ({done}) = 1")).await;
    shop.execute("drop trigger be_slow on postrider.done").await;
    shop.send_many("sink", 20).await;
    shop.until(&format!("select ({done}) = 21")).await;
    assert_eq!(owners(&shop).await, owned);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_has_more_time_until_it_succeeds() {
    let shop = Shop::open().await;
    let connector = Connector::new(&DatabaseUrl::new(shop.url()), None, "test").unwrap();
    let client = connector.connect().await.unwrap().client;
    let bounds = Bounds { statement: Duration::from_secs(2), lock: Duration::from_secs(1) };
    let bounded = Bounded::new(client, connector, "test", Then::Later, bounds).await.unwrap();
    let bound = async || {
        let sql = "select current_setting('statement_timeout')";
        bounded.query_one(sql, &[]).await.unwrap().get::<_, String>(0)
    };
    let sleep = "select pg_sleep(3)";
    assert!(bounded.query_one(sleep, &[]).await.is_err(), "it takes too long");
    assert_eq!(bound().await, "4s", "another one succeeds meanwhile");
    while bounded.query_one(sleep, &[]).await.is_err() {}
    assert_eq!(bound().await, "2s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_of_the_lease_alone_ends_no_tenure() {
    let shop = open().await;
    let dispatcher = shop.serve().await;
    let owned = owners(&shop).await;
    for _ in 0..2 {
        let ended: i64 = shop
            .ask(
                "select count(pg_terminate_backend(a.pid, 10000))
                from pg_stat_activity a
                where a.query like '%postrider.heartbeat(%' and a.pid <> pg_backend_pid()",
            )
            .await;
        assert_eq!(ended, 1);
        until_renewed(&shop, 3).await;
    }
    assert_eq!(owners(&shop).await, owned);
    assert!(dispatcher.is_running());
}

/// A dispatcher whose tasks all stand still for so long when it is about to attempt `{"stall": 1}`.
async fn stalling(shop: &Shop, seconds: u32) -> Dispatcher {
    let hook = format!("stall={seconds}");
    let options = shop.serve_options().variable("POSTRIDER_TEST_STALL_ON", hook);
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    dispatcher
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_runtime_keeps_its_lease() {
    let shop = open().await;
    let wait = Duration::from_secs(2);
    let receiver =
        Receiver::start(Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) }).unwrap();
    // Its answers are read when the stall is over.
    let config = json!({ "url": receiver.url(), "timeout_seconds": 120 });
    shop.endpoint("slow", config.clone(), json!({})).await;
    shop.endpoint("stalls", config, json!({})).await;
    // Longer than a lease, and not three of them.
    let _stalling = stalling(&shop, 18).await;
    shop.send_many("slow", 10).await;
    receiver.wait_for(10, LONG).await.unwrap();
    let owned = owners(&shop).await;
    shop.send("stalls", json!({ "stall": 1 })).await;
    // Takes over what it may.
    let _successor = Dispatcher::start(&shop.serve_options()).unwrap();
    receiver.wait_for_accepted(11, LONG).await.unwrap();
    until_renewed(&shop, 8).await;
    let taken_over =
        "select exists (select from postrider.event_log where event = 'lease.taken_over')";
    assert!(!shop.ask::<bool>(taken_over).await);
    assert!(owners(&shop).await.contains(&owned[0]));
    assert_eq!(receiver.request_count(), 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_that_hangs_for_good_loses_its_lease() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("stalls", json!({ "url": receiver.url() }), json!({})).await;
    let hanging = stalling(&shop, 600).await;
    let owned = owners(&shop).await;
    shop.send("stalls", json!({ "stall": 1 })).await;
    hanging.wait_for_log("the dispatcher hangs", LONG).await.unwrap();
    let _successor = shop.serve().await;
    shop.until(&format!(
        "select count(*) = 0 from postrider.shard s where s.owner is null or s.owner = '{}'",
        owned[0]
    ))
    .await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
}
