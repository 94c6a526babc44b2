//! Sending and publishing over HTTP.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::shop::{Shop, asking::Asked, serving::LONG};
use postrider_testkit::{
    process::Dispatcher,
    receiver::{Behaviour, Keep, Receiver},
};
use serde_json::{Value, json};

const MESSAGES: &str = "/api/v1/messages";
const EVENTS: &str = "/api/v1/events";

/// A shop with endpoints that take everything, and a producer.
async fn open() -> (Shop, Dispatcher, Asked) {
    let shop = Shop::open_to_receivers().await;
    for name in ["orders", "billing"] {
        shop.run(&["endpoint", "create", name, "--protocol", "discard"]).succeed();
    }
    shop.run(&["event-type", "create", "order.created"]).succeed();
    shop.run(&["subscription", "create", "order.*", "orders"]).succeed();
    let (dispatcher, asked) = shop.serve_asked().await;
    let producer = asked.bearing(&shop.token("shop", "producer"));
    (shop, dispatcher, producer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_all_that_was_asked_for_and_arrives() {
    let (shop, _dispatcher, producer) = open().await;
    let keep = Keep { body: true, headers: true };
    let receiver = Receiver::start_with(Behaviour::Status(200), keep).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let body = r#"{
        "endpoint": "hooks", "payload": {"n": 12345678901234567890.12345, "t": "ü€😀"}, "priority": 7,
        "idempotency_key": "order-1", "correlation_id": "0190a6a5-7d8a-7cc1-8f3e-000000000001",
        "expires_at": "2126-05-01T09:00:00.5+02:00", "ordering_key": "customer-7",
        "headers": {"x-tenant": "acme"}, "metadata": {"never": "sent"}}"#;
    let reply = producer.ask("POST", MESSAGES, body).await.expect(201);
    let id = reply.json()["id"].as_i64().unwrap();
    assert_eq!(reply.header("content-type"), Some("application/json"));
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    let request = &receiver.requests()[0];
    assert_eq!(request.headers["webhook-id"], format!("msg_{id}"));
    assert_eq!(request.headers["x-tenant"], "acme");
    let sent = String::from_utf8(request.body.to_vec()).unwrap();
    assert_eq!(sent, r#"{"n": 12345678901234567890.12345, "t": "ü€😀"}"#, "no digit is lost");
    let row: Value = shop
        .ask(&format!(
            "select json_build_object(
                'priority', m.priority, 'correlation_id', m.correlation_id,
                'expires_at', m.expires_at at time zone 'utc', 'ordering_key', m.ordering_key,
                'metadata', m.metadata)
            from postrider.message m where m.id = {id}"
        ))
        .await;
    assert_eq!(
        row,
        json!({
            "priority": 7, "correlation_id": "0190a6a5-7d8a-7cc1-8f3e-000000000001",
            "expires_at": "2126-05-01T07:00:00.5", "ordering_key": "customer-7",
            "metadata": {"never": "sent"},
        })
    );
    // The key of the message, not of the request: the same message is answered.
    let again = producer.ask("POST", MESSAGES, body).await.expect(201);
    assert_eq!(again.json()["id"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_batches_are_all_or_nothing() {
    let (shop, _dispatcher, producer) = open().await;
    let event = json!({ "event_type": "order.created", "payload": {"n": 0}, "priority": 3 });
    producer.post(EVENTS, &event).await.expect(201);
    let batch = json!({ "endpoint": "orders", "payloads": [{"n": 1}, 2, null], "priority": 4 });
    let reply = producer.post("/api/v1/messages/batch", &batch).await.expect(201).json();
    assert_eq!(reply["ids"].as_array().unwrap().len(), 3);
    let events = json!({ "events": [
        { "event_type": "order.created", "payload": 5 },
        { "event_type": "order.created", "payload": 6, "ordering_key": "k", "metadata": {"a": 1} },
    ]});
    let reply = producer.post("/api/v1/events/batch", &events).await.expect(201).json();
    let ids: Vec<i64> =
        reply["ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    assert!(ids[0] < ids[1], "{ids:?}");

    let count = "select count(*) from postrider.message";
    let before: i64 = shop.ask(count).await;
    assert_eq!(before, 6);
    let events = json!({ "events": [
        { "event_type": "order.created", "payload": 7 },
        { "event_type": "order.deleted", "payload": 8 },
    ]});
    producer.post("/api/v1/events/batch", &events).await.problem(404, "undefined_object");
    let events = json!({ "events": [{ "event_type": "order.created", "payload": 7, "prio": 1 }]});
    let problem = producer.post("/api/v1/events/batch", &events).await;
    let problem = problem.problem(400, "invalid_parameter_value");
    assert!(problem["detail"].as_str().unwrap().contains("prio"), "{problem}");
    // What Postrider itself tells nobody else makes up.
    shop.execute("select postrider.create_event_type('postrider.dead_letter')").await;
    let event = json!({ "event_type": "postrider.dead_letter", "payload": 9 });
    producer.post(EVENTS, &event).await.problem(403, "insufficient_privilege");
    let events = json!({ "events": [event] });
    let problem = producer.post("/api/v1/events/batch", &events).await;
    problem.problem(403, "insufficient_privilege");
    assert_eq!(shop.ask::<i64>(count).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_with_its_place_and_changes_nothing() {
    let (shop, _dispatcher, producer) = open().await;
    let with = |name: &str, value: Value| {
        let mut message = json!({ "endpoint": "orders", "payload": 1 });
        message[name] = value;
        message
    };
    for (message, status, code, says) in [
        (json!({}), 400, "invalid_body", "missing field `endpoint`"),
        (json!([]), 400, "invalid_body", "must be an object"),
        (json!({ "endpoint": "orders" }), 400, "invalid_body", "missing field `payload`"),
        (with("prioritty", json!(1)), 400, "unknown_field", "did you mean `priority`?"),
        (with("p_metadata", json!(1)), 400, "unknown_field", "did you mean `metadata`?"),
        (with("priority", json!("high")), 400, "invalid_body", "priority: invalid type"),
        (with("priority", json!(11)), 400, "invalid_parameter_value", "between 0 and 10, got 11"),
        (with("priority", json!(99999999999_i64)), 400, "invalid_body", "priority"),
        (
            with("scheduled_at", json!("tomorrow")),
            400,
            "invalid_body",
            "scheduled_at must be a time",
        ),
        (with("expires_at", json!("2026-01-01T00:00:00")), 400, "invalid_body", "with its offset"),
        (with("expires_at", json!("2026-02-31T00:00:00Z")), 400, "data_exception", "date/time"),
        (
            with("expires_at", json!("2020-01-01T00:00:00Z")),
            400,
            "invalid_parameter_value",
            "xpires",
        ),
        (with("correlation_id", json!("x")), 400, "invalid_body", "correlation_id must be a UUID"),
        (with("headers", json!("x")), 400, "invalid_parameter_value", "headers"),
        (with("payload", json!("a\u{0}b")), 400, "data_exception", "Unicode"),
        (with("ordering_key", json!("a\u{0}b")), 400, "data_exception", "encoding"),
        (with("payload", json!("x".repeat(2_000_000))), 400, "invalid_parameter_value", "1048576"),
        (
            with("endpoint", json!("nobody")),
            404,
            "undefined_object",
            "Endpoint 'nobody' does not exist",
        ),
    ] {
        let problem = producer.post(MESSAGES, &message).await.problem(status, code);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "`{says}` is not in `{detail}`");
        assert_eq!(problem["type"], format!("urn:postrider:problem:{code}"));
    }
    for (path, name) in [("/api/v1/messages/batch", "payloads"), ("/api/v1/events/batch", "events")]
    {
        let mut batch = json!({ name: { "0": 1 } });
        if name == "payloads" {
            batch["endpoint"] = json!("orders");
        }
        let problem = producer.post(path, &batch).await.problem(400, "invalid_body");
        assert_eq!(problem["detail"], format!("{name} must be an array"));
        assert_eq!(problem["errors"][0]["pointer"], format!("/{name}"));
    }
    let wrong = producer.post(MESSAGES, &with("priority", json!([]))).await.json();
    assert_eq!(wrong["errors"][0]["pointer"], "/priority");
    for (body, code) in [
        ("", "invalid_json"),
        ("{", "invalid_json"),
        ("{\"endpoint\": \"orders\", \"payload\": 1} x", "invalid_json"),
        ("{\"endpoint\": \"orders\", \"payload\": nonsense}", "invalid_json"),
    ] {
        producer.ask("POST", MESSAGES, body).await.problem(400, code);
    }
    // Deeper than the server takes it.
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let deep = format!("{{\"endpoint\": \"orders\", \"payload\": {deep}}}");
    let problem = producer.ask("POST", MESSAGES, &deep).await;
    assert_eq!(problem.status, 400, "{problem:?}");
    let text = producer.with("content-type", "text/plain");
    text.send(
        format!(
            "POST {MESSAGES} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{}: {}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}",
            producer.headers[0].0, producer.headers[0].1
        )
        .as_bytes(),
    )
    .await
    .problem(415, "unsupported_media_type");

    shop.run(&["endpoint", "disable", "orders"]).succeed();
    let message = with("priority", json!(1));
    producer.post(MESSAGES, &message).await.problem(409, "object_not_in_prerequisite_state");
    let keyed = json!({ "endpoint": "billing", "payload": 1, "idempotency_key": "k" });
    producer.post(MESSAGES, &keyed).await.expect(201);
    let other = json!({ "endpoint": "billing", "payload": 2, "idempotency_key": "k" });
    producer.post(MESSAGES, &other).await.problem(409, "unique_violation");
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_says_when_to_ask_again() {
    let (shop, dispatcher, producer) = open().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config =
        json!({ "url": format!("http://{}/", silent.local_addr().unwrap()), "max_queue_size": 1 });
    shop.endpoint("full", config, json!({})).await;
    drop(dispatcher);
    shop.execute("select postrider.set_setting('max_queue_size', '1')").await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let producer = Asked { address: asked.address, ..producer };
    let batch = json!({ "endpoint": "orders", "payloads": vec![json!(1); 20_000] });
    let reply = producer.post("/api/v1/messages/batch", &batch).await;
    assert_eq!(reply.header("retry-after"), Some("5"), "{reply:?}");
    let problem = reply.problem(429, "configuration_limit_exceeded");
    assert_eq!(problem["sqlstate"], "53400");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_idempotency_key_is_done_once_and_answered_alike() {
    let (shop, _dispatcher, producer) = open().await;
    let keyed = |key: &str| producer.with("idempotency-key", key);
    let message = json!({ "endpoint": "orders", "payload": {"n": 1} });
    let first = keyed("\"order-1\"").post(MESSAGES, &message).await.expect(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    // In quotes or not, it is the same key.
    let again = keyed("order-1").post(MESSAGES, &message).await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    let other = json!({ "endpoint": "orders", "payload": {"n": 2} });
    keyed("order-1").post(MESSAGES, &other).await.problem(422, "idempotency_key_reused");
    let event = json!({ "event_type": "order.created", "payload": {"n": 1} });
    keyed("order-1").post(EVENTS, &event).await.problem(422, "idempotency_key_reused");
    keyed("a b").post(MESSAGES, &message).await.problem(400, "invalid_idempotency_key");
    // Somebody else's key is another one.
    let stranger = Asked { headers: vec![], ..producer.clone() };
    let stranger = stranger.bearing(&shop.token("other", "producer"));
    let theirs =
        stranger.with("idempotency-key", "order-1").post(MESSAGES, &other).await.expect(201);
    assert_ne!(theirs.body, first.body);

    // What was refused is not kept: it may work later.
    let refused = json!({ "endpoint": "later", "payload": 1 });
    keyed("later").post(MESSAGES, &refused).await.problem(404, "undefined_object");
    shop.run(&["endpoint", "create", "later", "--protocol", "discard"]).succeed();
    keyed("later").post(MESSAGES, &refused).await.expect(201);

    // Many at a time are one.
    let batch = json!({ "endpoint": "orders", "payloads": [1, 2, 3] });
    let asking: Vec<_> = (0..12)
        .map(|_| {
            let (asking, batch) = (keyed("many"), batch.clone());
            tokio::spawn(async move { asking.post("/api/v1/messages/batch", &batch).await })
        })
        .collect();
    let mut bodies = BTreeSet::new();
    for reply in asking {
        let reply = reply.await.unwrap();
        match reply.status {
            201 => drop(bodies.insert(reply.body)),
            // There are fewer connections than requests.
            503 => drop(reply.problem(503, "busy")),
            _ => drop(reply.problem(409, "idempotency_in_progress")),
        }
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_progress_is_refused_and_free_when_that_has_come_to_nothing() {
    let (shop, _dispatcher, producer) = open().await;
    let keyed = producer.with("idempotency-key", "order-1");
    let message = json!({ "endpoint": "orders", "payload": 1 });
    let mut client = shop.client().await;
    let other = client.transaction().await.unwrap();
    let claim = "select postrider.claim_request(1, 'order-1', sha256('x'))";
    other.batch_execute(claim).await.unwrap();
    let reply = keyed.post(MESSAGES, &message).await;
    reply.problem(409, "idempotency_in_progress");
    other.rollback().await.unwrap();
    let first = keyed.post(MESSAGES, &message).await.expect(201);
    // A day later it is free.
    shop.execute("update postrider.api_request set at = at - interval '25 hours'").await;
    let second = keyed.post(MESSAGES, &message).await.expect(201);
    assert_ne!(first.body, second.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_forgotten_while_it_is_claimed_is_claimed_all_the_same() {
    let (shop, _dispatcher, _) = open().await;
    // What forget_requests may do at that moment: between the conflict and the look at what was in the way.
    shop.execute(
        "insert into postrider.api_request (token_id, key, fingerprint, status, body)
        values (1, 'order-1', sha256('old'), 201, '{}');
        create function pg_temp.forget() returns trigger language plpgsql as $$
        begin
            delete from postrider.api_request r where r.fingerprint = sha256('old');
            return null;
        end $$;
        create trigger forget after insert on postrider.api_request
        for each statement execute function pg_temp.forget();
        select postrider.claim_request(1, 'order-1', sha256('new'))",
    )
    .await;
    let held = "select r.fingerprint = sha256('new') from postrider.api_request r";
    assert_eq!(shop.ask::<Option<bool>>(held).await, Some(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_answers_are_forgotten_after_a_day_by_dispatchers_and_by_no_request() {
    let (shop, dispatcher, producer) = open().await;
    let message = json!({ "endpoint": "orders", "payload": 1 });
    let keyed = producer.with("idempotency-key", "today");
    keyed.post(MESSAGES, &message).await.expect(201);
    dispatcher.stop(LONG).await.unwrap();
    shop.execute(
        "insert into postrider.api_request (token_id, key, fingerprint, at, status, body)
        select 1, 'old-' || n, sha256('x'), now() - interval '25 hours', 201, '{}'
        from generate_series(1, 25) n",
    )
    .await;
    let count = "select count(*) from postrider.api_request";
    // Whoever claims a key looks at that one.
    shop.execute("select postrider.claim_request(1, 'other', sha256('x'))").await;
    assert_eq!(shop.ask::<i64>(count).await, 27);
    // One that somebody holds is left for the next time.
    let mut client = shop.client().await;
    let holding = client.transaction().await.unwrap();
    let hold = "select 1 from postrider.api_request r where r.key = 'old-7' for update";
    holding.batch_execute(hold).await.unwrap();
    for (most, forgotten) in [(10, 10), (10, 10), (10, 4), (10, 0)] {
        let sql = format!("select postrider.forget_requests({most})");
        assert_eq!(shop.ask::<i32>(&sql).await, forgotten);
    }
    holding.rollback().await.unwrap();
    let (_dispatcher, asked) = shop.serve_asked().await;
    shop.until("select count(*) = 2 from postrider.api_request").await;
    let keyed = Asked { address: asked.address, ..keyed };
    let again = keyed.post(MESSAGES, &message).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_an_answer_has_an_outcome_that_nobody_knows() {
    let (shop, _dispatcher, producer) = open().await;
    let message = json!({ "endpoint": "orders", "payload": 1 });
    producer.post(MESSAGES, &message).await.expect(201);
    let watching = Asked { headers: vec![], ..producer.clone() };
    let watching = watching.with("via", "1.1 proxy").bearing(&shop.token("watching", "viewer"));
    watching.get("/metrics").await.expect(200);
    let late = Asked { headers: vec![], ..producer.clone() };
    let late = late.with("via", "1.1 proxy").bearing(&shop.token("late", "viewer"));
    // A standby that is not there: what is committed waits for it.
    shop.wants_standby("nobody").await;
    let keyed = producer.with("idempotency-key", "order-1");
    let unknown = keyed.post(MESSAGES, &message).await;
    assert_eq!(unknown.header("retry-after"), None, "{unknown:?}");
    let problem = unknown.problem(504, "outcome_unknown");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("with the same Idempotency-Key"), "{detail}");
    keyed.post(MESSAGES, &message).await.problem(409, "idempotency_in_progress");
    // Those who ask again and again do not fill the server with sessions that wait.
    for _ in 0..3 {
        let reply = producer.post(MESSAGES, &message).await;
        assert!(matches!(reply.status, 503 | 504), "{reply:?}");
    }
    let sessions = "select count(*) <= 5 from pg_stat_activity
        where application_name = 'postrider api'";
    assert!(shop.ask::<bool>(sessions).await, "more connections than it may have");
    // Whoever watches sees it, by a token that nobody has shown before as well.
    watching.get("/metrics").await.expect(200);
    late.get("/metrics").await.expect(200);
    shop.wants_standby("").await;
    let deadline = Instant::now() + LONG;
    let again = loop {
        let reply = keyed.post(MESSAGES, &message).await;
        if reply.status == 201 {
            break reply;
        }
        assert!(matches!(reply.status, 409 | 503), "{reply:?}");
        assert!(Instant::now() < deadline, "still after {LONG:?}: {reply:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "it was done once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_costs_memory_once_however_many_messages_it_has() {
    let (_shop, dispatcher, producer) = open().await;
    let message = json!({ "endpoint": "orders", "payloads": [1, 2] });
    producer.post("/api/v1/messages/batch", &message).await.expect(201);
    let before = dispatcher.peak_memory_bytes().unwrap();
    let body = format!("{{\"endpoint\": \"orders\", \"payloads\": [1{}]}}", ",1".repeat(2_000_000));
    // More than may wait: it is refused when it has been taken apart.
    let reply = producer.ask("POST", "/api/v1/messages/batch", &body).await;
    assert!(matches!(reply.status, 429 | 503), "{reply:?}");
    let used = dispatcher.peak_memory_bytes().unwrap() - before;
    assert!(used < 12 * body.len() as u64, "{used} bytes for {}", body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_is_on_record() {
    let (shop, _dispatcher, _) = open().await;
    let sql = "begin; select set_config('role', 'postrider_admin', true),
        set_config('postrider.token', 'deploy', true);
        select postrider.set_setting('http_timeout', '20'); commit";
    shop.execute(sql).await;
    let last = "select details ->> 'token' from postrider.event_log where event like 'setting.%'
        order by id desc limit 1";
    assert_eq!(shop.ask::<Option<String>>(last).await.as_deref(), Some("deploy"));
    // Whoever has not the owner's rights cannot say so.
    shop.execute("create role boss login in role postrider_admin").await;
    let boss = shop.postgres.connect_as("boss", "shop").await.unwrap();
    let sql = "set role postrider_admin; set postrider.token = 'forged';
        select postrider.set_setting('http_timeout', '21')";
    boss.batch_execute(sql).await.unwrap();
    assert_eq!(shop.ask::<Option<String>>(last).await, None);
}
