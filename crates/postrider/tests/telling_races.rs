//! Operators tell deliveries what to do while dispatchers attempt them: what was ended is not attempted
//! afterwards, and everything comes to one end.
//!
//! Nothing in hand is ended, so each request for a message arrived before it was ended, and none is let pass. For a
//! verb, that moment is when its function has returned, by the clock of this process. For a job, it is when its batch
//! committed, as the server has noted it: the times in the rows are those of the batch's beginning, and an attempt may
//! have begun and failed since.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::{
    postgres::Options,
    receiver::{Behaviour, Receiver, Request},
};
use serde_json::json;
use tokio_postgres::Client;

/// What an operator did to a message, and when that was sure to happen unless the operator took it back.
#[derive(Debug, Clone, Copy)]
struct Told {
    status: &'static str,
    at: Instant,
}

const OPERATORS: u64 = 6;
/// One of those that wait and are about to be attempted, or have just been.
const WAITING: &str = "select w.message_id
    from (
        select d.message_id
        from postrider.deferred d
        order by abs(extract(epoch from least(d.run_at, now() + interval '1 hour') - clock_timestamp()))
        limit 20
    ) w
    order by random()
    limit 1";

/// How often each message has been requested, and the newest request for it.
fn newest_requests(receiver: &Receiver) -> HashMap<i64, (usize, Request)> {
    let mut newest: HashMap<i64, (usize, Request)> = HashMap::new();
    for request in receiver.requests() {
        let Some(id) = request.id else { continue };
        let count = newest.get(&id.0).map_or(0, |(count, _)| *count);
        newest.insert(id.0, (count + 1, request));
    }
    newest
}

/// Tells deliveries something until it is over; returns what was ended.
async fn operate(client: Client, is_over: Arc<AtomicBool>, seed: u64) -> HashMap<i64, Told> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut told = HashMap::new();
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_micros(dice.u64(0..10_000))).await;
        let Some(row) = client.query_opt(WAITING, &[]).await.unwrap() else { continue };
        let id: i64 = row.get(0);
        let (call, status) = match dice.u8(..10) {
            0..3 => ("fail_delivery($1, null, 'raced')", Some("failed")),
            3..6 => ("skip_delivery($1, 'hooks', 'raced')", Some("skipped")),
            _ => ("retry_delivery($1)", None),
        };
        client.batch_execute("begin").await.unwrap();
        let answer = client.query_one(&format!("select postrider.{call}"), &[&id]).await;
        if let Err(error) = answer {
            let code = error.code().map(|code| code.code().to_owned());
            // In hand or held, or over by now.
            assert!(matches!(code.as_deref(), Some("55006" | "55000")), "{error:?}");
            client.batch_execute("rollback").await.unwrap();
            continue;
        }
        let at = Instant::now();
        if dice.u8(..20) == 0 {
            tokio::time::sleep(Duration::from_millis(dice.u64(100..600))).await;
        }
        if dice.u8(..5) == 0 {
            client.batch_execute("rollback").await.unwrap();
            continue;
        }
        client.batch_execute("commit").await.unwrap();
        if let Some(status) = status {
            assert!(told.insert(id, Told { status, at }).is_none(), "{id} was ended twice");
        }
    }
    told
}

/// Every message has come to its end.
const ENDED: &str = "select not exists (
        select
        from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        where not postrider.has_ended(m.id, t.target))";

/// Sends messages, a third of them with one of sixty ordering keys.
async fn send(shop: &Shop, endpoint: &str, count: usize) {
    let client = shop.client().await;
    let send = "select postrider.send_with_options(
        $2, '{}', p_ordering_key => case when $1 % 3 = 0 then 'key ' || $1 % 180 end)";
    let types = [tokio_postgres::types::Type::INT4, tokio_postgres::types::Type::TEXT];
    let send = client.prepare_typed(send, &types).await.unwrap();
    for number in 0..count {
        client.query_one(&send, &[&(number as i32), &endpoint]).await.unwrap();
    }
}

/// Sends messages that are refused once, with a few ordering keys, while operators are at it.
async fn race(shop: &Shop, count: usize) -> HashMap<i64, Told> {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let is_over = Arc::new(AtomicBool::new(false));
    let mut operators = Vec::new();
    for index in 0..OPERATORS {
        let client = shop.client().await;
        operators.push(tokio::spawn(operate(client, Arc::clone(&is_over), seed + index)));
    }
    send(shop, "hooks", count).await;
    shop.until(ENDED).await;
    is_over.store(true, Ordering::Relaxed);
    let mut told: HashMap<i64, Told> = HashMap::new();
    for operator in operators {
        for (id, end) in operator.await.unwrap() {
            assert!(told.insert(id, end).is_none(), "{id} was ended twice");
        }
    }
    told
}

