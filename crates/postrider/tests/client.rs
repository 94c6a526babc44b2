//! The crate for applications with each of its drivers, on a real PostgreSQL, directly and through
//! PgBouncer: what is in the log afterwards.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use crate::shop::Shop;
use postrider_client::{Connection, Error, Event, MessageId, Options, Postrider};
use postrider_testkit::pgbouncer::{self, PrivatePgBouncer};
use serde_json::{Value, json};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{Acquire, Connection as _, Row};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use uuid::Uuid;

/// What the tests do with a session besides what is tested.
trait Session: Connection {
    /// Runs a statement without parameters; its first value, if it has one.
    fn ask(&mut self, sql: &'static str) -> impl Future<Output = Option<String>> + Send;
}

impl Session for Client {
    async fn ask(&mut self, sql: &'static str) -> Option<String> {
        let messages = self.simple_query(sql).await.unwrap_or_else(|error| panic!("{error:?}"));
        messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    }
}

impl Session for PgConnection {
    async fn ask(&mut self, sql: &'static str) -> Option<String> {
        let rows = sqlx::Executor::fetch_all(self, sql).await.unwrap();
        rows.first().map(|row| row.try_get_unchecked(0).unwrap())
    }
}

/// A shop whose role `app` may do what applications may, with something to send to.
async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create role app login in role postrider_application;
        select postrider.create_endpoint(n, 'discard', '{}') from unnest('{warehouse,closed}'::text[]) n;
        select postrider.disable_endpoint('closed');
        select postrider.create_event_type(n) from unnest('{order.placed,order.lost}'::text[]) n;
        select postrider.subscribe('order.placed', 'warehouse')",
    )
    .await;
    shop.allow_far_schedules().await;
    shop
}

