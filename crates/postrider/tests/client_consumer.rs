//! The consumer of the crate for applications, on a real PostgreSQL: what its handlers have written when
//! everything that can fail has failed.

#[allow(dead_code)]
#[path = "../../../docs/examples/rust/consume.rs"]
mod example;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use crate::shop::Shop;
use crate::shop::serving::LONG;
use postrider_client::{
    Batch, Consumer, ConsumerBuilder, Error, Message, MessageId, Messages, Options, Poison,
    Postrider, Trouble,
};
use postrider_testkit::child::Process;
use postrider_testkit::proxy::Proxy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::Transaction;
use uuid::Uuid;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A handler's effect: what it got, in the order in which it was committed.
const EFFECT: &str = "insert into effect (member, n, key) values ($1, $2, $3)";

/// A shop with an event type, a role `app` with the rights of applications, and a table for effects.
async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create role app login in role postrider_application;
        create table effect (
            seq bigint generated always as identity, member text, n bigint, key text);
        grant select, insert on effect to app;
        select postrider.create_event_type('order.placed')",
    )
    .await;
    shop
}

impl Shop {
    async fn consumer(&self, partitions: i32) {
        self.execute(&format!(
            "select postrider.create_consumer('projection', p_partitions => {partitions})"
        ))
        .await;
    }

    /// Events `{"n": from}` to `{"n": to}`, of seven keys in turn.
    async fn place(&self, from: i64, to: i64) {
        self.execute(&format!(
            "select postrider.publish('order.placed', jsonb_build_object('n', n),
                p_ordering_key => 'key ' || n % 7)
            from generate_series({from}, {to}) n"
        ))
        .await;
    }

    fn quick_consumer(&self) -> ConsumerBuilder {
        builder(&self.postgres.url_as("app", "shop"))
    }

    async fn until_effects(&self, count: i64) {
        self.until(&format!("select count(distinct n) = {count} from effect")).await;
    }

    /// Each of the numbers 1 to `count` is there once, and those of a key in their order.
    async fn check_effects(&self, count: i64) {
        self.until_effects(count).await;
        self.check_effects_of(&(1..=count).collect::<Vec<_>>()).await;
    }

    async fn check_effects_of(&self, expected: &[i64]) {
        let mut found: Vec<i64> = self.ask("select array_agg(n) from effect").await;
        found.sort_unstable();
        assert_eq!(found, expected, "each once");
        let inversions: i64 = self
            .ask(
                "select count(*)
                from (select n, lag(n) over (partition by key order by seq) as before from effect) e
                where before > n",
            )
            .await;
        assert_eq!(inversions, 0, "the messages of a key come in their order");
    }
}

/// Quick in everything, so that a test does not wait.
fn builder(url: &str) -> ConsumerBuilder {
    Consumer::builder("projection")
        .url(url)
        .batch_size(10)
        .lease(Duration::from_secs(1))
        .backoff(Duration::from_millis(5), Duration::from_millis(50))
        // No failure of a test that is about something else is too many.
        .poison(Poison::Stop { after: 1_000_000 })
        .on_trouble(|trouble| eprintln!("{trouble}"))
}

async fn record(
    transaction: &mut Transaction<'_>,
    batch: &Batch,
    member: &str,
) -> Result<(), tokio_postgres::Error> {
    for message in batch {
        transaction.execute(EFFECT, &[&member, &number(message), &message.ordering_key()]).await?;
    }
    Ok(())
}

fn number(message: &Message) -> i64 {
    message.json::<Value>().unwrap()["n"].as_i64().unwrap()
}

/// A member that records what it gets, in a task of its own.
struct Member {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), Error>>,
}

impl Member {
    fn start(consumer: ConsumerBuilder, name: &'static str) -> Self {
        let (stop, stopped) = oneshot::channel();
        let consumer = consumer.build().unwrap();
        let stopped = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(consumer.run_until(stopped, async move |transaction, batch| {
            record(transaction, batch, name).await
        }));
        Self { stop: Some(stop), task }
    }