/// Every message came to the one end that it was told, or was accepted.
async fn check(shop: &Shop, receiver: &Receiver, count: usize, told: &HashMap<i64, Told>) {
    let client = shop.client().await;
    let sql = "select m.id, s.status, coalesce(s.last_error, '')
        from postrider.message m
        cross join lateral postrider.message_status(m.id) s";
    let rows = client.query(sql, &[]).await.unwrap();
    assert_eq!(rows.len(), count);
    let mut ends: HashMap<String, usize> = HashMap::new();
    let requests = newest_requests(receiver);
    for row in rows {
        let (id, status, error): (i64, String, String) = (row.get(0), row.get(1), row.get(2));
        let request = requests.get(&id);
        match told.get(&id) {
            Some(end) => {
                assert_eq!((status.as_str(), error.ends_with("raced")), (end.status, true), "{id}");
                let is_before = request.is_none_or(|(_, newest)| newest.at <= end.at);
                assert!(is_before, "{id} was attempted after its end: {end:?}, {request:?}");
            }
            None => {
                assert_eq!(status, "completed", "{id}: {error}");
                let request_count = request.map_or(0, |(count, _)| *count);
                assert!(request_count >= 2, "{id} was refused once, and accepted");
            }
        }
        *ends.entry(status).or_default() += 1;
    }
    println!("{ends:?}");
    for status in ["completed", "failed", "skipped"] {
        assert!(ends.contains_key(status), "{ends:?}");
    }
    let letters: i64 = shop
        .ask(
            "select count(distinct message_id) from postrider.dead_letter where cause = 'operator'",
        )
        .await;
    assert_eq!(letters as usize, ends["failed"]);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.dead_letter").await, letters);
    let skipped: i64 = shop.ask("select count(*) from postrider.ended").await;
    assert_eq!(skipped as usize, ends["skipped"]);
    assert!(!shop.ask::<bool>("select exists (select from postrider.deferred)").await);
}

