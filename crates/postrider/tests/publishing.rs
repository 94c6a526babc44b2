//! Event types, subscriptions, and who gets what is published.

use crate::shop::{
    Shop,
    producing::{check_refusal, check_refusals, id_of, ids_of},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// A server with the endpoints `a` to `f` and the event types `order.paid`, `order.item.added` and
/// `user`.
async fn open() -> Shop {
    let shop = Shop::open_to_producers().await;
    shop.execute(
        "select postrider.create_endpoint(n, 'discard', '{}')
        from unnest(array['b', 'c', 'd', 'e', 'f']) n;
        select postrider.create_event_type(n)
        from unnest(array['order.paid', 'order.item.added', 'user']) n;",
    )
    .await;
    shop
}

/// The endpoints that a message goes to, in the order of its targets.
async fn receivers(client: &Client, id: i64) -> String {
    let sql = "select coalesce(string_agg(e.name, '' order by t.place), '')
        from postrider.message m
        cross join lateral unnest(m.targets) with ordinality t (target, place)
        join postrider.subscriptions s on s.id = t.target
        join postrider.endpoints e on e.id = s.endpoint_id
        where m.id = $1";
    client.query_one(sql, &[&id]).await.unwrap().get(0)
}

async fn check(client: &Client, cases: &[(&str, &str, &str)]) {
    for (event_type, payload, expected) in cases {
        let sql = format!("select postrider.publish('{event_type}', '{payload}')");
        let id = id_of(client, &sql).await;
        assert_eq!(receivers(client, id).await, *expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_match_whole_parts() {
    let shop = open().await;
    let client = shop.client().await;
    batch(
        &client,
        "select postrider.create_event_type(n)
        from unnest(array['order', 'order.paid.late', 'orders.paid', 'order-x.paid', 'Order.paid']) n;
        select postrider.subscribe('order.paid', 'a'), postrider.subscribe('order.*', 'b'),
            postrider.subscribe('order.item.*', 'c'), postrider.subscribe('*', 'd'),
            postrider.subscribe('order.paid.*', 'e'), postrider.subscribe('unheard.of.*', 'f');",
    )
    .await;
    check(
        &client,
        &[
            ("order", "1", "d"),
            ("order.paid", "1", "abd"),
            ("order.paid.late", "1", "bde"),
            ("order.item.added", "1", "bcd"),
            ("orders.paid", "1", "d"),
            ("order-x.paid", "1", "d"),
            ("Order.paid", "1", "d"),
            ("user", "1", "d"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_is_contained_in_the_payload() {
    let shop = open().await;
    let client = shop.client().await;
    batch(
        &client,
        r#"select postrider.subscribe('user', n, f::jsonb)
        from (values ('a', '{"n": 1}'), ('b', '{"o": {"p": "x"}}'), ('c', '{"list": [1, 2]}'),
            ('d', '{"none": null}'), ('e', '{}'), ('f', null)) v (n, f)"#,
    )
    .await;
    check(
        &client,
        &[
            ("user", r#"{"n": 1}"#, "aef"),
            ("user", r#"{"n": 1.0, "m": 2}"#, "aef"),
            ("user", r#"{"n": "1"}"#, "ef"),
            ("user", r#"{"o": {"p": "x", "q": 1}}"#, "bef"),
            ("user", r#"{"o": [{"p": "x"}]}"#, "ef"),
            ("user", r#"{"list": [3, 2, 1]}"#, "cef"),
            ("user", r#"{"list": [1]}"#, "ef"),
            ("user", r#"{"none": null}"#, "def"),
            ("user", r#"{"none": 1}"#, "ef"),
            ("user", "[]", "f"),
            ("user", "1", "f"),
            ("user", "null", "f"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_in_force_gets_anything() {
    let shop = open().await;
    let client = shop.client().await;
    check(&client, &[("user", "1", "")]).await;
    let ids: Vec<i64> = ids_of(
        &client,
        r#"select array[postrider.subscribe('user', 'a'), postrider.subscribe('user', 'b'),
            postrider.subscribe('user', 'c', null, '{"enabled": false}'),
            postrider.subscribe('user', 'd', '{}', '{"enabled": true}'),
            postrider.subscribe('*', 'a'), postrider.subscribe('user', 'a', '{"n": 1}')]"#,
    )
    .await;
    check(&client, &[("user", "{}", "abd"), ("user", r#"{"n": 1}"#, "abd")]).await;
    batch(&client, "select postrider.disable_endpoint('b')").await;
    check(&client, &[("user", "{}", "ad")]).await;
    batch(&client, "select postrider.enable_endpoint('b')").await;
    batch(&client, "update postrider.subscriptions set enabled = true where event_type = 'user'")
        .await;
    check(&client, &[("user", "{}", "abcd")]).await;
    let end = async |id: i64| -> bool {
        let sql = "select postrider.unsubscribe($1)";
        client.query_one(sql, &[&id]).await.unwrap().get(0)
    };
    assert!(end(ids[0]).await);
    assert!(!end(ids[0]).await, "ended before");
    // Another subscription of the endpoint steps in.
    check(&client, &[("user", "{}", "bcda")]).await;
    for id in &ids[4..] {
        assert!(end(*id).await);
    }
    check(&client, &[("user", "{}", "bcd")]).await;
    batch(&client, "select postrider.drop_endpoint('c', p_force => true)").await;
    check(&client, &[("user", "{}", "bd")]).await;
    // A message of its own endpoint is not an event.
    let id = id_of(&client, "select postrider.send('a', '{}')").await;
    assert_eq!(receivers(&client, id).await, "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_for_nobody_is_kept() {
    let shop = open().await;
    let client = shop.client().await;
    let id = id_of(&client, "select postrider.publish('user', '{\"n\": 1}')").await;
    let sql = "select to_jsonb(array[targets::text, event_type, payload::text, endpoint_name])
        from postrider.message where id = $1";
    let row: Value = client.query_one(sql, &[&id]).await.unwrap().get(0);
    assert_eq!(row, json!(["{}", "user", "{\"n\": 1}", null]));
    assert!(!shop.ask::<bool>(&format!("select postrider.cancel_message({id})")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receivers_are_those_that_the_publisher_sees() {
    let shop = open().await;
    let (publisher, admin) = (shop.client().await, shop.client().await);
    batch(&admin, "select postrider.subscribe('user', 'a')").await;
    batch(&publisher, "begin").await;
    let publish = "select postrider.publish('user', '1')";
    let first = id_of(&publisher, publish).await;
    batch(&admin, "begin; select postrider.subscribe('user', 'b')").await;
    let second = id_of(&publisher, publish).await;
    batch(&admin, "commit").await;
    let third = id_of(&publisher, publish).await;
    batch(&publisher, "commit").await;
    for (id, expected) in [(first, "a"), (second, "a"), (third, "ab")] {
        assert_eq!(receivers(&publisher, id).await, expected);
    }
    // In a transaction with one snapshot, those of its beginning.
    batch(&publisher, "begin isolation level repeatable read; select from postrider.setting").await;
    batch(&admin, "select postrider.subscribe('user', 'c')").await;
    let id = id_of(&publisher, publish).await;
    batch(&publisher, "commit").await;
    assert_eq!(receivers(&publisher, id).await, "ab");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_hold_for_a_published_message() {
    let shop = open().await;
    shop.allow_far_schedules().await;
    let client = shop.client().await;
    batch(&client, "set timezone = 'UTC'").await;
    let expected = json!({
        "scheduled_at": "2100-01-01T00:00:00+00:00", "expires_at": "2100-01-02T00:00:00+00:00",
        "correlation_id": "00000000-0000-0000-0000-00000000002a", "priority": 10,
        "endpoint_name": null, "event_type": "user", "ordering_key": "o", "idempotency_key": "k",
        "headers": {"x-a": "1"}, "metadata": {"m": 1}, "payload": {"n": 1},
        "body": null, "content_type": null, "replay_of": null, "erased_at": null,
    });
    for sql in [
        r#"select postrider.publish('user', '{"n": 1}', p_priority := 10,
            p_scheduled_at := '2100-01-01 00:00+00', p_expires_at := '2100-01-02 00:00+00',
            p_correlation_id := '00000000-0000-0000-0000-00000000002a', p_ordering_key := 'o',
            p_headers := '{"x-a": "1"}', p_metadata := '{"m": 1}', p_idempotency_key := 'k')"#,
        r#"select (postrider.publish_batch('[{"event_type": "user", "payload": {"n": 1},
            "priority": 10, "scheduled_at": "2100-01-01T00:00:00Z",
            "expires_at": "2100-01-02T00:00:00Z", "ordering_key": "o",
            "correlation_id": "00000000-0000-0000-0000-00000000002a", "headers": {"x-a": "1"},
            "metadata": {"m": 1}, "idempotency_key": "k"}]'))[1]"#,
    ] {
        let id = id_of(&client, sql).await;
        let row = "select to_jsonb(m) - 'id' - 'xid' - 'created_at' - 'lane' - 'targets'
            from postrider.message m where id = $1";
        let row: Value = client.query_one(row, &[&id]).await.unwrap().get(0);
        assert_eq!(row, expected, "{sql}");
        batch(&client, "delete from postrider.idempotency_key").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_events_is_published_in_order_or_not_at_all() {
    let shop = open().await;
    let client = shop.client().await;
    batch(&client, "select postrider.subscribe('order.*', 'a'), postrider.subscribe('user', 'b')")
        .await;
    let publish = "select postrider.publish_batch($1)";
    let events: Vec<Value> = (0..500)
        .map(|n| {
            let event_type = if n % 3 == 0 { "user" } else { "order.paid" };
            json!({"event_type": event_type, "payload": n, "priority": n % 11, "headers": null,
                "scheduled_at": null, "ordering_key": if n % 5 == 0 { Some("o") } else { None }})
        })
        .collect();
    let row = client.query_one(publish, &[&Value::Array(events.clone())]).await.unwrap();
    let ids: Vec<i64> = row.get(0);
    assert!(ids.iter().map(|id| id >> 10).is_sorted());
    let sql = "select array_agg(m.payload order by i.place)
        from unnest($1::bigint[]) with ordinality i (id, place)
        join postrider.message m on m.id = i.id";
    let kept: Vec<Value> = client.query_one(sql, &[&ids]).await.unwrap().get(0);
    assert_eq!(kept, (0..500).map(|n| json!(n)).collect::<Vec<_>>());
    assert!(ids_of(&client, "select postrider.publish_batch('[]')").await.is_empty());

    let good = r#"{"event_type": "user", "payload": 1, "idempotency_key": "k"}"#;
    let call = |event: &str| format!("select postrider.publish_batch('[{good}, {event}]')");
    let with = |fields: &str| call(&format!(r#"{{"event_type": "user", "payload": 1, {fields}}}"#));
    check_refusals(
        &client,
        &[
            ("select postrider.publish_batch(null)", "22004", "Events must not be null"),
            (
                "select postrider.publish_batch('{}')",
                "22023",
                "p_events must be an array of objects, got object",
            ),
            (&call("5"), "22023", "p_events[1] must be an object, got number"),
            (&call("null"), "22023", "p_events[1] must be an object, got null"),
            (&call("{}"), "22004", "p_events[1]: Event type must not be null"),
            (&call(r#"{"event_type": "user"}"#), "22004", "p_events[1]: Payload must not be null"),
            (
                &call(r#"{"event_type": "x", "payload": 1}"#),
                "42704",
                "p_events[1]: Event type 'x' does not exist",
            ),
            (
                &call(r#"{"event_type": 5, "payload": 1}"#),
                "22023",
                "p_events[1].event_type must be a text, got number",
            ),
            (
                &with(r#""p_priority": 5"#),
                "22023",
                "p_events[1].p_priority is not a known key (did you mean priority?)",
            ),
            (
                &with(r#""priority": "5""#),
                "22023",
                "p_events[1].priority must be a number, got string",
            ),
            (
                &with(r#""priority": 11"#),
                "22023",
                "p_events[1]: Priority must be between 0 and 10, got 11",
            ),
            (
                &with(r#""priority": 5.5"#),
                "22023",
                r#"p_events[1]: invalid input syntax for type integer: "5.5""#,
            ),
            (
                &with(r#""priority": 5000000000"#),
                "22023",
                r#"p_events[1]: value "5000000000" is out of range for type integer"#,
            ),
            (
                &with(r#""scheduled_at": 5"#),
                "22023",
                "p_events[1].scheduled_at must be a text, got number",
            ),
            (
                &with(r#""scheduled_at": "soon""#),
                "22023",
                r#"p_events[1]: invalid input syntax for type timestamp with time zone: "soon""#,
            ),
            (
                &with(r#""scheduled_at": "2024-13-01""#),
                "22023",
                r#"p_events[1]: date/time field value out of range: "2024-13-01""#,
            ),
            (
                &with(r#""scheduled_at": "2024-01-01 00:00 Mars/Base""#),
                "22023",
                r#"p_events[1]: time zone "mars/base" not recognized"#,
            ),
            (
                &with(r#""correlation_id": "x""#),
                "22023",
                r#"p_events[1]: invalid input syntax for type uuid: "x""#,
            ),
            (
                &with(r#""headers": []"#),
                "22023",
                "p_events[1]: p_headers must be an object of text values, got array",
            ),
            (
                &with(r#""metadata": 5"#),
                "22023",
                "p_events[1]: p_metadata must be an object, got number",
            ),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_event_types_and_subscriptions_are_refused() {
    let shop = open().await;
    let client = shop.client().await;
    batch(&client, "select postrider.subscribe('user', 'a')").await;
    let direct: i64 = shop.ask("select min(id)::bigint from postrider.subscriptions").await;
    let name = "Event type must be 1 to 200 letters, digits, _ or - in parts divided by dots, got";
    let pattern = "p_event_type must be an event type, or a pattern such as order.* or *, got";
    let null_name = "Event type must not be null";
    let create = |name: &str| format!("select postrider.create_event_type('{name}')");
    let subscribe = |pattern: &str| format!("select postrider.subscribe('{pattern}', 'a')");
    check_refusals(
        &client,
        &[
            (&create("user"), "42710", "Event type 'user' already exists"),
            (&create(""), "22023", &format!("{name} ''")),
            (&create("a."), "22023", &format!("{name} 'a.'")),
            (&create("a..b"), "22023", &format!("{name} 'a..b'")),
            (&create("a.*"), "22023", &format!("{name} 'a.*'")),
            (&create("a b"), "22023", &format!("{name} 'a b'")),
            (&create("a\n"), "22023", &format!("{name} 'a\n'")),
            (&create(&"x".repeat(201)), "22023", &format!("{name} '{}'", "x".repeat(200))),
            ("select postrider.create_event_type(null)", "22004", null_name),
            (
                "select postrider.create_event_type('x', p_schema => '5')",
                "22023",
                "p_schema must be a JSON Schema (an object or a boolean), got number",
            ),
            (
                "select postrider.create_event_type('x', p_metadata => '5')",
                "22023",
                "p_metadata must be an object, got number",
            ),
            ("select postrider.drop_event_type(null)", "22004", null_name),
            ("select postrider.drop_event_type('x')", "42704", "Event type 'x' does not exist"),
            (
                "select postrider.drop_event_type('user')",
                "55000",
                "Event type 'user' has subscriptions (1)",
            ),
            ("select postrider.subscribe(null, 'a')", "22004", null_name),
            ("select postrider.subscribe('user', null)", "22004", "Endpoint name must not be null"),
            (&subscribe("x"), "42704", "Event type 'x' does not exist"),
            ("select postrider.subscribe('user', 'x')", "42704", "Endpoint 'x' does not exist"),
            (&subscribe(""), "22023", &format!("{pattern} ''")),
            (&subscribe("order*"), "22023", &format!("{pattern} 'order*'")),
            (&subscribe("*.paid"), "22023", &format!("{pattern} '*.paid'")),
            (&subscribe("order.*.x"), "22023", &format!("{pattern} 'order.*.x'")),
            (&subscribe("**"), "22023", &format!("{pattern} '**'")),
            (
                "select postrider.subscribe('user', 'a', '[]')",
                "22023",
                "p_filter must be an object, got array",
            ),
            (
                "select postrider.subscribe('user', 'a', 'null')",
                "22023",
                "p_filter must be an object, got null",
            ),
            (
                "select postrider.subscribe('user', 'a', null, '[]')",
                "22023",
                "p_options must be an object, got array",
            ),
            (
                r#"select postrider.subscribe('user', 'a', null, '{"enable": true}')"#,
                "22023",
                "p_options.enable is not a known key (did you mean enabled?)",
            ),
            (
                r#"select postrider.subscribe('user', 'a', null, '{"enabled": null}')"#,
                "22023",
                "p_options.enabled must be true or false, got null",
            ),
            ("select postrider.unsubscribe(null)", "22004", "Subscription must not be null"),
            ("select postrider.unsubscribe(99)", "42704", "Subscription 99 does not exist"),
            (
                &format!("select postrider.unsubscribe({direct})"),
                "55000",
                &format!("Subscription {direct} stands for its endpoint and cannot be ended"),
            ),
        ],
    )
    .await;
    // A name of 200 characters, its pattern of 202, and one that was dropped and made again.
    let long = "x".repeat(200);
    batch(&client, &format!("{}; {}", create(&long), subscribe(&format!("{long}.*")))).await;
    batch(&client, "select postrider.drop_event_type('order.paid')").await;
    let publish = "select postrider.publish('order.paid', '1')";
    check_refusal(&client, (publish, "42704", "Event type 'order.paid' does not exist")).await;
    batch(&client, &create("order.paid")).await;
    batch(&client, publish).await;

    // What Postrider publishes nobody can make up, also where it is published.
    for name in ["postrider.dead_letter", "postriders.own"] {
        batch(&client, &create(name)).await;
    }
    let rule = "Event types that begin with 'postrider.' are for what Postrider itself publishes, \
                got 'postrider.dead_letter'";
    let event = r#"[{"event_type": "postrider.dead_letter", "payload": 1}]"#;
    check_refusals(
        &client,
        &[
            ("select postrider.publish('postrider.dead_letter', '1')", "42501", rule),
            (
                &format!("select postrider.publish_batch('{event}')"),
                "42501",
                &format!("p_events[0]: {rule}"),
            ),
        ],
    )
    .await;
    batch(&client, "select postrider.publish('postriders.own', '1')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_subscriptions_are_logged_and_seen_by_dispatchers() {
    let shop = open().await;
    let client = shop.client().await;
    let version = "select version from postrider.endpoints where name = 'a'";
    let before: i64 = shop.ask(version).await;
    let after: i64 = shop.ask("select max(id) from postrider.event_log").await;
    let id = id_of(&client, "select postrider.subscribe('user', 'a')").await;
    assert!(shop.ask::<i64>(version).await > before);
    batch(
        &client,
        &format!(
            "select postrider.unsubscribe({id}); select postrider.drop_event_type('user');
            select postrider.create_event_type('user');"
        ),
    )
    .await;
    let sql = "select jsonb_agg(jsonb_build_array(event, endpoint_name, details - 'by' - 'id')
            order by id)
        from postrider.event_log where id > $1";
    let logged: Value = client.query_one(sql, &[&after]).await.unwrap().get(0);
    let subscription = json!({"enabled": true, "filter": null, "retry_policy": null});
    let event_type = json!({"description": null, "metadata": null, "schema": null});
    let expected = json!([
        ["subscription.created", "a", {"event_type": "user", "before": null, "after": subscription}],
        ["subscription.ended", "a", {"event_type": "user", "before": subscription, "after": null}],
        ["event_type.dropped", null, {"event_type": "user", "before": event_type, "after": null}],
        ["event_type.created", null, {"event_type": "user", "before": null, "after": event_type}],
    ]);
    assert_eq!(logged, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_subscription_stays_while_anything_may_name_it() {
    let shop = open().await;
    let client = shop.client().await;
    let id = id_of(&client, "select postrider.subscribe('user', 'a')").await;
    batch(&client, "select postrider.publish('user', '{}')").await;
    let forget = "select postrider.forget_subscriptions(10)";
    batch(&client, &format!("select postrider.unsubscribe({id})")).await;
    assert_eq!(shop.ask::<i32>(forget).await, 0, "it has just ended");
    let long_ago = "now() - interval '90 days'";
    batch(
        &client,
        &format!("update postrider.subscriptions set ended_at = {long_ago} where id = {id}"),
    )
    .await;
    let waits = format!(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        values (1, {id}, 1, 0, now(), {long_ago})"
    );
    let is_dead = format!(
        "select postrider.bury(array[m.id], array[{id}], array[1], array['rejected'], array[1], array['503'])
        from postrider.message m;
        update postrider.dead_letter set message_created_at = {long_ago}"
    );
    for (names, no_more) in
        [(waits, "delete from postrider.deferred"), (is_dead, "delete from postrider.dead_letter")]
    {
        batch(&client, &names).await;
        assert_eq!(shop.ask::<i32>(forget).await, 0, "{names}");
        batch(&client, no_more).await;
    }
    // A replay is younger than the end of its target.
    let replay = format!(
        "select postrider.append_replays(array[min(m.id)], array[{id}]) from postrider.message m"
    );
    batch(&client, &replay).await;
    assert_eq!(shop.ask::<i32>(forget).await, 0, "a replay names it");
    batch(
        &client,
        &format!("update postrider.subscriptions set ended_at = {long_ago} where id = {id}"),
    )
    .await;
    let other = shop.client().await;
    batch(
        &other,
        &format!("begin; select from postrider.subscriptions where id = {id} for update"),
    )
    .await;
    assert_eq!(shop.ask::<i32>(forget).await, 0, "somebody holds it");
    batch(&other, "rollback").await;
    assert_eq!(shop.ask::<i32>(forget).await, 1);
    assert_eq!(shop.ask::<i32>(forget).await, 0);
}