    /// Lets it finish what it has in hand.
    async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        tokio::time::timeout(LONG, &mut self.task).await.unwrap().unwrap().unwrap();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_gets_all_of_a_message() {
    let shop = open().await;
    shop.allow_far_schedules().await;
    shop.consumer(1).await;
    let correlation = Uuid::from_u128(7);
    let options = Options::new()
        .ordering_key("customer 7")
        .correlation_id(correlation)
        .header("x-tenant", "acme")
        .metadata(json!({ "by": "shop" }))
        .scheduled_at(SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000));
    let began = SystemTime::now() - Duration::from_secs(60);
    let mut client = shop.client().await;
    shop.execute("select postrider.create_endpoint('warehouse', 'discard', '{}')").await;
    let mut sending = client.transaction().await.unwrap();
    let order = json!({ "order": 1 });
    let event = Postrider::publish_with(&mut sending, "order.placed", &order, &options).await;
    let event = event.unwrap();
    let bytes =
        Postrider::send_bytes(&mut sending, "warehouse", b"\0%PDF", "application/pdf").await;
    let bytes = bytes.unwrap();
    let xid: String =
        sending.query_one("select pg_current_xact_id()::text", &[]).await.unwrap().get(0);
    sending.commit().await.unwrap();

    let mut messages = shop.quick_consumer().build().unwrap().stream();
    let first = messages.next().await.unwrap().unwrap();
    assert_eq!((first.id(), first.position()), (event, i64::from(event) >> 10));
    assert_eq!(first.transaction_id().to_string(), xid);
    assert_eq!(first.message_type(), Some("order.placed"));
    assert_eq!(first.json::<Value>().unwrap(), order);
    assert_eq!(first.data().unwrap().get(), r#"{"order": 1}"#);
    assert_eq!(first.headers().get("x-tenant").map(String::as_str), Some("acme"));
    assert_eq!(first.metadata().unwrap().get(), r#"{"by": "shop"}"#);
    let scheduled = first.scheduled().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(scheduled, Duration::from_secs(4_000_000_000));
    assert!(first.created_at() > began && first.tick().is_some());
    assert_eq!(first.ordering_key(), Some("customer 7"));
    assert_eq!(first.correlation_id(), Some(correlation));
    assert_eq!((first.body(), first.content_type()), (None, None));

    let second = messages.next().await.unwrap().unwrap();
    assert_eq!((second.id(), second.tick()), (bytes, first.tick()));
    assert_eq!((second.message_type(), second.data().is_none()), (None, true));
    assert_eq!(second.json::<Option<i64>>().unwrap(), None);
    assert_eq!(second.body(), Some(&b"\0%PDF"[..]));
    assert_eq!(second.content_type(), Some("application/pdf"));
    assert!(second.headers().is_empty() && second.metadata().is_none());
    assert_eq!((second.scheduled(), second.ordering_key()), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_are_exactly_once_whatever_fails() {
    let mut shop = open().await;
    shop.consumer(1).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let consumer = shop.quick_consumer().build().unwrap();
    let counted = Arc::clone(&calls);
    let reading = tokio::spawn(consumer.run(async move |transaction, batch| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        record(transaction, batch, "a").await?;
        match call % 11 {
            3 => Err("no")?,
            5 => panic!("in the middle of {} messages", batch.len()),
            7 => {
                let terminate = "select pg_terminate_backend(pg_backend_pid())";
                let _ = transaction.execute(terminate, &[]).await;
            }
            // An error that the handler does not look at.
            9 => drop(transaction.execute("select 1 / 0", &[]).await),
            _ => {}
        }
        Ok::<_, BoxError>(())
    }));
    for round in 0..6 {
        shop.place(round * 100 + 1, round * 100 + 100).await;
        if round == 2 || round == 4 {
            shop.until(&format!("select count(*) >= {} from effect", round * 100 - 50)).await;
            shop.postgres.stop_immediately().unwrap();
            shop.postgres.start_again().unwrap();
        }
    }
    shop.check_effects(600).await;
    assert!(!reading.is_finished() && calls.load(Ordering::Relaxed) > 80);
    reading.abort();
}

/// Passes everything on, and cuts connections whose commit has been done before its answer is seen: the
/// first so many. Returns the port, and how many have been cut.
async fn cutting_proxy(server: u16, most: usize) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let cut = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&cut);
    tokio::spawn(async move {
        loop {
            let (near, _) = listener.accept().await.unwrap();
            let far = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            tokio::spawn(pass_on(near, far, Arc::clone(&counted), most));
        }
    });
    (port, cut)
}

async fn pass_on(mut near: TcpStream, mut far: TcpStream, cut: Arc<AtomicUsize>, most: usize) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let (mut is_committing, mut has_acknowledged) = (false, false);
    loop {
        tokio::select! {
            read = near.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let text = String::from_utf8_lossy(&asked[..length]).into_owned();
                has_acknowledged |= text.contains("postrider.acknowledge");
                is_committing = has_acknowledged && text.contains("COMMIT");
                far.write_all(&asked[..length]).await.unwrap();
            }
            read = far.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if is_committing && cut.fetch_add(1, Ordering::Relaxed) < most {
                    assert!(answered.starts_with(b"C"), "the commit was done");
                    return;
                }
                let _ = near.write_all(&answered[..length]).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_not_repeated() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 200).await;
    let (port, cut) = cutting_proxy(shop.postgres.port(), 5).await;
    let url = format!("postgres://app@127.0.0.1:{port}/shop");
    let member = Member::start(builder(&url), "a");
    shop.check_effects(200).await;
    assert!(cut.load(Ordering::Relaxed) >= 5);
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_members_one_reads_and_the_other_takes_over() {
    let shop = open().await;
    shop.consumer(1).await;
    // Its lease does not run out while the machine stands still; it is given back by a stop.
    let reader = Member::start(shop.quick_consumer().lease(Duration::from_secs(30)), "first");
    let until_members = async |count: i64| {
        shop.until(&format!(
            "select count(distinct member) = {count} from postrider.consumer_lease"
        ))
        .await;
    };
    until_members(1).await;
    let other = Member::start(shop.quick_consumer(), "second");
    until_members(2).await;
    shop.place(1, 300).await;
    shop.check_effects(300).await;
    let readers: String = shop.ask("select string_agg(distinct member, ' ') from effect").await;
    assert_eq!(readers, "first", "the other one waits for its turn");
    reader.stop().await;
    shop.place(301, 400).await;
    shop.check_effects(400).await;
    let readers: i64 = shop.ask("select count(distinct member) from effect").await;
    assert_eq!(readers, 2);
    // A member that is gone without a word: its lease runs out.
    drop(other);
    let third = Member::start(shop.quick_consumer(), "third");
    shop.place(401, 500).await;
    shop.check_effects(500).await;
    third.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_without_a_lease_never_gets_the_same() {
    let shop = open().await;
    shop.consumer(1).await;
    let member = Member::start(shop.quick_consumer(), "member");
    let mut client = shop.client().await;
    let mut from = 1;
    while shop.ask::<i64>("select count(*) from effect where member = 'sql'").await < 20 {
        shop.place(from, from + 99).await;
        from += 100;
        let transaction = client.transaction().await.unwrap();
        let fetched = transaction
            .query(
                "insert into effect (member, n, key)
                select 'sql', (data ->> 'n')::bigint, ordering_key
                from postrider.fetch_messages('projection', 5, '10 seconds')
                returning n",
                &[],
            )
            .await
            .unwrap();
        if !fetched.is_empty() {
            let acknowledge = "select postrider.acknowledge('projection', max(m.id >> 10))
                from postrider.message m
                where (m.payload ->> 'n')::bigint = $1";
            let last: i64 = fetched.last().unwrap().get(0);
            transaction.execute(acknowledge, &[&last]).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    shop.check_effects(from - 1).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_move_to_members_that_come_and_from_those_that_go() {
    let shop = open().await;
    shop.consumer(6).await;
    let until_shares = async |shares: &str| {
        shop.until(&format!(
            "select coalesce(
                array_agg(cardinality(l.partitions) order by cardinality(l.partitions)), '{{}}')
                = '{shares}'
            from postrider.consumer c
            cross join lateral postrider.newest_leases(c.id) l
            where l.lease_until > now()"
        ))
        .await;
    };
    let first = Member::start(shop.quick_consumer(), "first");
    shop.place(1, 200).await;
    until_shares("{6}").await;
    // With fewer connections than partitions they are read in turn.
    let second = Member::start(shop.quick_consumer().connections(1), "second");
    shop.place(201, 400).await;
    until_shares("{3,3}").await;
    let third = Member::start(shop.quick_consumer(), "third");
    shop.place(401, 600).await;
    until_shares("{2,2,2}").await;
    // Whose lease has run out while the machine stood still has it again soon.
    let mut last = 600;
    let began = Instant::now();
    let all_read = "select count(distinct member) = 3 from effect where n > 600";
    while !shop.ask::<bool>(all_read).await {
        assert!(began.elapsed() < LONG, "each reads what it has leased");
        shop.place(last + 1, last + 200).await;
        last += 200;
        shop.check_effects(last).await;
    }

    shop.place(last + 1, last + 200).await;
    first.stop().await;
    shop.place(last + 201, last + 400).await;
    // Gone without a word.
    drop(second);
    shop.place(last + 401, last + 600).await;
    shop.check_effects(last + 600).await;
    until_shares("{6}").await;
    third.stop().await;
    until_shares("{}").await;
}

/// What a consumer reported, in words.
fn reports() -> (impl Fn(&Trouble) + Send + Sync + 'static, Arc<Mutex<Vec<String>>>) {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&texts);
    (move |trouble: &Trouble| kept.lock().unwrap().push(trouble.to_string()), texts)
}

/// Less than one wait for the database, of which a reader has several.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_answer_does_not_hold_up_a_stop() {
    let shop = open().await;
    shop.consumer(1).await;
    let port = shop.postgres.port();
    let proxy = Proxy::start(([127, 0, 0, 1], port).into()).unwrap();
    let url = shop.postgres.url_as("app", "shop");
    let through = url.replace(&port.to_string(), &proxy.port().to_string());
    let (report, texts) = reports();
    let consumer = builder(&through).lease(Duration::from_secs(60)).on_trouble(report);
    let member = Member::start(consumer, "a");
    shop.place(1, 10).await;
    shop.check_effects(10).await;
    proxy.black_hole(true);
    proxy.cut();
    // The reader has lost its connection, and waits for another one.
    while texts.lock().unwrap().is_empty() || proxy.open_count() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let began = Instant::now();
    member.stop().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisonous_message_is_parked() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 30).await;
    let (report, texts) = reports();
    let consumer = shop.quick_consumer().poison(Poison::Park { after: 3 }).on_trouble(report);
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let reading = tokio::spawn(consumer.build().unwrap().run(async move |transaction, batch| {
        record(transaction, batch, "a").await?;
        if batch.iter().any(|message| number(message) == 14) {
            counted.fetch_add(1, Ordering::Relaxed);
            Err("cannot digest 14\0")?;
        }
        Ok::<_, BoxError>(())
    }));
    shop.until_effects(29).await;
    reading.abort();
    let all: Vec<i64> = (1..=30).filter(|n| *n != 14).collect();
    shop.check_effects_of(&all).await;
    assert_eq!(tries.load(Ordering::Relaxed), 4, "once with others, and three times by itself");
    let sql = "select array[data ->> 'n', attempt_count::text, last_error] from postrider.parked_messages";
    let parked: Vec<String> = shop.ask(sql).await;
    assert_eq!(parked, ["14", "3", "cannot digest 14"]);
    let texts = texts.lock().unwrap();
    let is_told = |text: &str| texts.iter().filter(|told| told.contains(text)).count();
    assert_eq!((is_told("has failed: cannot digest"), is_told("was parked after 3")), (4, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisonous_message_stops_its_consumer() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 30).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let run = async || {
        let counted = Arc::clone(&calls);
        let consumer = shop.quick_consumer().poison(Poison::Stop { after: 2 }).build().unwrap();
        let reading = consumer.run(async move |transaction, batch| {
            record(transaction, batch, "a").await?;
            if batch.iter().any(|message| number(message) == 14) {
                counted.fetch_add(1, Ordering::Relaxed);
                panic!("cannot digest 14");
            }
            Ok::<_, BoxError>(())
        });
        tokio::time::timeout(LONG, reading).await.unwrap().unwrap_err()
    };
    let check = async |error: Error, failures: u32| {
        let Error::Poisoned { message, position, failure_count, source } = &error else {
            panic!("{error:?}")
        };
        let id: i64 =
            shop.ask("select id from postrider.message where payload = '{\"n\": 14}'").await;
        assert_eq!(
            (*message, *position, *failure_count),
            (MessageId::from(id), id >> 10, failures)
        );
        assert!(source.to_string().contains("cannot digest 14"), "{source}");
        shop.check_effects_of(&(1..14).collect::<Vec<_>>()).await;
    };
    check(run().await, 2).await;
    assert_eq!(calls.load(Ordering::Relaxed), 3, "once with others, and twice by itself");
    check(run().await, 3).await;
    assert_eq!(calls.load(Ordering::Relaxed), 4, "a fresh start is a fresh try");

    let corrected =
        Member::start(shop.quick_consumer().poison(Poison::Stop { after: 2 }), "corrected");
    shop.check_effects(30).await;
    corrected.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_finishes_the_batch_and_gives_the_partitions_back() {
    let shop = open().await;
    shop.consumer(2).await;
    shop.place(1, 20).await;
    let (begun, mut is_begun) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let inner = Arc::clone(&gate);
    let patient = Duration::from_secs(3600);
    let consumer = shop.quick_consumer().batch_size(1).lease(patient).wait(Duration::from_secs(60));
    let shutdown = async move {
        let _ = stopped.await;
    };
    let handler = async move |transaction: &mut Transaction<'_>, batch: &Batch| {
        record(transaction, batch, "first").await?;
        begun.send(number(&batch[0])).unwrap();
        inner.acquire().await?.forget();
        Ok::<_, BoxError>(())
    };
    let running = tokio::spawn(consumer.build().unwrap().run_until(shutdown, handler));
    let mut in_hand = [is_begun.recv().await.unwrap(), is_begun.recv().await.unwrap()];
    stop.send(()).unwrap();
    // The readers have seen it before the handlers go on, or they see it when they are through.
    tokio::task::yield_now().await;
    gate.add_permits(2);
    tokio::time::timeout(LONG, running).await.unwrap().unwrap().unwrap();
    in_hand.sort_unstable();
    shop.check_effects_of(&in_hand).await;

    // Nobody waits for an hour.
    let second = Member::start(shop.quick_consumer().lease(patient).wait(patient / 60), "second");
    shop.check_effects(20).await;
    // Nothing is in hand: it does not wait for messages to come.
    second.stop().await;
    let third = Member::start(shop.quick_consumer().lease(patient), "third");
    shop.place(21, 40).await;
    shop.check_effects(40).await;
    third.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_future_rolls_back() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 20).await;
    let (begun, mut is_begun) = mpsc::unbounded_channel();
    let consumer = shop.quick_consumer().build().unwrap();
    let running = tokio::spawn(consumer.run(async move |transaction, batch| {
        record(transaction, batch, "first").await?;
        begun.send(()).unwrap();
        std::future::pending::<Result<(), BoxError>>().await
    }));
    is_begun.recv().await.unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let second = Member::start(shop.quick_consumer(), "second");
    shop.check_effects(20).await;
    let members: String = shop.ask("select string_agg(distinct member, ' ') from effect").await;
    assert_eq!(members, "second");
    second.stop().await;
}

/// The numbers of so many messages.
async fn take(messages: &mut Messages, count: usize) -> Vec<i64> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        let next = tokio::time::timeout(LONG, messages.next()).await.unwrap();
        numbers.push(number(&next.unwrap().unwrap()));
    }
    numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_acknowledges_a_page_when_the_message_after_it_is_asked_for() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 40).await;
    let acknowledged = "select max(message_count) from postrider.consumer_position";
    let open = || shop.quick_consumer().build().unwrap().stream();

    let mut messages = open();
    assert_eq!(take(&mut messages, 10).await, (1..=10).collect::<Vec<_>>());
    assert_eq!(shop.ask::<i64>(acknowledged).await, 0, "its last message may not be processed");
    assert_eq!(take(&mut messages, 1).await, [11]);
    assert_eq!(shop.ask::<i64>(acknowledged).await, 10);
    drop(messages);

    // The page comes again, first message by message.
    let mut messages = open();
    assert_eq!(take(&mut messages, 9).await, (11..=19).collect::<Vec<_>>());
    // The page dies with its connection, and comes again in the same stream.
    shop.execute(
        "select pg_terminate_backend(pid)
        from pg_stat_activity
        where usename = 'app' and state = 'idle in transaction'",
    )
    .await;
    assert_eq!(take(&mut messages, 22).await, (19..=40).collect::<Vec<_>>());
    // Asking for the message after the last one acknowledges the last page.
    let waiting = tokio::spawn(async move { take(&mut messages, 1).await });
    shop.until("select max(message_count) = 40 from postrider.consumer_position").await;
    shop.place(41, 41).await;
    assert_eq!(waiting.await.unwrap(), [41]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_with_a_page_that_took_too_long() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 3).await;
    let consumer = shop.quick_consumer().batch_timeout(Duration::from_millis(300));
    let mut messages = consumer.build().unwrap().stream();
    assert_eq!(take(&mut messages, 3).await, [1, 2, 3]);
    shop.until(
        "select count(*) = 0
        from pg_stat_activity
        where usename = 'app' and state = 'idle in transaction'",
    )
    .await;
    // One by one now, and again where one takes too long once more.
    let mut found = Vec::new();
    let began = Instant::now();
    while found.last() != Some(&3) {
        assert!(began.elapsed() < LONG, "{found:?}");
        found.extend(take(&mut messages, 1).await);
    }
    found.dedup();
    assert_eq!(found, [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_reads_all_partitions_and_ends_with_an_error() {
    let shop = open().await;
    shop.consumer(4).await;
    shop.place(1, 50).await;
    let mut messages =
        shop.quick_consumer().batch_timeout(Duration::from_secs(20)).build().unwrap().stream();
    let mut found = take(&mut messages, 50).await;
    found.sort_unstable();
    assert_eq!(found, (1..=50).collect::<Vec<_>>());
    let waiting = tokio::spawn(async move {
        let error = messages.next().await.unwrap().unwrap_err();
        (error, messages.next().await.is_none())
    });
    shop.until(
        "select sum(message_count) = 50
        from postrider.consumer c
        cross join generate_series(0, 3) k
        cross join lateral postrider.newest_position(c.id, k)",
    )
    .await;
    shop.execute("select postrider.drop_consumer('projection')").await;
    let (error, has_ended) = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    assert!(matches!(error, Error::UnknownConsumer(_)), "{error:?}");
    assert!(has_ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_works() {
    let shop = open().await;
    shop.consumer(2).await;
    shop.execute(
        "create table item_sold (order_id bigint primary key, item text not null);
        grant insert on item_sold to app;
        select postrider.publish('order.placed', jsonb_build_object('order', n, 'item', 'lamp ' || n))
        from generate_series(1, 20) n",
    )
    .await;
    let (stop, stopped) = oneshot::channel::<()>();
    let url = shop.postgres.url_as("app", "shop");
    let projecting = tokio::spawn(async move {
        let shutdown = async move {
            let _ = stopped.await;
        };
        example::project(&url, shutdown).await
    });
    shop.until("select count(*) = 20 and max(item) = 'lamp 9' from item_sold").await;
    stop.send(()).unwrap();
    tokio::time::timeout(LONG, projecting).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waiting_does_not_change_is_an_error() {
    let shop = open().await;
    shop.execute("create role stranger login").await;
    let run = async |builder: ConsumerBuilder| {
        let nothing = async |_: &mut Transaction<'_>, _: &Batch| Ok::<_, BoxError>(());
        let running = builder.build().unwrap().run(nothing);
        tokio::time::timeout(LONG, running).await.unwrap().unwrap_err()
    };
    let unknown = run(shop.quick_consumer()).await;
    assert!(matches!(&unknown, Error::UnknownConsumer(_)), "{unknown:?}");
    assert_eq!(unknown.to_string(), "Consumer 'projection' does not exist");
    shop.consumer(1).await;
    let refused = run(builder(&shop.postgres.url_as("stranger", "shop"))).await;
    assert_eq!(refused.code(), Some("42501"), "{refused:?}");
    let nobody = run(builder(&shop.postgres.url_as("nobody", "shop"))).await;
    assert_eq!(nobody.code(), Some("28000"), "{nobody:?}");
    let nowhere = run(builder(&shop.postgres.url_as("app", "nowhere"))).await;
    assert_eq!(nowhere.code(), Some("3D000"), "{nowhere:?}");

    let check = |builder: ConsumerBuilder, text: &str| {
        let error = builder.build().unwrap_err();
        assert!(
            matches!(error, Error::Misconfigured(_)) && error.to_string().contains(text),
            "{error}"
        );
    };
    let url = "postgres://app:secret@127.0.0.1/shop";
    check(Consumer::builder("a"), "no database");
    check(Consumer::builder("a").url("postgres://app:secret@a:b/shop"), "is not valid");
    check(builder(url).batch_size(0), "batch_size must be 1 to 10,000");
    check(builder(url).batch_size(10_001), "batch_size must be 1 to 10,000");
    check(builder(url).wait(Duration::from_secs(61)), "60 s at most");
    check(builder(url).batch_timeout(Duration::ZERO), "1 ms at least");
    check(builder(url).lease(Duration::ZERO), "1 s to 1 h");
    check(builder(url).connections(0), "1 to 64");
    check(builder(url).backoff(Duration::ZERO, Duration::ZERO), "more than nothing");
    check(builder(url).backoff(Duration::from_secs(2), Duration::from_secs(1)), "not be above");
    check(builder(url).poison(Poison::Park { after: 0 }), "1 failure at least");
    let consumer = builder(url).build().unwrap();
    assert!(!format!("{consumer:?} {:?}", builder(url)).contains("secret"));
}

/// Proves at compile time what a doc comment says: what handlers usually are can be spawned.
#[tokio::test]
async fn usual_handlers_can_be_spawned() {
    async fn project(_: &mut Transaction<'_>, _: &Batch) -> Result<(), tokio_postgres::Error> {
        Ok(())
    }
    fn spawnable<F: Future<Output = Result<(), Error>> + Send>(_: F) {}
    let consumer = || builder("postgres://localhost/shop").build().unwrap();
    let shared = Arc::new(Mutex::new(0));
    let text = String::from("text");
    spawnable(consumer().run(project));
    spawnable(consumer().run(async |transaction, batch| {
        for message in batch {
            transaction.execute("select $1", &[&message.position()]).await?;
            *shared.lock().unwrap() += text.len();
        }
        Ok::<_, tokio_postgres::Error>(())
    }));
    let moved = Arc::clone(&shared);
    spawnable(consumer().run(async move |transaction, batch| {
        let mut savepoint = transaction.transaction().await?;
        Postrider::send(&mut savepoint, "warehouse", &batch.len()).await?;
        savepoint.commit().await?;
        *moved.lock().unwrap() += 1;
        Ok::<_, BoxError>(())
    }));
}

/// A consumer in a process of its own: this program again, which runs [`as_a_process`] only.
struct Child {
    process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Child {
    fn start(shop: &Shop, mode: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["client_consumer::as_a_process", "--exact", "--nocapture"])
            .env("CONSUMER_MODE", mode)
            .env("CONSUMER_URL", shop.postgres.url_as("app", "shop"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let take = |child: &mut std::process::Child| {
            (child.stdin.take().unwrap(), child.stdout.take().unwrap())
        };
        let (process, (input, output)) = Process::spawn(command, libc::SIGKILL, take).unwrap();
        Self { process, input, output: BufReader::new(output) }
    }

    /// Reads until it has said this.
    fn hear(&mut self, text: &str) {
        let mut heard = String::new();
        while !heard.contains(text) {
            assert!(self.output.read_line(&mut heard).unwrap() > 0, "no `{text}` in: {heard}");
        }
    }
}

/// Nothing, unless a test has started it as a process.
#[tokio::test(flavor = "multi_thread")]
async fn as_a_process() {
    let Ok(mode) = std::env::var("CONSUMER_MODE") else { return };
    // The server ends the batch of one that waits, and of no other.
    let batch_timeout = Duration::from_secs(if mode == "waits" { 1 } else { 60 });
    let consumer = builder(&std::env::var("CONSUMER_URL").unwrap())
        .poison(Poison::Park { after: 2 })
        .batch_timeout(batch_timeout)
        .on_trouble(|trouble| println!("trouble: {trouble}"));
    let error = consumer.build().unwrap().run(async |transaction, batch| {
        record(transaction, batch, "child").await?;
        let is_poisoned = batch.iter().any(|message| number(message) == 14);
        match mode.as_str() {
            "dies" if is_poisoned => std::process::abort(),
            "waits" => {
                println!("holding");
                let mut line = String::new();
                std::io::stdin().read_line(&mut line)?;
            }
            _ => {}
        }
        Ok::<_, BoxError>(())
    });
    panic!("{:?}", error.await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_kills_its_process_is_parked() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 30).await;
    let mut deaths = 0;
    let is_done = "select count(*) = 29 from effect";
    let child = loop {
        let child = Child::start(&shop, "dies");
        let died = tokio::select! {
            status = child.process.wait(LONG) => status.is_some(),
            () = shop.until(is_done) => false,
        };
        if !died {
            break child;
        }
        deaths += 1;
        assert!(deaths < 10, "it kills and kills");
    };
    assert_eq!(deaths, 3, "once with others, and twice by itself");
    shop.check_effects_of(&(1..=30).filter(|n| *n != 14).collect::<Vec<_>>()).await;
    let sql = "select array[data ->> 'n', attempt_count::text, last_error] from postrider.parked_messages";
    let parked: Vec<String> = shop.ask(sql).await;
    assert_eq!(parked, ["14", "2", "the process died, or gave up, while it had the message"]);
    assert!(child.process.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_does_nothing() {
    let shop = open().await;
    shop.consumer(1).await;
    shop.place(1, 10).await;
    let mut zombie = Child::start(&shop, "waits");
    zombie.hear("holding");
    assert!(zombie.process.signal(libc::SIGSTOP));
    // The server ends its transaction, its lease runs out, and another one takes over.
    let other = Member::start(shop.quick_consumer(), "other");
    shop.check_effects(10).await;
    // It wakes up in its handler, which is content with itself.
    zombie.input.write_all(b"go on\n").unwrap();
    assert!(zombie.process.signal(libc::SIGCONT));
    // Of all ten, or of one by itself where an insert of the first try took too long.
    zombie.hear("trouble: a batch of 1");
    shop.check_effects(10).await;
    let members: String = shop.ask("select string_agg(distinct member, ' ') from effect").await;
    assert_eq!(members, "other");
    other.stop().await;
}