async fn open() -> (Arc<Shop>, Arc<Receiver>) {
    let options = Options::default().set("track_commit_timestamp", "on");
    let shop = Shop::open_to_receivers_with(options).await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    let policy =
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 1, "max_retries": 100 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    (Arc::new(shop), Arc::new(receiver))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_either_ended_or_attempted() {
    const COUNT: usize = 400;
    let (shop, receiver) = open().await;
    let _dispatchers = (shop.serve().await, shop.serve().await);
    let told = race(&shop, COUNT).await;
    check(&shop, &receiver, COUNT, &told).await;
    assert_eq!(receiver.accepted_count() + told.len(), COUNT, "nothing came twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_so_when_a_dispatcher_is_killed_as_well() {
    const COUNT: usize = 400;
    let (shop, receiver) = open().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let (killed, _staying) = (shop.serve().await, shop.serve().await);
    shop.until("select count(distinct s.owner) = 2 from postrider.shard s").await;
    let kill = async {
        receiver.wait_for(COUNT / 2, LONG).await.unwrap();
        killed.sigkill();
    };
    let (told, ()) = tokio::join!(race(&shop, COUNT), kill);
    check(&shop, &receiver, COUNT, &told).await;
}

const EACH_VERB_HAS_ENDED_SOMETHING: &str = "select count(distinct j.kind) = 3
    from postrider.job j
    where j.kind in ('fail', 'skip', 'cancel')
    and j.done_count > 0";

/// Makes jobs of one kind until it is over, one after the other. Each has ended as many as it says, and these once.
async fn operate_by_jobs(
    shop: Arc<Shop>,
    is_over: Arc<AtomicBool>,
    verb: &'static str,
) -> HashSet<i64> {
    let client = shop.client().await;
    let mut ended = HashSet::new();
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let reason = format!("{verb} {number}");
        let key = format!("key {}", number * 3 % 180);
        let (call, ends) = match verb {
            "retry" => ("retry_matching_deliveries('hooks')".to_owned(), None),
            "cancel" => (
                "cancel_endpoint_messages('withdrawn')".to_owned(),
                Some(
                    "select message_id from postrider.ended where reason = 'cancelled'".to_owned(),
                ),
            ),
            "fail" => (
                format!("fail_matching_deliveries('{reason}', 'hooks', p_ordering_key => '{key}')"),
                Some(format!(
                    "select message_id from postrider.dead_letter
                    where last_error = '[OPERATOR] {reason}'"
                )),
            ),
            _ => (
                format!("skip_matching_deliveries('{reason}', 'hooks', p_ordering_key => '{key}')"),
                Some(format!("select message_id from postrider.ended where note = '{reason}'")),
            ),
        };
        let make = format!("select job_id from postrider.{call}");
        let id: i64 = client.query_one(&make, &[]).await.unwrap().get(0);
        shop.until(&format!("select state = 'completed' from postrider.job where id = {id}")).await;
        let Some(ends) = ends else { continue };
        let count = format!("select done_count from postrider.job where id = {id}");
        let done_count: i64 = client.query_one(&count, &[]).await.unwrap().get(0);
        let mut new_count = 0;
        for row in client.query(&ends, &[]).await.unwrap() {
            // Of what jobs before it have cancelled, too, the first look counts.
            new_count += i64::from(ended.insert(row.get(0)));
        }
        assert_eq!(new_count, done_count, "{reason}: each is ended once, by one job");
    }
    ended
}

/// When each message's end was committed, by the clock that all on this machine share: of those that operators ended.
async fn committed_ends(shop: &Shop) -> HashMap<i64, SystemTime> {
    let sql = "select e.message_id, pg_xact_commit_timestamp(e.xmin) from postrider.ended e
        union all
        select l.message_id, pg_xact_commit_timestamp(l.xmin)
        from postrider.dead_letter l
        where l.cause = 'operator'";
    let rows = shop.client().await.query(sql, &[]).await.unwrap();
    let ends: HashMap<i64, SystemTime> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(ends.len(), rows.len(), "each has one end");
    ends
}

/// A dispatcher is killed while it does jobs: what they have ended is ended once and not attempted afterwards, and
/// nothing is left over.
#[tokio::test(flavor = "multi_thread")]
async fn what_jobs_end_is_not_attempted_either() {
    const COUNT: usize = 400;
    let (shop, receiver) = open().await;
    let policy =
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 1, "max_retries": 100 });
    shop.endpoint("withdrawn", json!({ "url": receiver.url() }), policy).await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let (killed, _staying) = (shop.serve().await, shop.serve().await);
    shop.until("select count(distinct s.owner) = 2 from postrider.shard s").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let operators: Vec<_> = ["retry", "fail", "skip", "cancel"]
        .into_iter()
        .map(|verb| tokio::spawn(operate_by_jobs(Arc::clone(&shop), Arc::clone(&is_over), verb)))
        .collect();
    send(&shop, "hooks", COUNT / 2).await;
    send(&shop, "withdrawn", COUNT / 4).await;
    shop.until("select coalesce(sum(j.done_count), 0) >= 20 from postrider.job j").await;
    killed.sigkill();
    send(&shop, "hooks", COUNT / 2).await;
    send(&shop, "withdrawn", COUNT / 4).await;
    let mut sent_count = COUNT + 2 * (COUNT / 4);
    // A machine that has little time for jobs gets more for them to end.
    while !shop.ask::<bool>(EACH_VERB_HAS_ENDED_SOMETHING).await {
        for endpoint in ["hooks", "withdrawn"] {
            send(&shop, endpoint, COUNT / 10).await;
            sent_count += COUNT / 10;
        }
        shop.until(&format!(
            "select ({EACH_VERB_HAS_ENDED_SOMETHING}) or count(*) < 100 from postrider.deferred"
        ))
        .await;
    }
    shop.until(ENDED).await;
    is_over.store(true, Ordering::Relaxed);
    let mut told: HashSet<i64> = HashSet::new();
    for operator in operators {
        for id in operator.await.unwrap() {
            assert!(told.insert(id), "{id} was ended twice");
        }
    }
    let ended_at = committed_ends(&shop).await;
    assert_eq!(ended_at.keys().copied().collect::<HashSet<_>>(), told);
    let requests = newest_requests(&receiver);
    let client = shop.client().await;
    let sql = "select m.id, m.endpoint_name, s.status
        from postrider.message m
        cross join lateral postrider.message_status(m.id) s";
    let mut ends: HashMap<(String, String), usize> = HashMap::new();
    for row in client.query(sql, &[]).await.unwrap() {
        let (id, endpoint, status): (i64, String, String) = (row.get(0), row.get(1), row.get(2));
        match ended_at.get(&id) {
            Some(at) => {
                let expected =
                    if endpoint == "hooks" { &["failed", "skipped"][..] } else { &["cancelled"] };
                assert!(expected.contains(&status.as_str()), "{id}: {status}");
                // What was cancelled before anybody read it has no request.
                if let Some((_, newest)) = requests.get(&id) {
                    let is_before = newest.wall_clock_at <= *at;
                    assert!(is_before, "{id} was attempted after its end at {at:?}: {newest:?}");
                }
            }
            None => assert_eq!(status, "completed", "{id}"),
        }
        *ends.entry((endpoint, status)).or_default() += 1;
    }
    println!("{ends:?}");
    assert_eq!(ends.values().sum::<usize>(), sent_count);
    for (endpoint, status) in [
        ("hooks", "completed"),
        ("hooks", "failed"),
        ("hooks", "skipped"),
        ("withdrawn", "cancelled"),
    ] {
        let end = (endpoint.to_owned(), status.to_owned());
        assert!(ends.contains_key(&end), "{ends:?}");
    }
    assert!(!shop.ask::<bool>("select exists (select from postrider.deferred)").await);
}
