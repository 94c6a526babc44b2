//! A month ends while messages are sent, delivered and read, and then the clock is set back over that end: nothing is
//! lost, a consumer gets nothing twice, and every row lies in the partition of its time.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::shop::{Shop, consuming::drain, serving::LONG};
use postrider_testkit::{
    postgres::{Options, clock::MovableClock},
    receiver::{Behaviour, Receiver},
};
use tokio_postgres::{Client, NoTls};

/// How many seconds before the end of the month the server starts for the last time; longer on a machine where that
/// takes longer.
const BEFORE: i64 = 10;
const DAY: i64 = 86_400;

fn date(arguments: &[&str]) -> String {
    let output = Command::new("date").arg("-u").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// When the present month began: the timeouts of a server do not work in the future (see MovableClock).
fn month_begin() -> i64 {
    date(&["-d", &date(&["+%Y-%m-01T00:00:00Z"]), "+%s"]).parse().unwrap()
}

/// How far the clock has to be set to show this moment now.
fn offset_to(moment: i64) -> i64 {
    moment - SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Sends without pause, with ordering keys of its own, and again when the server is back; returns the ids that were
/// committed for certain.
async fn write(
    writer: usize,
    url: String,
    is_over: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
) -> Vec<i64> {
    let mut ids = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let connection = tokio::spawn(connection);
        while !is_over.load(Ordering::Relaxed) {
            let number = ids.len();
            // With those of another it may overlap, and then neither is before the other.
            let key = number.is_multiple_of(3).then(|| format!("key {writer}-{}", number % 10));
            let send = "select postrider.send_with_options('good', '{}', p_ordering_key => $1)";
            let Ok(row) = client.query_one(send, &[&key]).await else { break };
            ids.push(row.get(0));
            sent.fetch_add(1, Ordering::Relaxed);
            // So many that there is always something on its way, and not more than a slow machine delivers.
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        connection.abort();
    }
    ids
}

/// Sets the clock, and waits until dispatchers have shards again and go by it.
async fn set(shop: &mut Shop, clock: &MovableClock, moment: i64) {
    clock.set(offset_to(moment).min(0)).unwrap();
    shop.postgres.restart().unwrap();
    shop.until(
        "select bool_and(s.owner is not null and h.at <= clock_timestamp())
        from postrider.shard s
        left join lateral (
            select h.at from postrider.heartbeat h where h.dispatcher = s.owner order by h.seq desc limit 1
        ) h on true",
    )
    .await;
}

/// Waits until so many more have been sent and accepted.
async fn go_on(receiver: &Receiver, sent: &AtomicUsize, count: usize) {
    let wanted = sent.load(Ordering::Relaxed) + count;
    let deadline = std::time::Instant::now() + LONG;
    while sent.load(Ordering::Relaxed) < wanted {
        assert!(std::time::Instant::now() < deadline, "nobody can send");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    receiver.wait_for_accepted(wanted, LONG).await.unwrap();
}

async fn column(client: &Client, sql: &str) -> Vec<i64> {
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_ends_in_the_middle_and_comes_back() {
    let end = month_begin();
    let clock = MovableClock::new().unwrap();
    clock.set(offset_to(end - DAY)).unwrap();
    let options = Options { installation: Some(clock.installation()), ..Options::default() };
    let mut shop = Shop::open_migrated_with(options).await;
    shop.execute(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('stale_recovery_timeout', '5');
        select postrider.set_setting('record_attempts', 'all');
        select postrider.create_consumer('c')",
    )
    .await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("good", &good.url()).await;
    let _dispatchers = (shop.serve().await, shop.serve().await);
    let is_over = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            tokio::spawn(write(writer, shop.url(), Arc::clone(&is_over), Arc::clone(&sent)))
        })
        .collect();
    go_on(&good, &sent, 50).await;
    let mut read = drain(&shop.client().await, "c", 1000).await;

    let is_past = format!("select clock_timestamp() > to_timestamp({end})");
    // Written before the end of the month, committed after it.
    let mut before = BEFORE;
    let (long, late) = loop {
        set(&mut shop, &clock, end - before).await;
        let long = shop.client().await;
        long.batch_execute("begin").await.unwrap();
        let send = "select postrider.send('good', '{}')";
        let late: i64 = long.query_one(send, &[]).await.unwrap().get(0);
        if !shop.ask::<bool>(&is_past).await {
            break (long, late);
        }
        before *= 2;
        assert!(before < LONG.as_secs() as i64, "the server does not start in time");
    };
    let reader = shop.client().await;
    read.extend(drain(&reader, "c", 1000).await);
    shop.until(&is_past).await;
    go_on(&good, &sent, 50).await;
    read.extend(drain(&reader, "c", 1000).await);
    long.batch_execute("commit").await.unwrap();
    go_on(&good, &sent, 10).await;
    // Dispatchers make the partitions of what comes next.
    let ahead = format!(
        "select exists (
            select from postrider.partitions p
            where p.table_name = 'message'
            and p.from_at = (to_timestamp({end}) at time zone 'UTC' + interval '3 months') at time zone 'UTC')"
    );
    shop.until(&ahead).await;
    let partitions =
        "select coalesce(string_agg(p.name, ' ' order by p.name), '') from postrider.partitions p";
    let made: String = shop.ask(partitions).await;

    drop((long, reader));
    set(&mut shop, &clock, end - DAY / 2).await;
    assert!(!shop.ask::<bool>(&is_past).await);
    go_on(&good, &sent, 50).await;
    read.extend(drain(&shop.client().await, "c", 1000).await);
    // And over it once more.
    set(&mut shop, &clock, end + DAY).await;
    go_on(&good, &sent, 50).await;
    is_over.store(true, Ordering::Relaxed);
    let mut certain = vec![late];
    for writer in writers {
        certain.extend(writer.await.unwrap());
    }
    shop.until(
        "select coalesce(bool_and(postrider.has_ended_everywhere(m.id, m.targets)), true) from postrider.message m",
    )
    .await;
    let client = shop.client().await;
    read.extend(drain(&client, "c", 1000).await);

    // The log has all that was committed, and everybody got what the log has.
    let log = column(&client, "select m.id from postrider.message m order by m.id").await;
    let logged: HashSet<i64> = log.iter().copied().collect();
    assert_eq!(
        (logged.len(), certain.iter().filter(|id| !logged.contains(id)).count()),
        (log.len(), 0)
    );
    let read_once: HashSet<i64> = read.iter().copied().collect();
    assert_eq!(read.len(), read_once.len(), "the consumer got something twice");
    assert_eq!(read_once, logged);
    let mut counts: HashMap<i64, usize> = HashMap::new();
    let mut by_key: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let keys = client
        .query(
            "select m.id, m.ordering_key from postrider.message m where m.ordering_key is not null",
            &[],
        )
        .await
        .unwrap();
    let keys: HashMap<i64, String> = keys.iter().map(|row| (row.get(0), row.get(1))).collect();
    good.with_requests(|requests| {
        for id in requests.iter().filter_map(|request| request.id) {
            let count = counts.entry(id.0).or_default();
            *count += 1;
            if let (1, Some(key)) = (*count, keys.get(&id.0)) {
                by_key.entry(key.clone()).or_default().push(id.0);
            }
        }
    });
    assert_eq!(counts.keys().copied().collect::<HashSet<_>>(), logged);
    // What came twice was under way when the server went away.
    let twice: Vec<i64> =
        counts.iter().filter(|(_, count)| **count > 1).map(|(id, _)| *id).collect();
    let lost: HashSet<i64> =
        column(&client, "select a.message_id from postrider.attempt a where a.outcome = 'unknown'")
            .await
            .into_iter()
            .collect();
    println!("{} messages, {} of them twice", log.len(), twice.len());
    assert_eq!(twice.iter().filter(|id| !lost.contains(id)).count(), 0, "twice without a reason");
    for (key, arrived) in by_key {
        assert!(arrived.is_sorted(), "{key}: {arrived:?}");
    }

    // Each row lies where its time is, and none has been caught by a default partition.
    let wrong = "select count(*) from postrider.message m
        where m.tableoid::regclass::text
            <> 'postrider.message_' || to_char(m.created_at at time zone 'UTC', 'YYYY_MM')";
    assert_eq!(shop.ask::<i64>(wrong).await, 0);
    let months: i64 = shop.ask("select count(distinct tableoid) from postrider.message").await;
    assert_eq!(months, 2);
    let late_month = format!(
        "select m.created_at < to_timestamp({end}) from postrider.message m where m.id = {late}"
    );
    assert!(shop.ask::<bool>(&late_month).await, "it was sent before the month ended");
    for table in ["message", "done", "partly_done", "ended", "attempt", "tick"] {
        let caught = format!("select count(*) from postrider.{table}_default");
        assert_eq!(shop.ask::<i64>(&caught).await, 0, "{table}");
    }
    assert_eq!(shop.ask::<String>(partitions).await, made, "none was dropped or made again");
    let cleaned: i32 = shop.ask("select postrider.cleanup_old_archive_partitions(1)").await;
    assert_eq!(cleaned, 0);
}
