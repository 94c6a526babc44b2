//! The command line: consumers, and messages as they are committed.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

use crate::shop::{Shop, producing::id_of, serving::LONG};
use serde_json::{Value, json};

const DAY: &str = "2030-05-01T09:00:00Z";

async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('orders', 'discard', '{}');
        select postrider.create_event_type('order.paid');
        select postrider.create_event_type('user.joined');",
    )
    .await;
    shop
}

async fn publish(shop: &Shop, event_type: &str, payload: Value) -> i64 {
    let sql = format!("select postrider.publish('{event_type}', '{payload}')");
    id_of(&shop.client().await, &sql).await
}

/// The lines of JSON that a command prints.
#[track_caller]
fn objects(shop: &Shop, arguments: &[&str]) -> Vec<Value> {
    let run = shop.run(&[arguments, &["--json"]].concat()).succeed();
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn ids(objects: &[Value], field: &str) -> Vec<i64> {
    objects.iter().map(|object| object[field].as_i64().unwrap()).collect()
}

/// A command that runs until it is told to stop, and what it prints meanwhile.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(shop: &Shop, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_postrider"))
            .args(arguments)
            .env("DATABASE_URL", shop.url())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.lines.recv_timeout(LONG).expect("another line")
    }

    #[track_caller]
    fn next_id(&self, field: &str) -> i64 {
        let object: Value = serde_json::from_str(&self.next()).unwrap();
        object[field].as_i64().unwrap()
    }

    /// Ctrl-C: the code that it ends with, and the lines that nobody has read.
    #[track_caller]
    fn interrupt(mut self) -> (i32, Vec<String>) {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(killed.success());
        let code = self.child.wait().unwrap().code();
        (code.expect("it ends by itself"), self.lines.iter().collect())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `postrider tail` has looked at least once, so that it shows what is committed from now on.
async fn until_looking(shop: &Shop) {
    shop.until(
        "select exists (
            select
            from pg_stat_activity a
            where a.query like '-- What is visible now and was not at the look before%')",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_are_created_listed_and_dropped() {
    let shop = open().await;
    assert_eq!(shop.run(&["consumer", "list"]).succeed().stdout, "There are no consumers.\n");
    let created = shop.run(&["consumer", "create", "all", "--json"]).json();
    assert_eq!(created, json!({ "id": 1, "name": "all" }));
    let run = shop.run(&[
        "consumer",
        "create",
        "billing",
        "--event-type",
        "order.*",
        "--event-type",
        "user.joined",
        "--filter",
        "{\"n\": 1}",
        "--ordering",
        "transaction",
        "--partitions",
        "3",
        "--start",
        "now",
    ]);
    assert_eq!(run.succeed().stdout, "Consumer billing is created.\n");
    let rows = shop.run(&["consumer", "list", "--json"]).json();
    assert_eq!((&rows[0]["name"], &rows[0]["ordering"]), (&json!("all"), &json!("commit")));
    assert_eq!(rows[0]["event_types"], Value::Null);
    let billing = &rows[1];
    assert_eq!(billing["event_types"], json!(["order.*", "user.joined"]));
    assert_eq!(
        (&billing["filter"], &billing["ordering"]),
        (&json!({"n": 1}), &json!("transaction"))
    );
    assert_eq!(billing["partition_count"], 3);
    let table = shop.run(&["consumer", "list"]).succeed().stdout;
    assert!(table.starts_with("NAME "), "{table}");

    shop.run(&["consumer", "create", "all"]).fail(1, "Consumer 'all' already exists");
    shop.run(&["consumer", "create", "a b"]).fail(2, "Consumer name must be 1 to 50 letters");
    shop.run(&["consumer", "create", "x", "--start", "soon"]).fail(2, "expected beginning, now,");
    shop.run(&["consumer", "create", "x", "--start", "77"]).fail(1, "Message 77 does not exist");
    shop.run(&["consumer", "create", "x", "--filter", "[1]"]).fail(2, "expected a JSON object");
    shop.run(&["consumer", "create", "x", "--event-type", "o*"]).fail(2, "p_event_types must hold");
    shop.run(&["consumer", "create", "x", "--ordering", "random"]).fail(2, "commit, transaction");
    shop.run(&["consumer", "create", "x", "--partitions", "65"]).fail(2, "65 is not in 1..=64");

    let dropped = shop.run(&["consumer", "drop", "billing", "--yes", "--json"]).json();
    assert_eq!(dropped, json!({ "name": "billing", "dropped": true }));
    shop.run(&["consumer", "drop", "billing", "--yes"])
        .fail(1, "Consumer 'billing' does not exist");
    assert_eq!(shop.run(&["consumer", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_says_how_far_each_partition_is_and_who_has_it() {
    let shop = open().await;
    shop.run(&["consumer", "create", "all", "--partitions", "2"]).succeed();
    for n in 0..4 {
        publish(&shop, "order.paid", json!(n)).await;
    }
    shop.execute("select postrider.tick()").await;
    let holder = shop.client().await;
    let take = "begin;
        select postrider.acknowledge('all', m.position)
        from (
            select f.position
            from postrider.fetch_messages('all', 1, p_partition => 1) f
        ) m;";
    holder.batch_execute(take).await.unwrap();
    let pid: i32 = holder.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let rows = shop.run(&["consumer", "list", "--json"]).json();
    assert_eq!((&rows[0]["partition"], &rows[0]["holder_pid"]), (&json!(0), &Value::Null));
    assert_eq!((&rows[1]["partition"], &rows[1]["holder_pid"]), (&json!(1), &json!(pid)));
    holder.batch_execute("commit").await.unwrap();
    let rows = shop.run(&["consumer", "list", "--json"]).json();
    assert_eq!((&rows[0]["lag_messages"], &rows[1]["lag_messages"]), (&json!(2), &json!(1)));
    assert_eq!((&rows[1]["position"], &rows[1]["holder_pid"]), (&json!(1), &Value::Null));
    let table = shop.run(&["consumer", "list"]).succeed().stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_messages_are_shown_and_resolved() {
    let shop = open().await;
    assert_eq!(shop.run(&["consumer", "parked"]).succeed().stdout, "Nothing is parked.\n");
    for name in ["all", "other"] {
        shop.run(&["consumer", "create", name]).succeed();
    }
    let id = publish(&shop, "order.paid", json!({"n": 1})).await;
    shop.execute("select postrider.tick()").await;
    for name in ["all", "other"] {
        let park = format!(
            "select postrider.park_message('{name}', m.position, 3, 'a\u{1b}[2Jb')
            from postrider.fetch_messages('{name}', 1) m"
        );
        shop.execute(&park).await;
    }
    let rows = shop.run(&["consumer", "parked", "all", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    let row = &rows[0];
    assert_eq!((&row["message_id"], &row["attempt_count"]), (&json!(id), &json!(3)));
    assert_eq!((&row["data"], &row["message_type"]), (&json!({"n": 1}), &json!("order.paid")));
    let table = shop.run(&["consumer", "parked"]).succeed().stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("ID ") && !table.contains('\u{1b}'), "{table:?}");
    let parked = row["id"].to_string();
    let resolved = shop.run(&["consumer", "resolve", &parked]).succeed().stdout;
    assert_eq!(resolved, format!("Parked message {parked} is resolved.\n"));
    shop.run(&["consumer", "resolve", &parked])
        .fail(1, &format!("Parked message {parked} does not exist"));
    assert_eq!(shop.run(&["consumer", "parked", "all", "--json"]).json(), json!([]));
    assert_eq!(shop.run(&["consumer", "parked", "--limit", "0"]).code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_consumer_gets_next_is_shown_and_not_taken() {
    let shop = open().await;
    for (name, options) in [
        ("all", &[][..]),
        ("orders", &["--event-type", "order.*"]),
        ("strict", &["--ordering", "transaction"]),
        ("parts", &["--partitions", "4"]),
    ] {
        shop.run(&[&["consumer", "create", name], options].concat()).succeed();
    }
    let first = publish(&shop, "order.paid", json!({"n": 1})).await;
    let second = publish(&shop, "user.joined", json!({"n": 2})).await;
    let third = shop.send("orders", json!({"n": "\u{1b}[2J"})).await;
    let tail = |name| ids(&objects(&shop, &["consumer", "tail", name]), "message_id");
    for _ in 0..2 {
        assert_eq!(tail("all"), [first, second, third]);
        assert_eq!(tail("orders"), [first]);
        assert_eq!(tail("strict"), [first, second, third]);
        assert_eq!(tail("parts"), [first, second, third]);
    }
    let shown = objects(&shop, &["consumer", "tail", "parts", "--limit", "2"]);
    assert_eq!(ids(&shown, "message_id"), [first, second]);
    assert_eq!(
        (&shown[0]["message_type"], &shown[0]["data"]),
        (&json!("order.paid"), &json!({"n": 1}))
    );
    let text = shop.run(&["consumer", "tail", "all"]).succeed().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(&format!("  {first}  order.paid  -  {{\"n\": 1}}")), "{text}");
    assert!(
        lines[2].contains(&format!("  {third}  orders  -  {{\"n\": \"\\u001b[2J\"}}")),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");

    // While somebody has a batch in hand, it is shown, until it is acknowledged; of each partition alone.
    let holder = shop.client().await;
    let take = "begin;
        select postrider.acknowledge('all', m.position)
        from (select position from postrider.fetch_messages('all', 2) order by 1 limit 1) m;
        select postrider.acknowledge('parts', m.position)
        from (
            select f.position
            from postrider.fetch_messages('parts', p_partition => 2) f
            order by f.position desc
            limit 1
        ) m;";
    holder.batch_execute(take).await.unwrap();
    assert_eq!((tail("all"), tail("parts").len()), (vec![first, second, third], 3));
    holder.batch_execute("commit").await.unwrap();
    assert_eq!(tail("all"), [second, third]);
    assert_eq!(tail("parts"), [first, third]);
    shop.run(&["consumer", "tail", "nobody"]).fail(1, "Consumer 'nobody' does not exist");
    shop.run(&["consumer", "tail", "all", "--limit", "0"]).fail(2, "0 is not in 1..");
}

/// More than a page, and what a consumer does not want in between.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_wants_little_of_a_long_log_is_followed() {
    let shop = open().await;
    for (name, ordering) in [("rare", "commit"), ("strict", "transaction")] {
        shop.run(&[
            "consumer",
            "create",
            name,
            "--event-type",
            "order.paid",
            "--ordering",
            ordering,
            "--partitions",
            "2",
        ])
        .succeed();
    }
    let fill = |count: u32| {
        format!(
            "do $$ begin
                for batch in 1..{count} loop
                    perform postrider.send_batch('orders', array_fill('0'::jsonb, array[1000]));
                    perform postrider.publish('order.paid', '1') from generate_series(1, 11);
                    commit;
                end loop;
            end $$"
        )
    };
    shop.client().await.batch_execute(&fill(24)).await.unwrap();
    let wanted =
        "select array_agg(id order by xid, id) from postrider.message where event_type is not null";
    let all: Vec<i64> = shop.ask(wanted).await;
    assert_eq!(all.len(), 264);
    for name in ["rare", "strict"] {
        let follower = Follower::start(&shop, &["consumer", "tail", name, "--follow", "--json"]);
        for id in &all {
            assert_eq!(follower.next_id("message_id"), *id, "{name}");
        }
        // Only noise, then one more.
        shop.send_many("orders", 20).await;
        let last = publish(&shop, "order.paid", json!(2)).await;
        assert_eq!(follower.next_id("message_id"), last, "{name}");
        assert_eq!(follower.interrupt(), (0, vec![]), "{name}");
        let skip = format!("delete from postrider.message where id = {last}");
        shop.execute(&skip).await;
    }
    let limited = objects(&shop, &["consumer", "tail", "rare", "--follow", "--limit", "150"]);
    assert_eq!(ids(&limited, "message_id"), all[..150]);
    assert_eq!(objects(&shop, &["consumer", "tail", "rare"]).len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_goes_on_from_where_it_is_reset_to() {
    let shop = open().await;
    shop.run(&["consumer", "create", "all"]).succeed();
    let first = publish(&shop, "order.paid", json!(1)).await;
    let second = publish(&shop, "order.paid", json!(2)).await;
    let tail = || ids(&objects(&shop, &["consumer", "tail", "all"]), "message_id");
    assert_eq!(tail(), [first, second]);
    let run = shop.run(&["consumer", "reset", "all", "--yes", "--start", &second.to_string()]);
    assert_eq!(run.succeed().stdout, format!("Consumer all goes on from {second}.\n"));
    assert_eq!(tail(), [second]);
    let reset = shop.run(&["consumer", "reset", "all", "--yes", "--start", "now", "--json"]).json();
    assert_eq!(reset, json!({ "name": "all", "start": "now" }));
    assert_eq!(tail(), [0; 0]);
    shop.run(&["consumer", "reset", "all", "--yes", "--start", "2001-01-01T00:00:00Z"]).succeed();
    assert_eq!(tail(), [first, second]);
    shop.run(&["consumer", "reset", "all", "--yes", "--start", DAY]).succeed();
    assert_eq!(tail(), [0; 0]);
    shop.run(&["consumer", "reset", "all"]).fail(2, "--start");
    shop.run(&["consumer", "reset", "none", "--yes", "--start", "now"])
        .fail(1, "Consumer 'none' does not exist");

    // It waits for seconds, and in vain.
    shop.execute("alter function postrider.hold_consumer set lock_timeout = '300ms'").await;
    let holder = shop.client().await;
    let take = "begin; select position from postrider.fetch_messages('all')";
    holder.batch_execute(take).await.unwrap();
    shop.run(&["consumer", "reset", "all", "--yes", "--start", "now"])
        .fail(1, "Consumer 'all' is held by another transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_shown_once_however_late_it_is_committed() {
    let shop = open().await;
    publish(&shop, "order.paid", json!("before")).await;
    let follower = Follower::start(&shop, &["tail", "--json"]);
    until_looking(&shop).await;

    // It has its number early and commits late; a savepoint of it is rolled back.
    let slow = shop.client().await;
    slow.batch_execute("begin").await.unwrap();
    let late = id_of(&slow, "select postrider.publish('order.paid', '\"late\"')").await;
    let undone = "savepoint s; select postrider.send('orders', '1'); rollback to s";
    slow.batch_execute(undone).await.unwrap();
    // It has its transaction id early and writes late.
    let other = shop.client().await;
    other.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
    for n in 0..5 {
        let id = publish(&shop, "order.paid", json!(n)).await;
        assert_eq!(follower.next_id("id"), id);
    }
    let later = id_of(&other, "select postrider.send('orders', '\"later\"')").await;
    let between = publish(&shop, "user.joined", json!({})).await;
    assert_eq!(follower.next_id("id"), between);
    other.batch_execute("commit").await.unwrap();
    assert_eq!(follower.next_id("id"), later);
    slow.batch_execute("commit").await.unwrap();
    assert_eq!(follower.next_id("id"), late);
    // Several pages at once, in order.
    shop.send_many("orders", 250).await;
    let sent: Vec<i64> =
        shop.ask("select array_agg(id order by id desc) from (select id from postrider.message order by id desc limit 250) m").await;
    for id in sent.iter().rev() {
        assert_eq!(follower.next_id("id"), *id);
    }
    let last = publish(&shop, "order.paid", json!("last")).await;
    assert_eq!(follower.next_id("id"), last);
    assert_eq!(follower.interrupt(), (0, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_shown_from_any_place() {
    let shop = open().await;
    let first = publish(&shop, "order.paid", json!({"n": 1, "country": "AT"})).await;
    let second = publish(&shop, "user.joined", json!({"n": 2})).await;
    let sent = shop.send("orders", json!({"text": "x".repeat(500)})).await;
    shop.execute("select postrider.send_bytes('orders', '\\x0001', 'image/png')").await;
    let tail = |options: &[&str], count: &str| {
        let shown = objects(&shop, &[&["tail", "--limit", count], options].concat());
        ids(&shown, "id")
    };
    assert_eq!(tail(&["--start", "beginning"], "3"), [first, second, sent]);
    assert_eq!(tail(&["--start", &second.to_string()], "2"), [second, sent]);
    assert_eq!(tail(&["--start", "2001-01-01T00:00:00Z"], "1"), [first]);
    let user = ["--start", "beginning", "--event-type", "user.*"];
    assert_eq!(tail(&user, "1"), [second]);
    let filter = ["--start", "beginning", "--filter", "{\"country\": \"AT\"}"];
    assert_eq!(tail(&filter, "1"), [first]);
    let text = shop.run(&["tail", "--start", "beginning", "--limit", "4"]).succeed().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].ends_with(&format!("  {first}  order.paid  -  {{\"n\": 1, \"country\": \"AT\"}}")),
        "{text}"
    );
    assert!(lines[2].contains("  orders  -  ") && lines[2].ends_with('…'), "{text}");
    assert_eq!(lines[2].chars().count(), 100);
    assert!(lines[3].ends_with("  orders  -  2 bytes of image/png"), "{text}");

    // From a place, and on: what was there is shown first.
    let options = ["tail", "--start", &sent.to_string(), "--event-type", "*", "--json"];
    let follower = Follower::start(&shop, &options);
    until_looking(&shop).await;
    let last = publish(&shop, "user.joined", json!({})).await;
    assert_eq!(follower.next_id("id"), last);
    assert_eq!(follower.interrupt(), (0, vec![]));

    shop.run(&["tail", "--start", "someday"]).fail(2, "expected beginning, now,");
    shop.run(&["tail", "--event-type", "order*"]).fail(2, "expected an event type, or a pattern");
    shop.run(&["tail", "--filter", "1"]).fail(2, "expected a JSON object");
}

/// The plans of what `tail` asks ten times a second.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_followed_by_index() {
    let shop = open().await;
    let client = shop.client().await;
    client
        .batch_execute(include_str!("../../../sql/queries/watch/live_session.sql"))
        .await
        .unwrap();
    let statements = [
        (
            "live_messages",
            include_str!("../../../sql/queries/watch/live_messages.sql"),
            "text, bigint, text[], text",
            "pg_current_snapshot()::text, 100, null, null",
        ),
        (
            "live_page",
            include_str!("../../../sql/queries/watch/live_page.sql"),
            "text, text, bigint, text[], text, bigint, text",
            "'1:1:', pg_current_snapshot()::text, 100, null, null, 10000000, null",
        ),
    ];
    for (name, sql, types, values) in statements {
        // Planned while the log is empty.
        let prepare =
            format!("prepare {name} ({types}) as {}", sql.trim_end().trim_end_matches(';'));
        client.batch_execute(&prepare).await.unwrap();
        client.batch_execute(&format!("execute {name} ({values})")).await.unwrap();
    }
    shop.send_many("orders", 20_000).await;
    for (name, .., values) in statements {
        let sql =
            format!("explain (analyze, buffers, timing off, costs off) execute {name} ({values})");
        let plan: Vec<String> = client
            .simple_query(&sql)
            .await
            .unwrap()
            .iter()
            .filter_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0)?.to_owned()),
                _ => None,
            })
            .collect();
        let plan = plan.join("\n");
        assert!(!plan.contains("Seq Scan on message") && !plan.contains("Bitmap"), "{plan}");
        assert!(plan.contains("Index Scan"), "{plan}");
    }
}
