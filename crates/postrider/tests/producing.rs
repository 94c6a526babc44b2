//! Sending: what the functions take, what they write, what they refuse.

use crate::shop::{
    Shop,
    producing::{check_refusals, id_of, ids_of},
};
use postrider_core::id::{MessageId, Priority};
use serde_json::{Value, json};
use tokio_postgres::Client;

/// What a message's row holds of what a sender said.
async fn row(client: &Client, id: i64) -> Value {
    let sql = "select to_jsonb(m) - 'id' - 'xid' - 'created_at' - 'lane' - 'targets'
        from postrider.message m where id = $1";
    client.query_one(sql, &[&id]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_calls_raise_what_the_contract_says_and_write_nothing() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.create_endpoint('off', 'discard', '{}');
            select postrider.disable_endpoint('off');
            select postrider.create_event_type('order.paid');
            select postrider.subscribe('*', 'a');
            select postrider.set_setting('max_payload_size', '1024');",
        )
        .await
        .unwrap();
    // What every function that takes options refuses, whatever it sends to.
    let too_far = "p_scheduled_at must be at most 400 days ahead (max_schedule_ahead), \
        got 2101-02-03 04:05:00+00";
    let options: [(&str, &str, &str); 22] = [
        ("p_priority := 11", "22023", "Priority must be between 0 and 10, got 11"),
        ("p_priority := -1", "22023", "Priority must be between 0 and 10, got -1"),
        ("p_priority := 70000", "22023", "Priority must be between 0 and 10, got 70000"),
        ("p_priority := null", "22023", "Priority must be between 0 and 10, got null"),
        (
            "p_scheduled_at := 'infinity'",
            "22023",
            "p_scheduled_at must be a finite time, got infinity",
        ),
        ("p_scheduled_at := '2101-02-03 04:05+00'", "22023", too_far),
        (
            "p_expires_at := '2001-02-03 04:05+00'",
            "22023",
            "p_expires_at must be in the future, got 2001-02-03 04:05:00+00",
        ),
        (
            "p_expires_at := '2101-02-03 04:05+00', p_scheduled_at := '2101-02-03 04:05+00'",
            "22023",
            "p_expires_at must be after p_scheduled_at, got 2101-02-03 04:05:00+00 and \
            2101-02-03 04:05:00+00",
        ),
        (
            "p_expires_at := '-infinity'",
            "22023",
            "p_expires_at must be in the future, got -infinity",
        ),
        (
            "p_idempotency_key := ''",
            "22023",
            "p_idempotency_key must have 1 to 255 characters, got 0",
        ),
        (
            "p_idempotency_key := repeat('k', 256)",
            "22023",
            "p_idempotency_key must have 1 to 255 characters, got 256",
        ),
        ("p_ordering_key := ''", "22023", "p_ordering_key must have 1 to 255 characters, got 0"),
        (
            "p_ordering_key := repeat('ü', 256)",
            "22023",
            "p_ordering_key must have 1 to 255 characters, got 256",
        ),
        ("p_metadata := '[]'", "22023", "p_metadata must be an object, got array"),
        ("p_metadata := 'null'", "22023", "p_metadata must be an object, got null"),
        ("p_headers := '[]'", "22023", "p_headers must be an object of text values, got array"),
        ("p_headers := 'null'", "22023", "p_headers must be an object of text values, got null"),
        (r#"p_headers := '{"": "x"}'"#, "22023", r#"p_headers: "" is not a header name"#),
        (r#"p_headers := '{"a b": "x"}'"#, "22023", r#"p_headers: "a b" is not a header name"#),
        (
            r#"p_headers := '{"x-a": 5}'"#,
            "22023",
            "p_headers.x-a must be text without control characters",
        ),
        (
            r#"p_headers := '{"x-a": "1\r\nx-b: 2"}'"#,
            "22023",
            "p_headers.x-a must be text without control characters",
        ),
        (
            r#"p_headers := '{"x-a": "\u007f"}'"#,
            "22023",
            "p_headers.x-a must be text without control characters",
        ),
    ];
    for call in [
        "postrider.send_with_options('a', '{}'",
        "postrider.send_bytes('a', 'x', 'text/plain'",
        "postrider.publish('order.paid', '{}'",
    ] {
        let statements = options.map(|(option, _, _)| format!("select {call}, {option})"));
        let cases: Vec<_> = statements
            .iter()
            .zip(options)
            .map(|(sql, (_, code, text))| (sql.as_str(), code, text))
            .collect();
        check_refusals(&client, &cases).await;
    }

    let no_endpoint = "Endpoint 'x' does not exist";
    let disabled = "Endpoint 'off' is disabled";
    let no_name = "Endpoint name must not be null";
    let no_payload = "Payload must not be null";
    // A text of JSON is two quotes longer than the string.
    let large = "Payload of 1025 bytes exceeds max_payload_size of 1024 bytes";
    check_refusals(
        &client,
        &[
            ("select postrider.send('x', '{}')", "42704", no_endpoint),
            ("select postrider.send('off', '{}')", "55000", disabled),
            ("select postrider.send(null, '{}')", "22004", no_name),
            ("select postrider.send('a', null)", "22004", no_payload),
            ("select postrider.send('a', to_jsonb(repeat('x', 1023)))", "22023", large),
            (
                "select postrider.send_with_options('x', '{}', p_idempotency_key := 'k')",
                "42704",
                no_endpoint,
            ),
            (
                "select postrider.send_with_options('off', '{}', p_idempotency_key := 'k')",
                "55000",
                disabled,
            ),
            (
                "select postrider.send_with_options(null, '{}', p_idempotency_key := 'k')",
                "22004",
                no_name,
            ),
            (
                "select postrider.send_with_options('a', null, p_idempotency_key := 'k')",
                "22004",
                no_payload,
            ),
            ("select postrider.send_batch('x', array['{}'::jsonb])", "42704", no_endpoint),
            ("select postrider.send_batch('x', '{}')", "42704", no_endpoint),
            ("select postrider.send_batch('off', array['{}'::jsonb])", "55000", disabled),
            ("select postrider.send_batch(null, array['{}'::jsonb])", "22004", no_name),
            ("select postrider.send_batch('a', null)", "22004", "Payloads must not be null"),
            ("select postrider.send_batch('a', array['{}'::jsonb, null])", "22004", no_payload),
            (
                "select postrider.send_batch('a', array['{}', to_jsonb(repeat('x', 1023))])",
                "22023",
                large,
            ),
            (
                "select postrider.send_batch_with_priority('a', array['{}'::jsonb], 11)",
                "22023",
                "Priority must be between 0 and 10, got 11",
            ),
            ("select postrider.send_bytes('x', 'x', 'text/plain')", "42704", no_endpoint),
            ("select postrider.send_bytes('off', 'x', 'text/plain')", "55000", disabled),
            ("select postrider.send_bytes(null, 'x', 'text/plain')", "22004", no_name),
            ("select postrider.send_bytes('a', null, 'text/plain')", "22004", no_payload),
            (
                "select postrider.send_bytes('a', 'x', null)",
                "22004",
                "Content type must not be null",
            ),
            (
                "select postrider.send_bytes('a', convert_to(repeat('x', 1025), 'UTF8'), 'a/b')",
                "22023",
                large,
            ),
            ("select postrider.publish(null, '{}')", "22004", "Event type must not be null"),
            ("select postrider.publish('order.paid', null)", "22004", no_payload),
            ("select postrider.publish('x', '{}')", "42704", "Event type 'x' does not exist"),
            (
                "select postrider.publish('order.*', '{}')",
                "42704",
                "Event type 'order.*' does not exist",
            ),
            ("select postrider.publish('order.paid', to_jsonb(repeat('x', 1023)))", "22023", large),
            ("select postrider.cancel_message(null)", "22004", "Message id must not be null"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_notation_of_a_priority_is_understood() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    client.batch_execute("select postrider.create_event_type('e')").await.unwrap();
    for sql in [
        "select postrider.send_with_options('a', '{}', p_priority := 5)",
        "select postrider.send_with_options('a', '{}', p_priority => 5)",
        "select postrider.send_with_options('a', '{}', p_priority => 5::smallint)",
        "select postrider.send_with_options('a', '{}', p_priority => '5')",
        "select postrider.send_with_options('a', '{}', 5)",
        "select postrider.send_with_options(p_payload => '{}', p_priority => 5, p_endpoint_name => 'a')",
        "select postrider.send_bytes('a', 'x', 'text/plain', p_priority => 5)",
        "select postrider.publish('e', '{}', p_priority => 5)",
        "select postrider.publish('e', '{}', p_priority => 5::smallint)",
        "select (postrider.send_batch_with_priority('a', array['{}'::jsonb], p_priority := 5))[1]",
        "select (postrider.send_batch_with_priority('a', array['{}'::jsonb], 5::smallint))[1]",
        r#"select (postrider.publish_batch('[{"event_type": "e", "payload": 1, "priority": 5}]'))[1]"#,
    ] {
        let id = id_of(&client, sql).await;
        assert_eq!(row(&client, id).await["priority"], json!(5), "{sql}");
        let priority = MessageId(id).lane().priority();
        assert_eq!(priority.map(Priority::index), Some(5), "{sql}");
    }
    // Many drivers leave the types of parameters to the server.
    let untyped = "prepare untyped as select postrider.send_with_options($1, $2, p_priority => $3);
        execute untyped('a', '{}', '5')";
    client.batch_execute(untyped).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_holds_what_was_said_and_defaults_for_the_rest() {
    let shop = Shop::open_to_producers().await;
    shop.allow_far_schedules().await;
    let client = shop.client().await;
    let defaults = json!({
        "scheduled_at": null, "expires_at": null, "correlation_id": null, "priority": 0,
        "endpoint_name": "a", "event_type": null, "ordering_key": null, "idempotency_key": null,
        "headers": null, "metadata": null, "payload": {"n": 1}, "body": null, "content_type": null,
        "replay_of": null, "erased_at": null,
    });
    let mut from_batch = defaults.clone();
    from_batch["priority"] = json!(10);
    let all = json!({
        "scheduled_at": "2100-01-01T00:00:00+00:00", "expires_at": "2100-01-02T00:00:00+00:00",
        "correlation_id": "00000000-0000-0000-0000-00000000002a", "priority": 10,
        "endpoint_name": "a", "event_type": null, "ordering_key": "o", "idempotency_key": "k",
        "headers": {"x-a": "1\t2", "x-b": ""}, "metadata": {"m": [null]}, "payload": {"n": 1},
        "body": null, "content_type": null, "replay_of": null, "erased_at": null,
    });
    let mut bytes = all.clone();
    bytes["payload"] = Value::Null;
    bytes["body"] = json!("\\x00ff");
    bytes["content_type"] = json!("a/b");
    bytes["idempotency_key"] = json!("l");
    let options = r#"p_priority := 10, p_scheduled_at := '2100-01-01 00:00+00',
        p_expires_at := '2100-01-02 00:00+00',
        p_correlation_id := '00000000-0000-0000-0000-00000000002a', p_ordering_key := 'o',
        p_headers := '{"x-a": "1\t2", "x-b": ""}', p_metadata := '{"m": [null]}'"#;
    client.batch_execute("set timezone = 'UTC'").await.unwrap();
    for (call, expected) in [
        (r#"send('a', '{"n": 1}')"#.to_owned(), &defaults),
        (r#"send(payload => '{"n": 1}', endpoint_name => 'a')"#.to_owned(), &defaults),
        (r#"send_with_options('a', '{"n": 1}')"#.to_owned(), &defaults),
        (
            format!(r#"send_with_options('a', '{{"n": 1}}', p_idempotency_key := 'k', {options})"#),
            &all,
        ),
        (format!(r"send_bytes('a', '\x00ff', 'a/b', p_idempotency_key := 'l', {options})"), &bytes),
    ] {
        let id = id_of(&client, &format!("select postrider.{call}")).await;
        assert_eq!(row(&client, id).await, *expected, "{call}");
    }
    let sql = r#"select postrider.send_batch_with_priority('a', array['{"n": 1}'::jsonb], 10)"#;
    let ids = ids_of(&client, sql).await;
    assert_eq!(row(&client, ids[0]).await, from_batch);
    // A JSON null is a payload; SQL's is none.
    let id = id_of(&client, "select postrider.send('a', 'null')").await;
    assert_eq!(row(&client, id).await["payload"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_a_number_and_a_lane() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let sql = "select postrider.send_batch_with_priority('a', array_agg('{}'::jsonb), 3)
        from generate_series(1, 2000)";
    assert_eq!(ids_of(&client, sql).await.len(), 2000);
    client
        .batch_execute(
            "select postrider.create_event_type('e');
            select postrider.send_with_options('a', '{}', n % 11,
                p_idempotency_key => case when n % 3 = 0 then n::text end)
            from generate_series(1, 500) n;
            select postrider.publish('e', '{}', n % 11) from generate_series(1, 200) n;
            select postrider.send_bytes('a', '', 'a/b', n % 11) from generate_series(1, 200) n;
            select postrider.send_with_options('a', '{}', n % 11, p_ordering_key => (n % 50)::text)
            from generate_series(1, 500) n;
            select postrider.publish('e', '{}', n % 11, p_ordering_key => (n % 50)::text)
            from generate_series(1, 200) n;",
        )
        .await
        .unwrap();
    let wrong = "select count(*)
        from postrider.message m
        where m.id & 1023 <> m.lane
        or m.ordering_key is null and m.lane <> ((m.id >> 16) % 16) * 16 + m.priority
        or m.ordering_key is not null and m.lane <> postrider.key_shard(m.ordering_key) * 16 + 15
        or m.xid >= pg_current_xact_id()";
    assert_eq!(shop.ask::<i64>(wrong).await, 0);
    let sql = "select count(distinct id >> 10) = count(*) and count(distinct lane & 15) = 12
            and count(distinct lane >> 4) = 16
        from postrider.message";
    assert!(shop.ask::<bool>(sql).await);
    // The same on every installation and version, for ever.
    for (key, shard) in [("0", 12), ("ü", 4), ("customer-4711", 0)] {
        let sql = format!("select postrider.key_shard('{key}')");
        assert_eq!(shop.ask::<i32>(&sql).await, shard, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_answers_in_the_order_of_its_payloads() {
    let shop = Shop::open_to_producers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let random = "select array_agg(to_jsonb(n) order by random()) from generate_series(1, 3000) n";
    let payloads: Vec<Value> = client.query_one(random, &[]).await.unwrap().get(0);
    let send = async |client: &Client| -> Vec<i64> {
        let sql = "select postrider.send_batch('a', $1)";
        client.query_one(sql, &[&payloads]).await.unwrap().get(0)
    };
    // Two at once: the numbers of one are not in a row.
    let (own, others) = tokio::join!(send(&client), send(&other));
    for ids in [own, others] {
        assert!(ids.is_sorted());
        let sql = "select array_agg(m.payload order by i.place)
            from unnest($1::bigint[]) with ordinality i (id, place)
            join postrider.message m on m.id = i.id";
        let kept: Vec<Value> = client.query_one(sql, &[&ids]).await.unwrap().get(0);
        assert_eq!(kept, payloads);
    }
    for (sql, count) in [
        ("select postrider.send_batch('a', '{}')", 0),
        (
            "select postrider.send_batch('a', array[array['1'::jsonb, '2'], array['3'::jsonb, '4']])",
            4,
        ),
    ] {
        assert_eq!(ids_of(&client, sql).await.len(), count, "{sql}");
    }
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 6004);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_exists_if_and_only_if_its_transaction_commits() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.create_event_type('e');
            begin;
            select postrider.send('a', '1');
            savepoint s;
            select postrider.send('a', '2');
            select postrider.send_with_options('a', '2', p_idempotency_key => 'k');
            select postrider.publish('e', '2');
            select postrider.send_batch('a', array['2'::jsonb]);
            rollback to s;
            select postrider.send_with_options('a', '1', p_idempotency_key => 'k');
            savepoint t;
            select postrider.publish('e', '1');
            release t;
            commit;
            begin;
            select postrider.send('a', '3');
            select postrider.send_with_options('a', '3', p_idempotency_key => 'l');
            rollback;",
        )
        .await
        .unwrap();
    let sql = "select bool_and(m.payload = '1') and count(*) = 3 and count(distinct m.xid) = 1
            and (select array_agg(k.key) from postrider.idempotency_key k) = '{k}'
        from postrider.message m";
    assert!(shop.ask::<bool>(sql).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_kept_as_they_are_and_have_a_media_type() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let send = "select postrider.send_bytes('a', $1, $2)";
    for (body, content_type) in [
        (&every_byte[..], "application/octet-stream"),
        (b"", "a/b"),
        (b"{ \"n\" : 1.0 }", "application/json; charset=utf-8"),
        (b"x", "multipart/form-data;boundary=\"a b\""),
        (b"x", "application/vnd.api+json"),
        (b"x", "!#$%&'*+.^_`|~-/x"),
    ] {
        let id: i64 = client.query_one(send, &[&body, &content_type]).await.unwrap().get(0);
        let sql = "select body, content_type, payload is null from postrider.message where id = $1";
        let row = client.query_one(sql, &[&id]).await.unwrap();
        assert_eq!(row.get::<_, Vec<u8>>(0), body);
        assert_eq!(row.get::<_, String>(1), content_type);
        assert!(row.get::<_, bool>(2));
    }
    let long = format!("a/{}", "b".repeat(254));
    for content_type in [
        "",
        "text",
        "/",
        "a/",
        "/b",
        "a /b",
        "a/b c",
        "a/b;\r\nx: y",
        "a/b\n",
        "a/b; ü",
        "ä/b",
        &long,
    ] {
        let error = client.query_one(send, &[&&b"x"[..], &content_type]).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        let shown: String = content_type.chars().take(100).collect();
        let text = format!(
            "p_content_type must be a media type of at most 255 characters such as image/png, got \
            '{shown}'"
        );
        assert_eq!((error.code().code(), error.message()), ("22023", text.as_str()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fast_mode_lasts_for_one_transaction() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let mode = "select current_setting('synchronous_commit')";
    let enable = "begin; select postrider.enable_fast_mode(); select postrider.send('a', '{}')";
    for end in ["commit", "rollback"] {
        client.batch_execute(enable).await.unwrap();
        assert_eq!(client.query_one(mode, &[]).await.unwrap().get::<_, String>(0), "off");
        client.batch_execute(end).await.unwrap();
        assert_eq!(client.query_one(mode, &[]).await.unwrap().get::<_, String>(0), "on");
    }
    client.batch_execute("select postrider.enable_fast_mode()").await.unwrap();
    assert_eq!(client.query_one(mode, &[]).await.unwrap().get::<_, String>(0), "on");
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 1);
}
