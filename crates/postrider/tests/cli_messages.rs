//! The command line: messages with their options, events, and what was cancelled.

use crate::shop::Shop;
use serde_json::{Value, json};

const ORDER: [&str; 3] = ["send", "orders", "{\"n\": 1}"];

/// With endpoints and event types.
async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    for name in ["orders", "audit"] {
        shop.run(&["endpoint", "create", name, "--protocol", "discard"]).succeed();
    }
    shop
}

async fn value(shop: &Shop, sql: &str) -> Value {
    let sql = format!("select to_jsonb(({sql}))");
    shop.client().await.query_one(&sql, &[]).await.unwrap().get(0)
}

/// What a run with `--json` says is the message's id.
fn sent(shop: &Shop, arguments: &[&str], options: &[&str]) -> i64 {
    shop.run(&[arguments, options, &["--json"]].concat()).json()["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_option_arrives() {
    let shop = open().await;
    shop.allow_far_schedules().await;
    shop.run(&["event-type", "create", "order.paid"]).succeed();
    let id = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
    let mut options = vec!["--priority", "7", "--key", "customer 7", "--idempotency-key", "once"];
    options.extend(["--at", "2090-05-01T09:00:00+02:00", "--correlation-id", id]);
    options.extend(["--header", "x-a=b", "--metadata", "{\"by\": 1.10}", "--expires-in", "36500d"]);
    let publish = ["publish", "order.paid", "{\"n\": 1}"];
    let file = shop.postgres.socket_dir().join("label.bin");
    std::fs::write(&file, b"\x00\xff\n").unwrap();
    let file = file.to_str().unwrap();
    let bytes = ["send", "audit", "--body-file", file, "--content-type", "image/png"];
    for (arguments, different) in [
        (&ORDER[..], json!({"endpoint_name": "orders", "payload": {"n": 1}})),
        (&publish, json!({"event_type": "order.paid", "payload": {"n": 1}})),
        (
            &bytes,
            json!({"endpoint_name": "audit", "body": "\\x00ff0a", "content_type": "image/png"}),
        ),
    ] {
        let message = sent(&shop, arguments, &options);
        assert_eq!(sent(&shop, arguments, &options), message, "the same idempotency key");
        let sql = format!(
            "select jsonb_strip_nulls(to_jsonb(m) || jsonb_build_object(
                'moment', extract(epoch from m.scheduled_at)::bigint,
                'days', extract(epoch from m.expires_at - m.created_at)::bigint / 86400,
                'digits', m.metadata ->> 'by'))
                - array['id', 'xid', 'created_at', 'lane', 'targets', 'scheduled_at', 'expires_at']
            from postrider.message m where m.id = {message}"
        );
        let mut expected = json!({
            "priority": 7, "ordering_key": "customer 7", "idempotency_key": "once",
            "correlation_id": id, "headers": {"x-a": "b"}, "metadata": {"by": 1.10},
            "moment": 3_797_305_200_i64, "days": 36_500, "digits": "1.10",
        });
        expected.as_object_mut().unwrap().extend(different.as_object().unwrap().clone());
        assert_eq!(value(&shop, &sql).await, expected);
    }
    let conflict = [&["send", "orders", "{\"n\": 2}"][..], &options].concat();
    shop.run(&conflict).fail(1, "Idempotency key 'once' conflict: same key with different payload");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_counts_by_the_clock_of_the_database() {
    let shop = open().await;
    let message = sent(&shop, &ORDER, &["--delay", "1.5m", "--expires-in", "1h"]);
    let sql = format!(
        "select jsonb_build_array(scheduled_at - created_at, expires_at - created_at)
        from postrider.message where id = {message}"
    );
    assert_eq!(value(&shop, &sql).await, json!(["00:01:30", "01:00:00"]));
    let input = shop.run_with_input(
        &["send", "orders", "--body-file", "-", "--content-type", "text/plain", "--json"],
        "not { json",
    );
    let message = &input.json()["id"];
    let sql =
        format!("select convert_from(body, 'UTF8') from postrider.message where id = {message}");
    assert_eq!(value(&shop, &sql).await, "not { json");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_options_are_named_with_their_bounds() {
    let shop = open().await;
    let long = "k".repeat(256);
    for (options, code, texts) in [
        (&["--priority", "11"][..], 2, &["--priority <NUMBER>", "11 is not in 0..=10"][..]),
        (&["--priority=-1"], 2, &["--priority <NUMBER>", "-1 is not in 0..=10"]),
        (&["--priority", "high"], 2, &["--priority <NUMBER>"]),
        (&["--key", ""], 2, &["--key <KEY>"]),
        (&["--key", &long], 2, &["--key <KEY>", "expected 1 to 255 characters, got 256"]),
        (&["--idempotency-key", &long], 2, &["--idempotency-key <KEY>", "got 256"]),
        (&["--at", "tomorrow"], 2, &["--at <MOMENT>", "2030-05-01T09:00:00Z"]),
        (&["--at", "2030-02-30T00:00Z"], 2, &["the day must be between 1 and 28, got 30"]),
        (&["--at", "2030-02-03T00:00Z", "--delay", "1h"], 2, &["cannot be used with"]),
        (&["--delay", "soon"], 2, &["--delay <TIME>", "30s, 10m, 2h, 1d"]),
        (&["--delay", "40000d"], 2, &["--delay <TIME>", "at most 36500d, got 40000d"]),
        (&["--delay", "1h", "--expires-in", "60m"], 2, &["--expires-in must be longer than"]),
        (&["--at", "2090-01-01T00:00Z", "--expires-in", "1h"], 2, &["p_expires_at must be after"]),
        (&["--metadata", "[]"], 2, &["--metadata <JSON>", "expected a JSON object"]),
        (&["--metadata", "{"], 2, &["--metadata <JSON>", "EOF"]),
        (&["--header", "a b=c"], 2, &["p_headers: \"a b\" is not a header name"]),
        (&["--correlation-id", "x"], 2, &["--correlation-id <UUID>"]),
        (&["--content-type", "image/png"], 2, &["cannot be used with"]),
        (&["--body-file", "x"], 2, &["cannot be used with"]),
        (&["--batch", "x"], 2, &["cannot be used with"]),
    ] {
        for text in texts {
            shop.run(&[&ORDER, options].concat()).fail(code, text);
        }
    }
    shop.run(&["send", "orders", "--body-file", "x"]).fail(2, "--content-type");
    shop.run(&["send", "orders", "--content-type", "image/png"]).fail(2, "--body-file");
    shop.run(&["send", "orders", "--batch", "-", "--content-type", "a/b"])
        .fail(2, "cannot be used");
    let bytes = ["send", "orders", "--body-file", "-", "--content-type", "png"];
    shop.run(&bytes).fail(2, "p_content_type must be a media type of at most 255 characters");
    let missing = ["send", "orders", "--body-file", "missing", "--content-type", "image/png"];
    shop.run(&missing).fail(2, "missing: No such file");
    for options in [["--key", "k"], ["--delay", "1h"], ["--header", "a=b"], ["--metadata", "{}"]] {
        let batch = [&["send", "orders", "--batch", "-"], &options[..]].concat();
        shop.run(&batch).fail(2, "cannot be used with");
    }
    shop.run(&["publish", "order.paid", "1"]).fail(1, "Event type 'order.paid' does not exist");
    shop.run(&["publish", "order.paid"]).fail(2, "PAYLOAD");
    shop.run(&["publish", "--batch", "-", "--priority", "1"]).fail(2, "cannot be used with");
    assert_eq!(value(&shop, "select count(*) from postrider.message").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_one_priority() {
    let shop = open().await;
    let batch = ["send", "orders", "--batch", "-", "--priority", "9"];
    let said = shop.run_with_input(&batch, "1\n2\n").succeed().stdout;
    assert_eq!(said, "2 messages are committed for endpoint orders.\n");
    let sql = "select jsonb_agg(priority) from postrider.message";
    assert_eq!(value(&shop, sql).await, json!([9, 9]));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_published_from_lines() {
    let shop = open().await;
    shop.run(&["event-type", "create", "order.paid"]).succeed();
    let publish = |lines: &str| shop.run_with_input(&["publish", "--batch", "-", "--json"], lines);
    let first = "{\"event_type\": \"order.paid\", \"payload\": {\"n\": 1}, \"priority\": 3}";
    let second = "{\"event_type\": \"order.paid\", \"payload\": null, \"ordering_key\": \"k\"}";
    let published = publish(&format!("{first}\n\n{second}\n")).json();
    assert_eq!((&published["count"], published["ids"].as_array().unwrap().len()), (&json!(2), 2));
    let sql = "select jsonb_agg(jsonb_build_array(event_type, payload, priority, ordering_key)
        order by priority desc) from postrider.message";
    let expected = json!([["order.paid", {"n": 1}, 3, null], ["order.paid", null, 0, "k"]]);
    assert_eq!(value(&shop, sql).await, expected);
    assert_eq!(publish("").json(), json!({"count": 0, "ids": []}));

    for (line, code, text) in [
        ("{", 2, "-, line 3: "),
        ("5", 2, "-, line 3: must be an object, got number"),
        ("{\"event_typ\": \"a\"}", 2, "-, line 3: event_typ is not a known key (did you mean"),
        (
            "{\"event_type\": \"order.paid\", \"payload\": 1, \"priority\": \"1\"}",
            2,
            "-, line 3: priority must be a number, got string",
        ),
        ("{\"event_type\": \"a\", \"payload\": 1}", 1, "-, line 3: Event type 'a' does not exist"),
    ] {
        publish(&format!("{first}\n\n{line}\n")).fail(code, text);
    }
    let many: String = (0..1_002).map(|_| format!("{first}\n")).collect();
    publish(&format!("{many}{{}}\n")).fail(2, "-, line 1003: Event type must not be null");
    assert_eq!(value(&shop, "select count(*) from postrider.message").await, 2);
    assert_eq!(publish(&many).json()["count"], 1_002);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_cancelled_once() {
    let shop = open().await;
    let id = sent(&shop, &ORDER, &[]).to_string();
    let cancel = |id: &str| shop.run(&["cancel", id]).succeed().stdout;
    let done = format!("Message {id} is cancelled wherever it had not been attempted.\n");
    assert_eq!(cancel(&id), done);
    assert!(cancel(&id).starts_with("Nothing was cancelled: message "));
    assert!(cancel("4096").starts_with("Nothing was cancelled: message 4096 "));
    let id = sent(&shop, &ORDER, &[]);
    for is_cancelled in [true, false] {
        let said = shop.run(&["cancel", &id.to_string(), "--json"]).json();
        assert_eq!(said, json!({"message_id": id, "cancelled": is_cancelled}));
    }
    shop.run(&["cancel", "0"]).fail(2, "<MESSAGE>");
    shop.run(&["cancel", "all"]).fail(2, "<MESSAGE>");
}

#[tokio::test(flavor = "multi_thread")]
async fn event_types_are_managed() {
    let shop = open().await;
    assert_eq!(shop.run(&["event-type", "list"]).succeed().stdout, "There are no event types.\n");
    let options =
        ["--description", "it has arrived", "--schema", "true", "--metadata", "{\"a\": 1}"];
    let create = [&["event-type", "create", "order.paid"][..], &options].concat();
    assert_eq!(shop.run(&create).succeed().stdout, "Event type order.paid is created.\n");
    shop.run(&create).fail(1, "Event type 'order.paid' already exists");
    shop.run(&["event-type", "create", "a b"]).fail(2, "letters, digits, _ or -");
    shop.run(&["event-type", "create", "a", "--schema", "5"]).fail(2, "p_schema must be");
    shop.run(&["event-type", "create", "a", "--schema", "{"]).fail(2, "--schema <JSON>");
    shop.run(&["event-type", "create", "a", "--metadata", "5"]).fail(2, "expected a JSON object");
    let list = shop.run(&["event-type", "list", "--json"]).json();
    assert_eq!(list[0]["name"], "order.paid");
    assert_eq!((&list[0]["schema"], &list[0]["metadata"]), (&json!(true), &json!({"a": 1})));
    let table = shop.run(&["event-type", "list"]).succeed().stdout;
    assert!(table.contains("order.paid  it has arrived  "), "{table}");

    shop.run(&["subscription", "create", "order.paid", "orders"]).succeed();
    let drop = ["event-type", "drop", "order.paid"];
    shop.run(&drop).fail(1, "Event type 'order.paid' has subscriptions (1)");
    shop.run(&["subscription", "end", "3"]).succeed();
    assert_eq!(shop.run(&drop).succeed().stdout, "Event type order.paid is dropped.\n");
    shop.run(&drop).fail(1, "Event type 'order.paid' does not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_are_managed() {
    let shop = open().await;
    shop.run(&["event-type", "create", "order.paid"]).succeed();
    let run = |arguments: &[&str]| shop.run(&[&["subscription"], arguments].concat());
    let json = |arguments: &[&str]| run(&[arguments, &["--json"]].concat()).json();
    assert_eq!(run(&["list"]).succeed().stdout, "There are no subscriptions.\n");
    let first = json(&["create", "order.paid", "orders"])["id"].to_string();
    let second = run(&["create", "order.*", "audit", "--filter", "{\"n\": 1}", "--disabled"]);
    assert!(second.succeed().stdout.contains(" of audit to order.* is created."));
    run(&["create", "order.sent", "orders"]).fail(1, "Event type 'order.sent' does not exist");
    run(&["create", "order.paid", "x"]).fail(1, "Endpoint 'x' does not exist");
    run(&["create", "or*", "orders"]).fail(2, "p_event_type must be an event type, or a pattern");
    run(&["create", "*", "orders", "--filter", "5"]).fail(2, "expected a JSON object");

    let list = json(&["list", "--endpoint", "audit"]);
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(
        (&list[0]["event_type"], &list[0]["filter"], &list[0]["enabled"], &list[0]["ended"]),
        (&json!("order.*"), &json!({"n": 1}), &json!(false), &json!(false))
    );
    let second = list[0]["id"].to_string();
    let targets = async || {
        let message = sent(&shop, &["publish", "order.paid", "{\"n\": 1}"], &[]);
        let sql = format!("select targets from postrider.message where id = {message}");
        value(&shop, &sql).await.to_string()
    };
    assert_eq!(targets().await, format!("[{first}]"));
    assert_eq!(
        run(&["enable", &second]).succeed().stdout,
        format!("Subscription {second} is enabled.\n")
    );
    assert_eq!(targets().await, format!("[{first},{second}]"));
    for is_changed in [true, false] {
        assert_eq!(json(&["disable", &first])["changed"], is_changed);
    }
    assert_eq!(targets().await, format!("[{second}]"));
    for is_changed in [true, false] {
        assert_eq!(json(&["end", &second])["changed"], is_changed);
    }
    assert_eq!(targets().await, "[]");
    run(&["enable", &second]).fail(1, &format!("Subscription {second} has ended"));
    run(&["enable", "99"]).fail(1, "Subscription 99 does not exist");
    run(&["end", "99"]).fail(1, "Subscription 99 does not exist");
    run(&["disable", "1"]).fail(1, "Subscription 1 stands for its endpoint");
    run(&["end", "1"]).fail(1, "Subscription 1 stands for its endpoint");
    run(&["disable", "0"]).fail(2, "0 is not in 1..");
    assert_eq!(json(&["list"]).as_array().unwrap().len(), 1);
    let ended = json(&["list", "--ended", "--endpoint", "audit"]);
    assert_eq!((&ended[0]["ended"], ended[0]["ended_at"].is_string()), (&json!(true), true));
    let table = run(&["list", "--ended"]).succeed().stdout;
    assert!(table.starts_with("ID  ENDPOINT NAME  EVENT TYPE  FILTER"), "{table}");
    assert_eq!(table.lines().count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_of_bytes_shows_what_they_are() {
    let shop = open().await;
    let sql = "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
            priority, event_type, payload, body, content_type)
        values
            (1024, 1, 1, 'orders', 'rejected', 0, now(), 0, null, null, '\\x00ff', 'image/png'),
            (2048, 3, 1, 'orders', 'rejected', 0, now(), 9, 'order.paid', '{\"n\": 1}', null, null)";
    shop.execute(sql).await;
    let bytes = shop.run(&["dlq", "show", "1", "--json"]).json();
    assert_eq!((&bytes["body_bytes"], &bytes["content_type"]), (&json!(2), &json!("image/png")));
    assert_eq!(bytes.get("payload"), None);
    let event = shop.run(&["dlq", "show", "2", "--json"]).json();
    assert_eq!((&event["payload"], event.get("body_bytes")), (&json!({"n": 1}), None));
    assert_eq!((&event["event_type"], &event["priority"]), (&json!("order.paid"), &json!(9)));
    let list = shop.run(&["dlq", "list"]).succeed().stdout;
    assert!(list.contains("order.paid"), "{list}");
    let sql = "set role postrider_monitor; prepare p as ";
    let query = include_str!("../../../sql/queries/dead_letters/dead_letters.sql");
    shop.execute(&format!("{sql}{query} execute p(null, true, 5)")).await;
}
