//! Who owns which shards, and what becomes of them when an owner leaves, dies or freezes.

use std::{
    collections::BTreeMap,
    os::unix::process::ExitStatusExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_core::{
    checkpoint::{Checkpoint, Claim},
    id::{Lane, MessageId, Shard, Target},
    lease::{Owned, Taken},
    position::Position,
    reader::LaneState,
    results::Results,
    snapshot::Snapshot,
    statistics::Statistics,
};
use postrider_store::{
    lease::{Heart, Lease},
    ledger::Ledger,
    log::Log,
};
use postrider_testkit::{
    process::{Dispatcher, DispatcherOptions},
    receiver::{Answer, Behaviour, Receiver},
};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Client;
use uuid::Uuid;

/// Short, and no shorter than a machine that stands still for some seconds can keep.
const LEASE: Duration = Duration::from_secs(10);
/// What a takeover may need on top of the lease, on a slow and busy machine.
const SLACK: Duration = Duration::from_secs(25);
const SHARD_COUNT: i64 = 16;

/// Who is silent is soon taken for lost.
async fn open() -> Shop {
    let shop = Shop::open_to_receivers().await;
    let seconds = LEASE.as_secs();
    shop.execute(&format!("select postrider.set_setting('stale_recovery_timeout', '{seconds}')"))
        .await;
    shop
}

/// Nobody is taken for lost, whatever the machine does beside: shards go from hand to hand.
async fn open_patiently() -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '3600')").await;
    shop
}

async fn until_it_owns_all(shop: &Shop, dispatcher: &Dispatcher) -> Duration {
    let sql = format!(
        "select count(*) = {SHARD_COUNT}
        from postrider.shard s
        join postrider.dispatcher d on d.id = s.owner
        where d.pid = {}",
        dispatcher.pid()
    );
    shop.until_within(LONG, &sql).await
}

/// Waits until the shards are spread over so many dispatchers, as evenly as can be.
async fn until_even(shop: &Shop, dispatcher_count: usize) {
    let sql = format!(
        "select count(*) = {dispatcher_count}
            and sum(o.shards) = {SHARD_COUNT}
            and max(o.shards) - min(o.shards) <= 1
        from (select count(*) as shards from postrider.shard s where s.owner is not null
            group by s.owner) o"
    );
    shop.until(&sql).await;
}

/// How often each message was requested, by the number of the attempt.
fn attempts(receiver: &Receiver) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for request in receiver.requests() {
        *counts.entry(request.attempt).or_default() += 1;
    }
    counts
}

/// Waits for acceptances; when they do not come, shows what the database knows.
async fn until_accepted(shop: &Shop, receiver: &Receiver, count: usize) {
    let Err(error) = receiver.wait_for_accepted(count, LONG).await else { return };
    let state: serde_json::Value = shop
        .ask(
            "select jsonb_build_object(
                'deferred', (
                    select jsonb_agg(d)
                    from (select * from postrider.deferred limit 5) d
                ),
                'deferred_count', (select count(*) from postrider.deferred),
                'done', (select sum(octet_length(d.offsets) / 2) from postrider.done d),
                'dead', (select count(*) from postrider.dead_letter),
                'shards', (select jsonb_agg(s) from postrider.shard s),
                'checkpoint', (
                    select c.state from postrider.checkpoint c order by c.seq desc limit 1
                ),
                'snapshot', pg_current_snapshot()::text,
                'heartbeats', (
                    select jsonb_agg(h.statistics)
                    from (select * from postrider.heartbeat order by seq desc limit 3) h
                ))",
        )
        .await;
    panic!("{error}: {state:#}");
}

const IS_SETTLED: &str = "select not exists (select from postrider.deferred)
    and not exists (
        select
        from postrider.subscriptions s
        where postrider.has_unread_messages(s.id)
    )";