async fn tokio_session(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn sqlx_session(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

fn url(shop: &Shop) -> String {
    shop.postgres.url_as("app", "shop")
}

/// The row of a message, without what is null.
async fn message(reader: &Client, id: MessageId) -> Value {
    let sql = "select jsonb_strip_nulls(to_jsonb(m)) from postrider.message m where id = $1";
    reader.query_one(sql, &[&i64::from(id)]).await.unwrap().get(0)
}

async fn count(shop: &Shop) -> i64 {
    let client = shop.client().await;
    client.query_one("select count(*) from postrider.message", &[]).await.unwrap().get(0)
}

/// The message has these columns.
#[track_caller]
fn check(message: &Value, expected: Value) {
    for (column, value) in expected.as_object().unwrap() {
        assert_eq!(&message[column], value, "{column} of {message}");
    }
}

/// 2100-01-01 00:00:00.123456 UTC.
fn next_century() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(4_102_444_800_123_456)
}

fn all_options(key: &str) -> Options {
    Options::new()
        .priority(7)
        .scheduled_at(next_century())
        .expires_at(next_century() + Duration::from_secs(1))
        .idempotency_key(key)
        .correlation_id(Uuid::from_u128(1))
        .ordering_key("one by one")
        .header("x-tenant", "acme")
        .headers([("x-more", "é")])
        .metadata(json!({ "by": "test" }))
}

fn with_all_options(key: &str) -> Value {
    json!({
        "priority": 7,
        "scheduled_at": "2100-01-01T00:00:00.123456+00:00",
        "expires_at": "2100-01-01T00:00:01.123456+00:00",
        "idempotency_key": key,
        "correlation_id": Uuid::from_u128(1).to_string(),
        "ordering_key": "one by one",
        "headers": { "x-tenant": "acme", "x-more": "é" },
        "metadata": { "by": "test" },
    })
}

async fn every_method<S: Session>(shop: &Shop, session: &mut S) {
    let reader = shop.client().await;
    let payload = json!({ "order": 1, "text": "ü \"quoted\" \\ $1" });
    session.ask("begin").await;
    let plain = Postrider::send(session, "warehouse", &payload).await.unwrap();
    let full = all_options("sent");
    let sent = Postrider::send_with(session, "warehouse", &payload, &full).await.unwrap();
    let again = Postrider::send_with(session, "warehouse", &payload, &full).await.unwrap();
    let bytes = Postrider::send_bytes(session, "warehouse", b"\0\xff", "image/png").await.unwrap();
    let waits =
        Options::new().scheduled_in(Duration::from_secs(600)).expires_in(Duration::from_secs(1200));
    let waiting =
        Postrider::send_bytes_with(session, "warehouse", b"", "text/plain", &waits).await.unwrap();
    let numbers = 0..200;
    let batch = Postrider::send_batch(session, "warehouse", numbers.clone()).await.unwrap();
    let urgent =
        Postrider::send_batch_with_priority(session, "warehouse", ["a"], 10).await.unwrap();
    let nothing = Postrider::send_batch(session, "warehouse", [(); 0]).await.unwrap();
    let published = Postrider::publish(session, "order.placed", &payload).await.unwrap();
    let full = all_options("published");
    let lost = Postrider::publish_with(session, "order.lost", &payload, &full).await.unwrap();
    let events = [
        Event::new("order.placed", &1).unwrap(),
        Event::new("order.lost", "two").unwrap().with(all_options("batch")),
        Event::new("order.placed", &json!(null)).unwrap().with(waits),
    ];
    let many = Postrider::publish_batch(session, &events).await.unwrap();
    let none = Postrider::publish_batch(session, &[]).await.unwrap();
    session.ask("commit").await;

    let expected = json!({
        "payload": payload, "endpoint_name": "warehouse", "priority": 0, "scheduled_at": null,
        "expires_at": null, "idempotency_key": null, "correlation_id": null, "ordering_key": null,
        "headers": null, "metadata": null, "event_type": null, "content_type": null,
    });
    check(&message(&reader, plain).await, expected);
    check(&message(&reader, sent).await, with_all_options("sent"));
    assert_eq!(again, sent);
    let expected = json!({ "body": "\\x00ff", "content_type": "image/png", "payload": null });
    check(&message(&reader, bytes).await, expected);
    assert_eq!(batch.len(), 200);
    for (number, id) in numbers.zip(&batch) {
        check(&message(&reader, *id).await, json!({ "payload": number, "priority": 0 }));
    }
    check(&message(&reader, urgent[0]).await, json!({ "payload": "a", "priority": 10 }));
    assert_eq!((nothing, none), (Vec::new(), Vec::new()));
    let expected = json!({ "event_type": "order.placed", "payload": payload });
    check(&message(&reader, published).await, expected);
    check(&message(&reader, lost).await, with_all_options("published"));
    let expected = json!({ "event_type": "order.placed", "payload": 1, "priority": 0 });
    check(&message(&reader, many[0]).await, expected);
    check(&message(&reader, many[1]).await, with_all_options("batch"));
    check(
        &message(&reader, many[1]).await,
        json!({ "event_type": "order.lost", "payload": "two" }),
    );
    for id in [waiting, many[2]] {
        let sql = "select scheduled_at - created_at between '600 s' and '660 s'
            and expires_at - created_at between '1200 s' and '1260 s'
            from postrider.message where id = $1";
        let row = reader.query_one(sql, &[&i64::from(id)]).await.unwrap();
        assert!(row.get::<_, bool>(0), "{}", message(&reader, id).await);
    }

    assert!(Postrider::cancel(session, plain).await.unwrap());
    assert!(!Postrider::cancel(session, plain).await.unwrap());
    assert!(!Postrider::cancel(session, MessageId::from(-1)).await.unwrap());

    session.ask("begin").await;
    Postrider::enable_fast_mode(session).await.unwrap();
    assert_eq!(session.ask("show synchronous_commit").await.as_deref(), Some("off"));
    session.ask("commit").await;
    assert_eq!(session.ask("show synchronous_commit").await.as_deref(), Some("on"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_writes_what_it_was_given() {
    let shop = open().await;
    every_method(&shop, &mut tokio_session(&url(&shop)).await).await;
    // The keys are held by messages of the first run.
    shop.execute("truncate postrider.idempotency_key").await;
    every_method(&shop, &mut sqlx_session(&url(&shop)).await).await;
}

/// An error of this variant, with this SQLSTATE and text.
macro_rules! check_error {
    ($call:expr, $variant:ident, $code:expr, $text:expr) => {
        let error = $call.await.unwrap_err();
        let is_variant = matches!(&error, Error::$variant { .. });
        let all = format!("{error} {:?}", std::error::Error::source(&error));
        assert!(is_variant && error.code() == $code && all.contains($text), "{error:?}");
    };
}

async fn every_error<S: Session>(shop: &Shop, session: &mut S, stranger: &mut S) {
    let before = count(shop).await;
    let s = session;
    let send = |options: Options| (options, "warehouse", &1);
    check_error!(
        Postrider::send(s, "nobody", &1),
        UnknownEndpoint,
        Some("42704"),
        "Endpoint 'nobody' does not exist"
    );
    check_error!(
        Postrider::send_batch(s, "nobody", [1]),
        UnknownEndpoint,
        Some("42704"),
        "Endpoint 'nobody' does not exist"
    );
    check_error!(
        Postrider::publish(s, "nothing", &1),
        UnknownEventType,
        Some("42704"),
        "Event type 'nothing' does not exist"
    );
    let events = [Event::new("order.placed", &1).unwrap(), Event::new("nothing", &1).unwrap()];
    check_error!(
        Postrider::publish_batch(s, &events),
        UnknownEventType,
        Some("42704"),
        "Event type 'nothing' does not exist"
    );
    check_error!(
        Postrider::send(s, "closed", &1),
        Disabled,
        Some("55000"),
        "Endpoint 'closed' is disabled"
    );

    let invalid = [
        (send(Options::new().priority(11)), "22023", "Priority must be between 0 and 10, got 11"),
        (send(Options::new().expires_in(Duration::ZERO)), "22023", "must be in the future"),
        (send(Options::new().expires_at(SystemTime::UNIX_EPOCH)), "22023", "in the future"),
        (send(Options::new().scheduled_in(Duration::MAX)), "22008", "out of range"),
        (send(Options::new().idempotency_key("")), "22023", "must have 1 to 255 characters"),
        (send(Options::new().idempotency_key("a\0b")), "22021", "invalid byte sequence"),
        (send(Options::new().header("a b", "c")), "22023", "is not a header name"),
        (send(Options::new().header("a", "\0")), "22P05", "unsupported Unicode escape"),
        (send(Options::new().metadata(json!([]))), "22023", "p_metadata must be an object"),
    ];
    for ((options, endpoint, payload), code, text) in invalid {
        check_error!(
            Postrider::send_with(s, endpoint, payload, &options),
            Invalid,
            Some(code),
            text
        );
    }
    check_error!(
        Postrider::send(s, "warehouse", "a\0b"),
        Invalid,
        Some("22P05"),
        "unsupported Unicode escape"
    );
    check_error!(
        Postrider::send(s, "warehouse", &"x".repeat(2 << 20)),
        Invalid,
        Some("22023"),
        "exceeds max_payload_size"
    );
    check_error!(
        Postrider::send_bytes(s, "warehouse", b"", "no type"),
        Invalid,
        Some("22023"),
        "must be a media type"
    );
    let huge = vec![0; 1_000_000_001];
    check_error!(
        Postrider::send_bytes(s, "warehouse", &huge, "a/b"),
        Invalid,
        Some("22023"),
        "are more than the"
    );
    let event = Event::new("order.placed", &1).unwrap().with(Options::new().priority(11));
    check_error!(Postrider::publish_batch(s, &[event]), Invalid, Some("22023"), "Priority");
    let by_pairs = HashMap::from([((1, 2), 3)]);
    check_error!(Postrider::send(s, "warehouse", &by_pairs), Serialize, None, "string");
    assert!(matches!(Event::new("order.placed", &by_pairs), Err(Error::Serialize(_))));

    s.ask("begin isolation level repeatable read").await;
    check_error!(
        Postrider::cancel(s, MessageId::from(1)),
        Database,
        Some("25001"),
        "READ COMMITTED"
    );
    s.ask("rollback").await;
    check_error!(Postrider::send(stranger, "warehouse", &1), Database, Some("42501"), "denied");
    assert_eq!(count(shop).await, before, "a refusal writes nothing");

    let key = Options::new().idempotency_key("once");
    Postrider::send_with(s, "warehouse", &1, &key).await.unwrap();
    check_error!(
        Postrider::send_with(s, "warehouse", &2, &key),
        IdempotencyConflict,
        Some("23505"),
        "Idempotency key 'once' conflict: same key with different payload"
    );
    shop.execute("select postrider.set_setting('max_queue_size', '1')").await;
    check_error!(
        Postrider::send(s, "warehouse", &1),
        QueueFull,
        Some("53400"),
        "[postrider] Queue backpressure: "
    );
    shop.execute("select postrider.reset_setting('max_queue_size')").await;
    shop.execute("truncate postrider.idempotency_key").await;
    Postrider::send(s, "warehouse", &1).await.unwrap();

    shop.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'")
        .await;
    // The driver may have read the server's last word, or not.
    let lost = Postrider::send(s, "warehouse", &1).await.unwrap_err();
    assert!(matches!(lost, Error::Database { .. }), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_can_be_told_apart() {
    let shop = open().await;
    shop.execute("create role stranger login").await;
    let stranger = shop.postgres.url_as("stranger", "shop");
    let (mut session, mut other) =
        (tokio_session(&url(&shop)).await, tokio_session(&stranger).await);
    every_error(&shop, &mut session, &mut other).await;
    let (mut session, mut other) = (sqlx_session(&url(&shop)).await, sqlx_session(&stranger).await);
    every_error(&shop, &mut session, &mut other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_shares_the_fate_of_its_transaction_and_its_savepoint() {
    let shop = open().await;

    let mut client = tokio_session(&url(&shop)).await;
    let mut transaction = client.transaction().await.unwrap();
    Postrider::send(&mut transaction, "warehouse", "rolled back").await.unwrap();
    transaction.rollback().await.unwrap();
    let mut transaction = client.transaction().await.unwrap();
    Postrider::send(&mut transaction, "warehouse", "outer").await.unwrap();
    let mut savepoint = transaction.transaction().await.unwrap();
    Postrider::send(&mut savepoint, "warehouse", "rolled back").await.unwrap();
    Postrider::send(&mut savepoint, "nobody", "refused").await.unwrap_err();
    savepoint.rollback().await.unwrap();
    let mut savepoint = transaction.transaction().await.unwrap();
    Postrider::send(&mut savepoint, "warehouse", "inner").await.unwrap();
    savepoint.commit().await.unwrap();
    transaction.commit().await.unwrap();
    let mut dropped = client.transaction().await.unwrap();
    Postrider::send(&mut dropped, "warehouse", "dropped").await.unwrap();
    drop(dropped);

    let pool = PgPool::connect(&url(&shop)).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    Postrider::send(&mut transaction, "warehouse", "rolled back").await.unwrap();
    transaction.rollback().await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    Postrider::send(&mut transaction, "warehouse", "outer").await.unwrap();
    let mut savepoint = transaction.begin().await.unwrap();
    Postrider::send(&mut savepoint, "warehouse", "rolled back").await.unwrap();
    Postrider::send(&mut savepoint, "nobody", "refused").await.unwrap_err();
    savepoint.rollback().await.unwrap();
    let mut savepoint = transaction.begin().await.unwrap();
    Postrider::send(&mut *savepoint, "warehouse", "inner").await.unwrap();
    savepoint.commit().await.unwrap();
    transaction.commit().await.unwrap();
    let mut dropped = pool.begin().await.unwrap();
    Postrider::send(&mut dropped, "warehouse", "dropped").await.unwrap();
    drop(dropped);

    let sql = "select array_agg(payload #>> '{}' order by id) from postrider.message";
    let texts: Vec<String> = shop.client().await.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(texts, ["outer", "inner", "outer", "inner"]);
}

/// Transactions of one application behind the pooler, each with a little of everything.
async fn work<S: Session>(mut session: S, name: String) -> usize {
    let s = &mut session;
    let mut written = 0;
    for round in 0..20 {
        let is_fast = round % 3 == 0;
        let is_rolled_back = round % 4 == 3;
        s.ask("begin").await;
        let mode = s.ask("show synchronous_commit").await;
        assert_eq!(mode.as_deref(), Some("on"), "fast mode ends with its transaction");
        if is_fast {
            Postrider::enable_fast_mode(s).await.unwrap();
        }
        let payload = json!({ "name": name, "round": round });
        let message = Postrider::send(s, "warehouse", &payload).await.unwrap();
        let mine = Options::new()
            .idempotency_key(format!("{name} {round}"))
            .header("x-name", &name)
            .priority(3)
            .expires_in(Duration::from_secs(600));
        let keyed = Postrider::send_with(s, "warehouse", &payload, &mine).await.unwrap();
        let again = Postrider::send_with(s, "warehouse", &payload, &mine).await.unwrap();
        assert!(keyed == again && keyed != message);
        let batch = Postrider::send_batch(s, "warehouse", 0..5).await.unwrap();
        assert_eq!(batch.len(), 5);
        Postrider::publish(s, "order.placed", &payload).await.unwrap();
        let events = [Event::new("order.lost", &payload).unwrap()];
        Postrider::publish_batch(s, &events).await.unwrap();
        // One key for all: whoever comes second waits for the first, and writes nothing.
        let shared = Options::new().idempotency_key("shared");
        Postrider::publish_with(s, "order.lost", "shared", &shared).await.unwrap();
        if is_fast {
            assert_eq!(s.ask("show synchronous_commit").await.as_deref(), Some("off"));
        }
        if is_rolled_back {
            s.ask("rollback").await;
        } else {
            s.ask("commit").await;
            written += 9;
        }
        // An error leaves a session that works.
        s.ask("begin").await;
        let refused = Postrider::send(s, "nobody", &payload).await.unwrap_err();
        assert!(matches!(refused, Error::UnknownEndpoint(_)), "{refused:?}");
        s.ask("rollback").await;
    }
    written
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_share_few_connections_through_pgbouncer() {
    let shop = open().await;
    let roles = vec!["postgres".to_owned(), "app".to_owned()];
    let options = pgbouncer::Options { pool_size: 2, roles };
    let pooler = PrivatePgBouncer::start(&shop.postgres, &options).unwrap();
    let url = pooler.url_as("app", "shop");

    let mut workers = tokio::task::JoinSet::new();
    for number in 0..6 {
        workers.spawn(work(tokio_session(&url).await, format!("tokio {number}")));
        workers.spawn(work(sqlx_session(&url).await, format!("sqlx {number}")));
    }
    // Outside of a transaction, tokio-postgres needs one step for a call.
    let mut lone = tokio_session(&url).await;
    workers.spawn(async move {
        for number in 0..100 {
            Postrider::send(&mut lone, "warehouse", &number).await.unwrap();
        }
        100
    });
    let written: usize = workers.join_all().await.into_iter().sum();

    assert_eq!(count(&shop).await, written as i64 + 1, "and the one with the shared key");
    let client = shop.client().await;
    let sql = "select
        (select count(*) from pg_stat_activity where usename = 'app'),
        (select count(*) from pg_locks where locktype = 'advisory')";
    let row = client.query_one(sql, &[]).await.unwrap();
    let (servers, locks): (i64, i64) = (row.get(0), row.get(1));
    assert!((1..=2).contains(&servers), "{servers} connections; {}", pooler.log());
    assert_eq!(locks, 0, "the doorbell's locks end with their transaction");

    let mut session = sqlx_session(&url).await;
    session.ask("begin").await;
    Postrider::send(&mut session, "warehouse", &1).await.unwrap();
    let row = client.query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(1), 1, "the doorbell's lock is held until the commit");
    session.ask("commit").await;
    let row = client.query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(1), 0);
}