#[tokio::test(flavor = "multi_thread")]
async fn dispatchers_share_the_shards_evenly() {
    let shop = open_patiently().await;
    let mut dispatchers = Vec::new();
    for count in 1..=5 {
        dispatchers.push(shop.serve().await);
        until_even(&shop, count).await;
    }
    while let Some(last) = dispatchers.pop() {
        last.sigterm();
        assert!(last.wait(LONG).await.unwrap().success());
        if !dispatchers.is_empty() {
            until_even(&shop, dispatchers.len()).await;
        }
    }
    shop.until("select bool_and(owner is null) from postrider.shard").await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.dispatcher)").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_gets_its_share_while_messages_flow() {
    let shop = open_patiently().await;
    let after = |wait| Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) };
    let receiver = Receiver::start(after(Duration::from_millis(20))).unwrap();
    shop.endpoint("busy", json!({ "url": receiver.url(), "concurrency": 8 }), json!({})).await;
    let _first = shop.serve().await;
    shop.send_many("busy", 4_000).await;
    receiver.wait_for(300, LONG).await.unwrap();
    // What is left flows for longer than the newcomer needs, and then as fast as it can.
    receiver.set_behaviour(after(Duration::from_millis(200)));
    let began = Instant::now();
    let _second = shop.serve().await;
    until_even(&shop, 2).await;
    println!("shared {:?} after the start of another", began.elapsed());
    assert!(receiver.accepted_count() < 4_000, "it was over before it was shared");
    receiver.set_behaviour(Behaviour::Status(200));
    until_accepted(&shop, &receiver, 4_000).await;
    shop.until(IS_SETTLED).await;
    assert_eq!(attempts(&receiver), BTreeMap::from([(1, 4_000)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_in_order_gives_everything_back_unused() {
    let shop = open_patiently().await;
    let wait = Duration::from_millis(20);
    let receiver =
        Receiver::start(Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) }).unwrap();
    shop.endpoint("slow", json!({ "url": receiver.url(), "concurrency": 8 }), json!({})).await;
    let (leaving, staying) = (shop.serve().await, shop.serve().await);
    until_even(&shop, 2).await;
    shop.send_many("slow", 3000).await;
    receiver.wait_for(300, LONG).await.unwrap();
    leaving.sigterm();
    let status = leaving.wait(LONG).await.unwrap();
    assert!(status.success(), "{status}: {:?}", leaving.log_lines());
    until_accepted(&shop, &receiver, 3000).await;
    shop.until(IS_SETTLED).await;
    assert_eq!(attempts(&receiver), BTreeMap::from([(1, 3000)]), "attempt: requests");
    assert!(!shop.ask::<bool>("select exists (select from postrider.dead_letter)").await);
    until_it_owns_all(&shop, &staying).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_dies_is_replaced_when_its_lease_is_over() {
    let shop = open().await;
    let wait = Duration::from_millis(20);
    let receiver =
        Receiver::start(Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) }).unwrap();
    shop.endpoint("slow", json!({ "url": receiver.url(), "concurrency": 8 }), json!({})).await;
    let (dying, staying) = (shop.serve().await, shop.serve().await);
    until_even(&shop, 2).await;
    shop.send_many("slow", 3000).await;
    receiver.wait_for(300, LONG).await.unwrap();
    dying.sigkill();
    let took = until_it_owns_all(&shop, &staying).await;
    println!("takeover {took:?} after the kill, lease {LEASE:?}");
    assert!(took < LEASE + SLACK, "{took:?}");
    until_accepted(&shop, &receiver, 3000).await;
    shop.until(IS_SETTLED).await;
    // Only what was in flight, or landed and not yet recorded, is attempted again.
    let attempts = attempts(&receiver);
    println!("requests by attempt: {attempts:?}");
    assert_eq!(attempts.keys().max(), Some(&2));
    assert!(receiver.request_count() <= 3000 + 64, "{attempts:?}");
    let taken_over =
        "select exists (select from postrider.event_log where event = 'lease.taken_over')";
    assert!(shop.ask::<bool>(taken_over).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_does_not_slow_a_takeover_down() {
    let shop = open().await;
    let (bad, good) = (
        Receiver::start(Behaviour::Hang).unwrap(),
        Receiver::start(Behaviour::Status(200)).unwrap(),
    );
    shop.endpoint("bad", json!({ "url": bad.url(), "timeout_seconds": 120 }), json!({})).await;
    shop.endpoint("good", json!({ "url": good.url() }), json!({})).await;
    let dying = shop.serve().await;
    shop.send_many("bad", 300_000).await;
    bad.wait_for(64, LONG).await.unwrap();
    let lag = "select exists (select from postrider.checkpoint c where c.state::text like '%lag%')";
    shop.until(lag).await;
    dying.sigkill();
    let killed_at = Instant::now();
    let successor = shop.serve().await;
    until_it_owns_all(&shop, &successor).await;
    let took = killed_at.elapsed();
    shop.send("good", json!({})).await;
    let sent_at = Instant::now();
    good.wait_for_accepted(1, LONG).await.unwrap();
    let waited = sent_at.elapsed();
    println!("takeover {took:?} after the kill, then a message arrives after {waited:?}");
    assert!(took < LEASE + 2 * SLACK && waited < SLACK, "{took:?}, {waited:?}");
}

/// Waits until no request is being answered.
async fn until_all_is_answered(receiver: &Receiver) {
    let began = Instant::now();
    loop {
        // The highest number since now is that of now.
        receiver.forget_peak();
        if receiver.in_flight_peak() == 0 {
            return;
        }
        assert!(began.elapsed() < LONG, "not all is answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_dispatcher_writes_nothing() {
    let shop = open().await;
    // To the first attempt the answer is a refusal for good, which comes when the dispatcher that
    // made it is frozen, on a slow machine as well; all later ones are accepted.
    let receiver = Receiver::start(Behaviour::custom(|arrival| match arrival.earlier_count {
        0 => Answer { delay: Duration::from_secs(15), ..Answer::status(400) },
        _ => Answer::status(200),
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 120 });
    shop.endpoint("hooks", config, json!({})).await;
    let zombie = shop.serve().await;
    shop.send_many("hooks", 20).await;
    receiver.wait_for(20, LONG).await.unwrap();
    zombie.sigstop();
    shop.execute("alter system set track_functions = 'pl'").await;
    shop.execute("select pg_reload_conf()").await;
    let successor = shop.serve().await;
    until_it_owns_all(&shop, &successor).await;
    until_accepted(&shop, &receiver, 20).await;
    shop.until(IS_SETTLED).await;
    until_all_is_answered(&receiver).await;
    let position = zombie.log_position();
    zombie.sigcont();
    zombie.wait_for_log_from(position, "starting over", LONG).await.unwrap();
    until_even(&shop, 2).await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.dead_letter)").await);
    let outcomes = "select array_agg(distinct outcome) from postrider.attempt";
    assert_eq!(shop.ask::<Vec<String>>(outcomes).await, ["unknown"], "those that were recovered");
    assert!(shop.ask::<bool>(IS_SETTLED).await);
    assert_eq!(attempts(&receiver), BTreeMap::from([(1, 20), (2, 20)]));
    let done = "select sum(octet_length(d.offsets) / 2)::bigint from postrider.done d";
    assert_eq!(shop.ask::<i64>(done).await, 20);

    // Both go on with what comes.
    receiver.set_behaviour(Behaviour::Status(400));
    shop.send_many("hooks", 100).await;
    shop.until("select count(*) = 100 from postrider.dead_letter").await;

    // All shards were those of one owner, whose claims were read once for them.
    let calls = format!(
        "select coalesce(sum(f.calls), 0) between 1 and {SHARD_COUNT} / 4
        from pg_stat_user_functions f
        where f.funcname = 'recover_claims'"
    );
    shop.until(&calls).await;
}

/// A dispatcher's writing connections, without a dispatcher.
async fn writer(shop: &Shop) -> (Heart, Lease, Ledger, Vec<Owned>) {
    let id = Uuid::new_v4();
    let heart = Heart::open(Arc::new(shop.client().await), id).await.unwrap();
    let lease = Lease::open(Arc::new(shop.client().await), id).await.unwrap();
    let ledger = Ledger::open(Arc::new(shop.client().await), id).await.unwrap();
    heart.register("here", 1, "0").await.unwrap();
    assert!(heart.heartbeat(&Statistics::default(), &[]).await.unwrap().is_alive);
    let taken = lease.take_shards(16, &[]).await.unwrap();
    (heart, lease, ledger, taken.iter().map(|taken| taken.owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_of_a_passed_epoch_is_refused() {
    let shop = open().await;
    let (heart, former, former_ledger, owned) = writer(&shop).await;
    assert_eq!(owned.len(), 16);
    former.unregister(former.id()).await.unwrap();
    let (_heart, successor, _, taken_over) = writer(&shop).await;
    assert_eq!(taken_over.len(), 16);
    // The one lends nothing any more, the other does.
    for (lender, Owned { shard, epoch }, loan_count) in
        [(former.id(), owned[3], 0), (successor.id(), taken_over[3], 1)]
    {
        let lend = format!(
            "select count(*) from postrider.trade_places('{lender}', array[{}::smallint], '{{{epoch}}}', '{{1}}',
                array[{}::smallint], array['{}'::uuid], '{{}}', '{{}}', '{{}}', '{{}}')",
            shard.0, shard.0, successor.id()
        );
        assert_eq!(shop.ask::<i64>(&lend).await, loan_count);
        assert_eq!(shop.ask::<i64>("select count(*) from postrider.loan").await, loan_count);
    }
    let id = MessageId(1024);
    let claim = Claim { id, target: Target(1), retry_count: 0 };
    let results = Results {
        done: vec![id],
        settled: vec![(id, Target(1))],
        expired: vec![(id, Target(1), postrider_core::id::EndpointId(1))],
        ..Results::default()
    };
    assert_eq!(former_ledger.flush(&owned, &results).await.unwrap().lost.len(), 16);
    let checkpoint = Checkpoint { lanes: Vec::new(), done_xmin: 3, backlogs: vec![0; 16] };
    assert_eq!(former.save_checkpoint(&owned, &checkpoint, false).await.unwrap().len(), 16);
    assert_eq!(former.save_claim(&owned, &[claim]).await.unwrap().len(), 16);
    assert_eq!(former.recover_messages(&owned, &[id], &[]).await.unwrap(), 0);
    assert_eq!(former.recover_claims(&owned, former.id(), &[]).await.unwrap().count, 0);
    former.release(&owned).await.unwrap();
    assert!(!heart.heartbeat(&Statistics::default(), &[]).await.unwrap().is_alive);
    assert!(former.take_shards(16, &[]).await.unwrap().is_empty());
    let nothing = "select not exists (select from postrider.done)
        and not exists (select from postrider.ended)
        and not exists (select from postrider.checkpoint)
        and not exists (select from postrider.claim)
        and not exists (select from postrider.shard s where s.owner is null)";
    assert!(shop.ask::<bool>(nothing).await);
    let gone = format!("delete from postrider.dispatcher d where d.id = '{}'", former.id());
    shop.execute(&gone).await;
    what_is_unfinished_is_looked_for_from_its_lowest_number_on(&shop, &successor, &taken_over)
        .await;
    a_takeover_waits_for_no_large_answer(&shop, &successor, &taken_over).await;
}

/// While it is not read, nobody else could write anything.
async fn a_takeover_waits_for_no_large_answer(shop: &Shop, former: &Lease, owned: &[Owned]) {
    let state = |number: u64| {
        let base = Snapshot::new(10, 10_000, (10 + number..1_000).collect()).unwrap();
        let (tail, done) = (Position::at(base.clone()), vec![Position::at(base)]);
        LaneState { tail, lag: None, done, open: None }
    };
    let lanes = owned.iter().flat_map(|owned| owned.shard.lanes());
    let lanes: Vec<(Lane, LaneState)> = lanes.zip((0..).map(state)).collect();
    let backlogs: Vec<i64> = (100..116).collect();
    let checkpoint = Checkpoint { lanes: lanes.clone(), done_xmin: 10, backlogs };
    assert_eq!(former.save_checkpoint(owned, &checkpoint, false).await.unwrap(), []);
    former.unregister(former.id()).await.unwrap();

    let (id, client) = (Uuid::new_v4(), shop.client().await);
    let begin = format!(
        "select postrider.register_dispatcher('{id}', 'here', 1, '0');
        select postrider.heartbeat('{id}', '{{}}')"
    );
    client.batch_execute(&begin).await.unwrap();
    a_dispatcher_of_the_version_before_takes_nothing(&client, id).await;
    let take = format!(
        "select count(*), sum(octet_length(t::text))::bigint
        from postrider.take_shards('{id}', 16) t"
    );
    let answer = client.query_one(&take, &[]).await.unwrap();
    let (count, bytes): (i64, i64) = (answer.get(0), answer.get(1));
    assert!(count == 16 && bytes < 4096, "{count} shards, {bytes} bytes");

    // Who has them now does not matter: it is read how they were left.
    let taken: Vec<Taken> =
        owned.iter().map(|owned| Taken { owned: *owned, last_owner: None }).collect();
    let acquired = former.acquired(&taken).await.unwrap();
    let backlogs: Vec<i64> = acquired.iter().map(|acquired| acquired.backlog).collect();
    assert_eq!(backlogs, checkpoint.backlogs);
    let left: BTreeMap<Lane, LaneState> =
        acquired.into_iter().flat_map(|acquired| acquired.lanes).collect();
    assert!(left == lanes.into_iter().collect(), "not as they were left");
}

/// Its statement is answered, where an error would end what it has in hand. Nobody owns the shards, so `take_shards`
/// takes them.
async fn a_dispatcher_of_the_version_before_takes_nothing(client: &Client, id: Uuid) {
    let former = "select * from postrider.acquire_shards($1, $2, $3, $4)";
    let none: (Vec<Uuid>, Vec<i64>) = Default::default();
    let statement = client.prepare(former).await.unwrap();
    let columns: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
    assert_eq!(columns, ["shard", "epoch", "state", "backlog", "last_owner"]);
    let rows = client.query(&statement, &[&id, &16_i32, &none.0, &none.1]).await.unwrap();
    assert_eq!(rows.len(), 0);
    let owned = format!("select count(*) from postrider.shard s where s.owner = '{id}'");
    let owned: i64 = client.query_one(&owned, &[]).await.unwrap().get(0);
    assert_eq!(owned, 0);
}

/// However long ago that was: heartbeats, of which it is known, are soon forgotten.
async fn what_is_unfinished_is_looked_for_from_its_lowest_number_on(
    shop: &Shop,
    lease: &Lease,
    owned: &[Owned],
) {
    shop.execute("select postrider.create_endpoint('hooks', 'discard', '{}')").await;
    shop.send_many("hooks", 3).await;
    let beat = format!("select is_alive from postrider.heartbeat('{}', '{{}}')", lease.id());
    assert!(shop.ask::<bool>(&beat).await);
    let done: String = shop.ask("select pg_current_xact_id()::text").await;
    let checkpoint =
        Checkpoint { lanes: Vec::new(), done_xmin: done.parse().unwrap(), backlogs: vec![0; 16] };
    assert_eq!(lease.save_checkpoint(owned, &checkpoint, false).await.unwrap(), []);
    let floor = "select postrider.pending_floor()";
    let lowest: i64 = shop.ask(floor).await;
    let newest: i64 = shop.ask("select max(m.id) from postrider.message m").await;
    assert!(lowest >= newest, "{lowest} {newest}");

    let log = Log::open(Arc::new(shop.client().await)).await.unwrap();
    let base: Snapshot = format!("{done}:{done}:").parse().unwrap();
    let lanes: Vec<Lane> = Shard(3).lanes().collect();
    let first: i64 = shop.ask("select min(h.seq) from postrider.heartbeat h").await;
    // Each slot twice: what was copied is copied once more.
    for round in 0..6 {
        assert!(shop.ask::<bool>(&beat).await);
        shop.let_a_slot_pass().await;
        shop.execute("select postrider.rotate_slots()").await;
        assert_eq!(shop.ask::<i64>(floor).await, lowest, "round {round}");
        assert_eq!(log.window(&base, &lanes).await.unwrap().after, lowest, "round {round}");
    }
    let kept = format!("select count(*) from postrider.heartbeat h where h.seq <= {first}");
    assert_eq!(shop.ask::<i64>(&kept).await, 0, "no slot was emptied");
    let copies = "select count(*) from postrider.heartbeat h
        where h.dispatcher = '00000000-0000-0000-0000-000000000000'";
    assert_eq!(shop.ask::<i64>(copies).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_no_longer_than_its_grace() {
    let shop = open_patiently().await;
    shop.execute("select postrider.set_setting('http_timeout', '60')").await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    shop.endpoint("hangs", json!({ "url": receiver.url(), "concurrency": 4 }), json!({})).await;
    let options = shop.serve_options().variable("POSTRIDER_SHUTDOWN_GRACE_SECONDS", 2);
    let stopping = Dispatcher::start(&options).unwrap();
    stopping.wait_for_log("shards acquired", LONG).await.unwrap();
    shop.send_many("hangs", 20).await;
    receiver.wait_for(4, LONG).await.unwrap();
    let pulse = Pulse::of(&shop).await;
    let began = Instant::now();
    stopping.sigterm();
    assert!(stopping.wait(LONG).await.unwrap().success());
    let took = began.elapsed();
    println!("stopped after {took:?}");
    // By default it would wait for half a minute.
    let longest = Duration::from_secs(20) + pulse.still();
    assert!(took >= Duration::from_secs(2) && took < longest, "{took:?}");

    // What was in flight has used up an attempt, what waited has not; nobody waits for a lease, which
    // would be an hour.
    receiver.set_behaviour(Behaviour::Status(200));
    receiver.clear();
    let began = Instant::now();
    let _successor = shop.serve().await;
    until_accepted(&shop, &receiver, 20).await;
    println!("everything delivered {:?} after the start of another", began.elapsed());
    assert_eq!(attempts(&receiver), BTreeMap::from([(1, 16), (2, 4)]));
    shop.until(IS_SETTLED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_refuses_a_database_that_it_does_not_fit() {
    let shop = Shop::open().await;
    shop.run(&["serve"]).fail(3, "postrider migrate");
    shop.run(&["migrate"]).succeed();
    shop.execute("update postrider.installation set fingerprint = 'another'").await;
    shop.run(&["serve"]).fail(3, "postrider migrate");
    shop.execute(
        "update postrider.migration set version = 9999
        where version = (select max(version) from postrider.migration)",
    )
    .await;
    shop.run(&["serve"]).fail(3, "9999");
    shop.run(&["serve", "--database-url", "postgres://127.0.0.1:1/shop"])
        .fail(3, "could not connect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_while_a_dispatcher_starts_is_waited_for() {
    let shop = open_patiently().await;
    let dispatcher = Dispatcher::start(&shop.serve_options()).unwrap();
    let outage = tokio::spawn({
        let client = shop.client().await;
        async move {
            let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                where application_name like 'postrider %'";
            loop {
                client.batch_execute(cut).await.unwrap();
            }
        }
    });
    dispatcher.wait_for_log("the database cannot be used yet", LONG).await.unwrap();
    outage.abort();
    until_it_owns_all(&shop, &dispatcher).await;
    dispatcher.stop(LONG).await.unwrap();
}

/// Carries connections to the server, up to the one that a tenure begins with, if only that is wanted: then
/// nobody listens any more.
async fn carry(front: TcpListener, server: u16, is_one_enough: bool) {
    loop {
        let (mut client, _) = front.accept().await.unwrap();
        let mut packet = [0; 512];
        let length = client.peek(&mut packet).await.unwrap();
        // A dispatcher's other task comes as well.
        let is_first = !String::from_utf8_lossy(&packet[..length]).contains("fleet");
        tokio::spawn(async move {
            let mut server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        });
        if is_first && is_one_enough {
            return;
        }
    }
}

/// A database behind another port, and the listener of that.
async fn behind_another_port(shop: &Shop) -> (String, TcpListener, u16) {
    // One that no connection of anybody takes while nobody listens there.
    let front = postrider_testkit::port::bind_free().unwrap();
    front.set_nonblocking(true).unwrap();
    let front = TcpListener::from_std(front).unwrap();
    let port = front.local_addr().unwrap().port();
    let url = shop.url().replace(&shop.postgres.port().to_string(), &port.to_string());
    (format!("{url}?sslmode=disable"), front, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_any_more_while_a_dispatcher_starts_is_waited_for() {
    let shop = open_patiently().await;
    let (url, front, port) = behind_another_port(&shop).await;
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    carry(front, shop.postgres.port(), true).await;
    dispatcher.wait_for_log("the database cannot be used yet", LONG).await.unwrap();
    let front = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let carrying = tokio::spawn(carry(front, shop.postgres.port(), false));
    until_it_owns_all(&shop, &dispatcher).await;
    dispatcher.stop(LONG).await.unwrap();
    carrying.abort();
}

/// What it was told is wrong, whether the server answers at once or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_database_ends_a_dispatcher_behind_an_outage_too() {
    let shop = open_patiently().await;
    let (url, front, port) = behind_another_port(&shop).await;
    let url = url.replace("/shop?", "/nowhere?");
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    // It hangs up on each of the first ones.
    let outage = tokio::spawn(async move {
        loop {
            drop(front.accept().await.unwrap());
        }
    });
    dispatcher.wait_for_log("the database cannot be used yet", LONG).await.unwrap();
    outage.abort();
    assert!(outage.await.unwrap_err().is_cancelled());
    let front = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let carrying = tokio::spawn(carry(front, shop.postgres.port(), false));
    assert_eq!(dispatcher.wait(LONG).await.unwrap().code(), Some(3));
    let log = dispatcher.log_lines().join("\n");
    assert!(log.contains("database \"nowhere\" does not exist"), "{log}");
    carrying.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_owns_the_database_can_do_everything() {
    let shop = Shop::open().await;
    shop.execute("create role plain login; alter database shop owner to plain").await;
    let url = shop.postgres.url_as("plain", "shop");
    crate::shop::run(&url, &["migrate"], "").succeed();
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    let config = json!({ "url": receiver.url() });
    shop.execute(&format!(
        "set role plain;
        select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.create_endpoint('hooks', 'http', '{config}');
        select postrider.send('hooks', '{{}}')"
    ))
    .await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select exists (select from postrider.done)").await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
}

/// Its other deliveries may have been attempted: what was spared says nothing of those.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_message_with_several_targets_only_what_was_not_attempted_is_spared() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.execute("select postrider.create_event_type('e')").await;
    for name in ["one", "two", "three"] {
        shop.endpoint(name, json!({ "url": receiver.url() }), json!({})).await;
        shop.execute(&format!("select postrider.subscribe('e', '{name}')")).await;
    }
    let (_heart, former, _, owned) = writer(&shop).await;
    let (ids, targets) = (
        "select array_agg(m.id order by m.id) from postrider.message m",
        "select array_agg(t order by t) from postrider.message m, unnest(m.targets) t where m.ordering_key is null",
    );
    shop.execute("select postrider.publish('e', '{}')").await;
    shop.execute("select postrider.publish('e', '{}', p_ordering_key => 'key')").await;
    let ids: Vec<MessageId> = shop.ask::<Vec<i64>>(ids).await.into_iter().map(MessageId).collect();
    let targets: Vec<Target> =
        shop.ask::<Vec<i32>>(targets).await.into_iter().map(Target).collect();
    let [first, second, third] = targets[..] else { panic!("{targets:?}") };
    let spared: Vec<(MessageId, Target)> = ids.iter().map(|id| (*id, second)).collect();
    former.recover_messages(&owned, &ids, &spared).await.unwrap();
    let retries = "select array_agg(d.retry_count order by d.message_id, d.target)
        from postrider.deferred d";
    assert_eq!(shop.ask::<Vec<i32>>(retries).await, [1, 0, 1, 1, 0, 1]);

    // The same of what waits and was claimed.
    let claims: Vec<Claim> = std::iter::zip([first, second, third], [1, 0, 1])
        .map(|(target, retry_count)| Claim { id: ids[0], target, retry_count })
        .collect();
    assert!(former.save_claim(&owned, &claims).await.unwrap().is_empty());
    let spared = [(ids[0], first)];
    let recovered = former.recover_claims(&owned, former.id(), &spared).await.unwrap();
    assert_eq!(recovered.count, 2);
    assert_eq!(shop.ask::<Vec<i32>>(retries).await, [1, 1, 2, 1, 0, 1]);
}

/// It is attempted after a claim only. What was before it may have ended from outside, or its dispatcher died between that
/// end and the claim.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_behind_others_of_its_key_loses_no_retry_with_its_dispatcher() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let policy = json!({ "max_retries": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let (_heart, former, _, owned) = writer(&shop).await;
    let send = "select postrider.send_with_options('hooks', '{}', p_ordering_key => 'key')";
    let first = MessageId(shop.ask(send).await);
    let second = MessageId(shop.ask(send).await);
    former.recover_messages(&owned, &[first, second], &[]).await.unwrap();
    let waiting =
        "select jsonb_agg(jsonb_build_array(d.retry_count, d.is_blocked) order by d.message_id)
        from postrider.deferred d";
    assert_eq!(shop.ask::<serde_json::Value>(waiting).await, json!([[1, false], [0, true]]));
    shop.execute(&format!("select postrider.skip_delivery({}, 'hooks', 'no')", first.0)).await;
    former.recover_messages(&owned, &[first, second], &[]).await.unwrap();
    assert_eq!(shop.ask::<serde_json::Value>(waiting).await, json!([[0, false]]));
    let attempts = format!(
        "select count(*) from postrider.attempt a where a.message_id = {} and a.outcome = 'unknown'",
        second.0
    );
    assert_eq!(shop.ask::<i64>(&attempts).await, 0);
}

/// Whoever takes a shard over names the last owner from then on, and may die before it has asked for what that one had claimed.
#[tokio::test(flavor = "multi_thread")]
async fn claims_are_recovered_however_often_a_takeover_is_cut_off() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), json!({})).await;
    let (_heart, first, _, owned) = writer(&shop).await;
    let id = MessageId(shop.ask("select postrider.send('hooks', '{}')").await);
    first.recover_messages(&owned, &[id], &[]).await.unwrap();
    let target: i32 = shop.ask("select d.target from postrider.deferred d").await;
    let claim = Claim { id, target: Target(target), retry_count: 1 };
    assert!(first.save_claim(&owned, &[claim]).await.unwrap().is_empty());
    first.unregister(first.id()).await.unwrap();
    let mut last_owner = first.id();
    for _ in 0..2 {
        let (_heart, cut_off, _, owned) = writer(&shop).await;
        assert_eq!(owned.len(), 16);
        last_owner = cut_off.id();
        cut_off.unregister(last_owner).await.unwrap();
    }
    let (_heart, last, _, owned) = writer(&shop).await;
    // Whoever has claimed nothing is not among them, however many there were.
    let owners = "select bool_and(s.unrecovered = array['{}'::uuid]) from postrider.shard s";
    assert!(shop.ask::<bool>(&owners.replace("{}", &first.id().to_string())).await);
    // Who is not the owner any more forgets nothing.
    assert_eq!(first.recover_claims(&owned, last_owner, &[]).await.unwrap().count, 0);
    assert!(shop.ask::<bool>(&owners.replace("{}", &first.id().to_string())).await);
    assert_eq!(last.recover_claims(&owned, last_owner, &[]).await.unwrap().count, 1);
    let retries = "select d.retry_count from postrider.deferred d";
    assert_eq!(shop.ask::<i32>(retries).await, 2);
    let left = "select count(*) from postrider.shard s where s.unrecovered <> '{}'";
    assert_eq!(shop.ask::<i64>(left).await, 0);
    assert_eq!(last.recover_claims(&owned, last_owner, &[]).await.unwrap().count, 0);
    last.unregister(last.id()).await.unwrap();
    what_was_claimed_in_a_shard_that_was_released_uses_up_no_retry(&shop).await;
}

/// Its owner had nothing in hand there any more. Claims are recovered for all shards together that had one last owner,
/// and those of an owner before it only where that one was lost.
async fn what_was_claimed_in_a_shard_that_was_released_uses_up_no_retry(shop: &Shop) {
    let (_heart, first, _, owned) = writer(shop).await;
    // 64 numbers in a row belong to one shard.
    shop.send_many("hooks", 65).await;
    let sent = "select array_agg(m.id order by m.id desc) from postrider.message m";
    let sent: Vec<MessageId> =
        shop.ask::<Vec<i64>>(sent).await.into_iter().map(MessageId).collect();
    let (lost, released) = (sent[0], sent[64]);
    assert_ne!(lost.lane().shard(), released.lane().shard());
    first.recover_messages(&owned, &[lost, released], &[]).await.unwrap();
    let target: i32 = shop.ask("select min(d.target) from postrider.deferred d").await;
    let claim = |id| Claim { id, target: Target(target), retry_count: 1 };
    let claims = [claim(lost), claim(released)];
    assert!(first.save_claim(&owned, &claims).await.unwrap().is_empty());
    let is_released = |owned: &&Owned| owned.shard == released.lane().shard();
    let given_up: Vec<Owned> = owned.iter().filter(is_released).copied().collect();
    first.release(&given_up).await.unwrap();
    first.unregister(first.id()).await.unwrap();
    // It dies before it has recovered anything, with a claim of its own.
    let (_heart, second, _, owned) = writer(shop).await;
    assert!(second.save_claim(&owned, &[claim(sent[1])]).await.unwrap().is_empty());
    second.unregister(second.id()).await.unwrap();

    let (_heart, third, _, owned) = writer(shop).await;
    let recovered = third.recover_claims(&owned, second.id(), &[]).await.unwrap();
    assert_eq!((recovered.count, recovered.held.len()), (1, 0));
    let retries = format!(
        "select array_agg(d.retry_count order by d.message_id) from postrider.deferred d
        where d.message_id in ({}, {})",
        released.0, lost.0
    );
    assert_eq!(shop.ask::<Vec<i32>>(&retries).await, [1, 2]);
}

/// A shard taken over has another owner from the commit on, and what the one before was attempting may have been accepted.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_owner_was_attempting_is_in_hand_until_it_is_recovered() {
    let shop = open().await;
    shop.execute("select postrider.create_endpoint('hooks', 'discard', '{}')").await;
    let (_heart, first, _, owned) = writer(&shop).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(MessageId(shop.ask("select postrider.send('hooks', '{}')").await));
    }
    first.recover_messages(&owned, &ids, &[]).await.unwrap();
    let target: i32 = shop.ask("select min(d.target) from postrider.deferred d").await;
    let claims: Vec<Claim> =
        ids.iter().map(|id| Claim { id: *id, target: Target(target), retry_count: 1 }).collect();
    assert!(first.save_claim(&owned, &claims).await.unwrap().is_empty());
    first.unregister(first.id()).await.unwrap();
    let (_heart, last, _, owned) = writer(&shop).await;
    let [told, skipped, expired] = ids[..] else { unreachable!() };
    let expire = "update postrider.deferred d set expires_at = now() - interval '1 second'";
    shop.execute(&format!("{expire} where d.message_id = {}", expired.0)).await;

    let skip = format!("select postrider.skip_delivery({}, 'hooks', 'no')", skipped.0);
    let tell = format!(
        "select jsonb_build_array(t.told_count, t.held_count)
        from postrider.tell_deliveries('skip', '{{{}}}', '{{{target}}}', 'no', null, null) t",
        told.0
    );
    let expire = "select postrider.expire_waiting(10)";
    assert_eq!(shop.refusal(&skip).await, "55006");
    assert_eq!(shop.ask::<serde_json::Value>(&tell).await, json!([0, 1]));
    assert_eq!(shop.ask::<i32>(expire).await, 0);
    assert!(!shop.ask::<bool>(&format!("select postrider.cancel_message({})", told.0)).await);

    assert_eq!(last.recover_claims(&owned, first.id(), &[]).await.unwrap().count, 3);
    assert_eq!(shop.ask::<i32>(&skip).await, 1);
    assert_eq!(shop.ask::<serde_json::Value>(&tell).await, json!([1, 0]));
    assert_eq!(shop.ask::<i32>(expire).await, 1);
}

/// What is redriven waits with the id, target and retry count of the delivery that ended.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_claimed_before_a_redrive_uses_up_no_retry_after_it() {
    let shop = open().await;
    let policy = json!({ "max_retries": 0 });
    shop.endpoint("hooks", json!({ "url": "https://example.com/" }), policy).await;
    let (_heart, first, _, owned) = writer(&shop).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(MessageId(shop.ask("select postrider.send('hooks', '{}')").await));
    }
    first.recover_messages(&owned, &ids, &[]).await.unwrap();
    let target: i32 = shop.ask("select min(d.target) from postrider.deferred d").await;
    let claim = |id: &MessageId| Claim { id: *id, target: Target(target), retry_count: 0 };
    let claims: Vec<Claim> = ids.iter().map(claim).collect();
    assert!(first.save_claim(&owned, &claims).await.unwrap().is_empty());
    let [before, after, twice] = ids[..] else { unreachable!() };
    let fail = |id: MessageId| format!("select postrider.fail_delivery({}, 'hooks', 'no')", id.0);
    let redrive = |id: MessageId| {
        format!(
            "select postrider.redrive_message(max(l.id)) from postrider.dead_letter l
            where l.message_id = {}",
            id.0
        )
    };
    for id in [before, after, twice, twice] {
        assert_eq!(shop.ask::<i32>(&fail(id)).await, 1);
        shop.execute(&redrive(id)).await;
    }
    assert!(first.save_claim(&owned, &[claim(&after)]).await.unwrap().is_empty());
    // It is in hand by the newer claim only.
    assert_eq!(shop.refusal(&fail(after)).await, "55006");
    first.unregister(first.id()).await.unwrap();
    let (_heart, last, _, owned) = writer(&shop).await;
    assert_eq!(last.recover_claims(&owned, first.id(), &[]).await.unwrap().count, 1);
    let retries = "select array_agg(d.retry_count order by d.message_id) from postrider.deferred d";
    assert_eq!(shop.ask::<Vec<i32>>(retries).await, [0, 1, 0]);
}

/// By this search xtask refuses a release build with test hooks.
#[test]
fn test_hooks_are_found_in_a_program_that_has_them() {
    let program = Path::new(env!("CARGO_BIN_EXE_postrider"));
    assert!(postrider_testkit::process::has_test_hooks(program).unwrap());
    let other = std::fs::canonicalize("/bin/sh").unwrap();
    assert!(!postrider_testkit::process::has_test_hooks(&other).unwrap());
    assert!(postrider_testkit::process::has_test_hooks(Path::new("nowhere")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_kills_its_dispatcher_ends_alone() {
    let shop = open().await;
    // Behind each death a lease is waited for.
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let policy = json!({ "max_retries": 3, "base_delay_seconds": 1 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    shop.execute(
        "select postrider.send_batch('hooks', array_agg(jsonb_build_object('n', n)
            || case when n = 30 then '{\"kind\": \"poison\"}' else '{}' end::jsonb))
        from generate_series(1, 61) n",
    )
    .await;
    let options = shop.serve_options().variable("POSTRIDER_TEST_ABORT_ON", "poison");
    let mut death_count = 0;
    let is_over = "select exists (select from postrider.dead_letter)
        and not exists (select from postrider.deferred)";
    let last = loop {
        let dispatcher = Dispatcher::start(&options).unwrap();
        tokio::select! {
            status = dispatcher.wait(LONG) => {
                assert_eq!(status.unwrap().signal(), Some(libc::SIGABRT));
                death_count += 1;
                assert!(death_count <= 10, "it does not come to an end");
                continue;
            }
            _ = shop.until_within(LONG, is_over) => {}
        }
        break dispatcher;
    };
    println!("{death_count} deaths; requests by attempt: {:?}", attempts(&receiver));
    until_accepted(&shop, &receiver, 60).await;
    shop.until(IS_SETTLED).await;
    let letters: serde_json::Value =
        shop.ask("select jsonb_agg(d) from postrider.dead_letter d").await;
    let [letter] = &letters.as_array().unwrap()[..] else { panic!("{letters}") };
    assert_eq!(letter["payload"], json!({ "n": 30, "kind": "poison" }));
    assert_eq!(letter["cause"], "stale");
    let error = letter["last_error"].as_str().unwrap();
    assert!(error.contains("Recovered from stale processing state"), "{error}");
    assert!(last.is_running());
}

/// A burst to an endpoint of its own, to which nothing was ever lent, has all of the concurrency while it lasts; never
/// may it have more than that, and one place for each dispatcher but one.
///
/// With its own part alone a dispatcher would be busy for so long that what it asks for comes meanwhile on a slow
/// machine, too. It has to be answered now and then, because what has not answered for a while gets less.
async fn check_burst(
    shop: &Shop,
    dispatchers: usize,
    (concurrency, burst): (usize, usize),
    keys: usize,
) {
    // So long that all of them begin meanwhile on a slow machine, too.
    let wait = Duration::from_millis(if concurrency > 16 { 1_000 } else { 250 });
    let receiver =
        Receiver::start(Behaviour::Delay { wait, then: Box::new(Behaviour::Status(200)) }).unwrap();
    let name = format!("of_{dispatchers}_{concurrency}_{burst}_{keys}");
    let config = json!({ "url": receiver.url(), "concurrency": concurrency });
    shop.endpoint(&name, config, json!({})).await;
    let key = if keys == 0 { "null".into() } else { format!("'key ' || n % {keys}") };
    // Without keys a run of numbers is one dispatcher's: 64 of them, from here on.
    shop.execute(&format!(
        "select setval('postrider.message_sequence', (s.last_value / 64 + 1) * 64 - 1)
        from postrider.message_sequence s;
        select max(postrider.send_with_options('{name}', '{{}}', p_ordering_key => {key}))
        from generate_series(1, {burst}) n"
    ))
    .await;
    until_accepted(shop, &receiver, burst).await;
    let peak = receiver.in_flight_peak();
    println!("{name}: {peak} at a time");
    assert!(peak >= concurrency, "{name}: {peak}, a part of the concurrency is not used");
    assert!(peak < concurrency + dispatchers, "{name}: {peak}");
    assert_eq!(attempts(&receiver), BTreeMap::from([(1, burst)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_uses_all_the_concurrency_whoever_has_it() {
    let shop = open_patiently().await;
    let mut dispatchers = Vec::new();
    for count in [1, 2, 4] {
        while dispatchers.len() < count {
            dispatchers.push(shop.serve().await);
        }
        until_even(&shop, count).await;
        // The first two are one dispatcher's alone.
        for (concurrency, burst) in [(4, 32), (16, 64), (64, 320)] {
            check_burst(&shop, count, (concurrency, burst), 0).await;
        }
        check_burst(&shop, count, (4, 64), 5).await;
        check_burst(&shop, count, (16, 100), 50).await;
        // What was borrowed is given back, and nothing is written any more.
        shop.until("select not exists (select from postrider.loan)").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_that_dies_gives_back_when_its_lease_is_over() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let config = json!({ "url": receiver.url(), "concurrency": 16 });
    shop.endpoint("hooks", config, json!({})).await;
    let mut dispatchers = vec![shop.serve().await, shop.serve().await];
    until_even(&shop, 2).await;
    // One run of numbers: all of them are one dispatcher's.
    shop.execute("select setval('postrider.message_sequence', 1023)").await;
    shop.send_many("hooks", 40).await;
    shop.until("select count(*) > 4 from postrider.loan").await;
    let sql = "select d.pid from postrider.dispatcher d
        where d.id = (select min(l.borrower::text)::uuid from postrider.loan l)";
    let pid = shop.ask::<i32>(sql).await;
    let borrower = dispatchers.iter().position(|known| known.pid() as i32 == pid).unwrap();
    let borrower = dispatchers.remove(borrower);
    borrower.sigkill();
    borrower.wait(LONG).await.unwrap();
    until_it_owns_all(&shop, &dispatchers[0]).await;
    receiver.set_behaviour(Behaviour::Status(200));
    until_accepted(&shop, &receiver, 40).await;
    shop.until("select not exists (select from postrider.loan)").await;
}
