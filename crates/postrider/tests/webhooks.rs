//! What receivers of others make of our requests: bodies, signatures and templates, read and verified by the packages that
//! they use.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

use base64::{Engine, engine::general_purpose::STANDARD};
use postrider_testkit::{
    receiver::{Answer, Behaviour, Keep, Receiver, Request},
    verifiers,
};
use serde_json::{Value, json};

use crate::shop::{Shop, run, serving::LONG};

const KEPT: Keep = Keep { body: true, headers: true };

fn accepting() -> Receiver {
    Receiver::start_with(Behaviour::custom(|_| Answer::status(200)), KEPT).unwrap()
}

/// Requests by their path, without the query.
fn by_path(receiver: &Receiver) -> HashMap<String, Vec<Request>> {
    let mut found: HashMap<String, Vec<Request>> = HashMap::new();
    receiver.with_requests(|requests| {
        for request in requests {
            let path = request.path.split('?').next().unwrap().to_owned();
            found.entry(path).or_default().push(request.clone());
        }
    });
    found
}

fn question(scheme: &str, key: &str, request: &Request) -> Value {
    let headers: serde_json::Map<String, Value> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), json!(value.to_str().unwrap())))
        .collect();
    json!({ "scheme": scheme, "key": key, "headers": headers, "body": STANDARD.encode(&request.body) })
}

/// What the packages say to each question.
fn ask(mut command: Command, questions: &[Value]) -> Vec<Value> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = questions.iter().map(|question| format!("{question}\n")).collect();
    child.stdin.take().unwrap().write_all(lines.concat().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), questions.len(), "{said}");
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_known_services_verify_what_is_sent() {
    const TEXT: &str = "It's a Secret to Everybody";
    const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let shop = Shop::open_to_receivers().await;
    let receiver = accepting();
    let cases = [
        ("standard-webhooks", KEY, KEY),
        ("svix", KEY, KEY),
        ("stripe", KEY, KEY),
        ("slack", "raw:It's a Secret to Everybody", TEXT),
        ("github", "raw:It's a Secret to Everybody", TEXT),
        ("shopify", "raw:It's a Secret to Everybody", TEXT),
        ("convoy", "raw:It's a Secret to Everybody", TEXT),
    ];
    for (scheme, key, _) in cases {
        let mut config = json!({
            "url": format!("{}{scheme}", receiver.url()), "signature": scheme, "signing_keys": [key]
        });
        match scheme {
            // What Shopify's package wants to see beside the signature.
            "shopify" => {
                config["headers"] = json!({
                    "x-shopify-topic": "orders/create", "x-shopify-shop-domain": "acme.myshopify.com",
                    "x-shopify-api-version": "2026-10"
                });
                config["header_templates"] = json!({ "x-shopify-webhook-id": "{message_id}" });
            }
            // The package's idea of Convoy's advanced signature is not that of Convoy, which has published vectors of it
            // (testdata/signatures.json): it leaves the time out.
            "convoy" => config["signature"] = json!({ "header": "x-convoy-signature" }),
            _ => {}
        }
        shop.endpoint(scheme, config, json!({ "max_retries": 0 })).await;
    }
    let dispatcher = shop.serve().await;
    for (scheme, _, _) in cases {
        shop.send(scheme, json!({ "a": "ü €", "b": [1.50, null] })).await;
    }
    receiver.wait_for(cases.len(), LONG).await.unwrap();
    let requests = by_path(&receiver);
    let questions = |schemes: &[&str]| -> Vec<Value> {
        let known = cases.iter().filter(|(scheme, _, _)| schemes.contains(scheme));
        known
            .map(|(scheme, _, key)| question(scheme, key, &requests[&format!("/{scheme}")][0]))
            .collect()
    };
    let good = json!({ "genuine": true, "changed": false });
    let python = questions(&["standard-webhooks", "svix", "stripe", "slack", "convoy"]);
    for (answer, question) in ask(verifiers::python().unwrap(), &python).iter().zip(&python) {
        assert_eq!(*answer, good, "{question}");
    }
    let node = questions(&["standard-webhooks", "svix", "github", "shopify"]);
    for (answer, question) in ask(verifiers::node().unwrap(), &node).iter().zip(&node) {
        assert_eq!(*answer, good, "{question}");
    }
    dispatcher.stop(LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_for_cloudevents_read_what_is_sent() {
    let shop = Shop::open_to_receivers().await;
    let receiver = accepting();
    shop.execute(
        "select postrider.set_setting('cloudevents_source', 'https://shop.test/orders');
        select postrider.create_event_type('order.created')",
    )
    .await;
    let formats = ["cloudevents-binary", "cloudevents-structured", "standard", "raw"];
    for format in formats {
        let config = json!({ "url": format!("{}{format}", receiver.url()), "format": format });
        shop.endpoint(format, config, json!({ "max_retries": 0 })).await;
        shop.execute(&format!("select postrider.subscribe('order.created', '{format}')")).await;
    }
    let dispatcher = shop.serve().await;
    let send = "select postrider.publish('order.created', '{\"id\": 7, \"n\": 1.50}',
        p_ordering_key := 'k ü', p_headers := '{\"ce-subject\": \"Euro € 😀\"}')";
    let id: i64 = shop.ask(send).await;
    receiver.wait_for(formats.len(), LONG).await.unwrap();
    let requests = by_path(&receiver);
    let created_at: String = shop
        .ask(&format!(
            "select to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
            from postrider.message m where m.id = {id}"
        ))
        .await;
    let questions: Vec<Value> = formats[..2]
        .iter()
        .map(|format| question("cloudevents", "", &requests[&format!("/{format}")][0]))
        .collect();
    for command in [verifiers::python().unwrap(), verifiers::node().unwrap()] {
        for answer in ask(command, &questions) {
            let attributes = &answer["attributes"];
            let expected = [
                ("specversion", "1.0"),
                ("id", &format!("msg_{id}")),
                ("source", "https://shop.test/orders"),
                ("type", "order.created"),
                ("subject", "Euro € 😀"),
                ("partitionkey", "k ü"),
            ];
            for (name, value) in expected {
                assert_eq!(attributes[name], value, "{answer}");
            }
            // One writes a moment as the other does not; seconds they have in common.
            let time = attributes["time"].as_str().unwrap().replace(' ', "T");
            assert_eq!(time[..19], created_at[..19], "{answer}");
            assert_eq!(answer["data"], json!({ "id": 7, "n": 1.5 }));
        }
    }
    let standard = String::from_utf8(requests["/standard"][0].body.to_vec()).unwrap();
    let expected = format!(
        r#"{{"type":"order.created","timestamp":"{created_at}","data":{{"n": 1.50, "id": 7}}}}"#
    );
    assert_eq!(sorted(&standard), sorted(&expected));
    assert!(standard.contains("1.50"), "{standard}");

    // Bytes that are no JSON: as they are, or in base64; where data is JSON, a clear dead letter.
    for format in formats {
        shop.execute(&format!(
            "select postrider.send_bytes('{format}', '\\x00ff2e', 'application/x-a')"
        ))
        .await;
    }
    receiver.wait_for(formats.len() + 3, LONG).await.unwrap();
    let requests = by_path(&receiver);
    let questions: Vec<Value> = formats[..2]
        .iter()
        .map(|format| question("cloudevents", "", &requests[&format!("/{format}")][1]))
        .collect();
    for answer in ask(verifiers::python().unwrap(), &questions) {
        assert_eq!(answer["attributes"]["type"], "postrider.message");
        assert_eq!(answer["attributes"]["datacontenttype"], "application/x-a");
        assert_eq!(answer["data"], json!({ "bytes": "00ff2e" }), "{answer}");
    }
    shop.until("select count(*) = 1 from postrider.dlq").await;
    let error: String = shop.ask("select d.last_error from postrider.dlq d").await;
    assert!(error.contains("its payload is no JSON, which the format `standard` needs"), "{error}");
    dispatcher.stop(LONG).await.unwrap();
}

fn sorted(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_are_filled_in_for_every_attempt_of_every_size() {
    let shop = Shop::open_to_receivers().await;
    // Each first attempt fails, so that the second comes from what is deferred.
    let behaviour =
        Behaviour::custom(|arrival| Answer::status(if arrival.attempt == 1 { 503 } else { 200 }));
    let receiver = Receiver::start_with(behaviour, KEPT).unwrap();
    shop.endpoint(
        "hooks",
        json!({
            "url": format!("{}old?path", receiver.url()),
            "url_template": "/{payload:/id}/{metadata:tenant}?k={ordering_key}",
            "header_templates": { "x-tenant": "t-{metadata:tenant}", "x-own": "{header:x-in}" }
        }),
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 }),
    )
    .await;
    let dispatcher = shop.serve().await;
    for (id, filler) in [("small", 0), ("large", 5_000)] {
        shop.execute(&format!(
            "select postrider.send_with_options('hooks',
                jsonb_build_object('id', '{id}', 'filler', (
                    select string_agg(md5(n::text), '') from generate_series(1, {filler} / 32) n)),
                p_ordering_key := 'a/b', p_metadata := '{{\"tenant\": \"acme?\"}}',
                p_headers := '{{\"x-in\": \"in\"}}')"
        ))
        .await;
    }
    receiver.wait_for(4, LONG).await.unwrap();
    receiver.with_requests(|requests| {
        for (id, attempt) in [("small", 1), ("small", 2), ("large", 1), ("large", 2)] {
            let path = format!("/{id}/acme%3F?k=a%2Fb");
            let request = requests.iter().find(|r| r.path == path && r.attempt == attempt);
            let request = request.unwrap_or_else(|| panic!("{path} {attempt}: {requests:?}"));
            assert_eq!(request.headers["x-tenant"], "t-acme?");
            assert_eq!(request.headers["x-own"], "in");
        }
    });
    shop.send("hooks", json!({ "id": 1 })).await;
    shop.until("select count(*) = 1 from postrider.dlq").await;
    let error: String = shop.ask("select d.last_error from postrider.dlq d").await;
    assert!(
        error.contains("the message cannot be sent: url_template: it has no metadata:tenant"),
        "{error}"
    );
    assert_eq!(receiver.request_count(), 4);
    dispatcher.stop(LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_example_is_shown_without_secrets_and_sent_without_a_trace() {
    let shop = Shop::open_to_receivers().await;
    let behaviour = Behaviour::custom(|arrival| {
        Answer::status(if arrival.path.contains("refused") { 400 } else { 200 })
    });
    let receiver = Receiver::start_with(behaviour, KEPT).unwrap();
    let config = json!({
        "url": receiver.url(), "url_template": "/{event_type}", "format": "standard", "signature": "stripe",
        "signing_keys": ["raw:It's a Secret"], "headers": { "authorization": "Bearer s3cret" }
    });
    shop.endpoint("hooks", config, json!({})).await;

    let preview =
        ["endpoint", "preview", "hooks", "--event-type", "a.b", "--payload", r#"{"n":1.50}"#];
    let shown = shop.run(&preview).succeed();
    assert!(shown.stdout.starts_with(&format!("POST {}a.b\n", receiver.url())), "{}", shown.stdout);
    assert!(shown.stdout.contains("stripe-signature: …"), "{}", shown.stdout);
    assert!(shown.stdout.contains(r#""data":{"n": 1.50}}"#), "{}", shown.stdout);
    assert!(shown.stdout.contains("may be secret: what headers adds"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("s3cret") && !shown.stdout.contains("It's"), "{}", shown.stdout);
    let id: i64 = shop.send("hooks", json!({ "n": 2 })).await;
    let number = id.to_string();
    let failed = shop.run(&["endpoint", "preview", "hooks", "--message", &number]);
    failed.fail(1, "url_template: it has no event_type");
    let message = shop.run(&["--json", "endpoint", "preview", "hooks", "--message", "1"]);
    message.fail(1, "Message 1 is not in the log");
    let masked = json!({ "url": format!("{}aaaaaaaaaaaaaaaaaaaaaaaa?token=b", receiver.url()), "format": "raw" });
    shop.endpoint("masked", masked, json!({})).await;
    let payload = r#""\u009b""#;
    shop.execute("create role monitor login in role postrider_monitor").await;
    let preview = ["endpoint", "preview", "masked", "--payload", payload];
    let shown = run(&shop.postgres.url_as("monitor", "shop"), &preview, "").succeed();
    assert!(shown.stdout.starts_with(&format!("POST {}…?…\n", receiver.url())), "{}", shown.stdout);
    assert!(shown.stdout.contains("what url adds"), "{}", shown.stdout);
    assert!(shown.stdout.contains(r#""\u{9b}""#), "{}", shown.stdout);
    shop.run(&["endpoint", "preview", "none"]).fail(1, "Endpoint 'none' does not exist");

    let rows = "select count(*) from postrider.message";
    let before: i64 = shop.ask(rows).await;
    let tested = shop.run(&["--json", "endpoint", "test", "hooks"]).succeed().json();
    assert_eq!((&tested["accepted"], &tested["status"]), (&json!(true), &json!(200)));
    assert!(tested["duration_ms"].is_u64(), "{tested}");
    let refused = shop.run(&["endpoint", "test", "hooks", "--event-type", "refused"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("HTTP 400"), "{}", refused.stdout);
    assert_eq!(shop.ask::<i64>(rows).await, before);
    receiver.with_requests(|requests| {
        let [first, second] = requests else { panic!("{requests:?}") };
        assert_eq!((&*first.path, &*second.path), ("/postrider.test", "/refused"));
        assert_ne!(first.headers["webhook-id"], second.headers["webhook-id"]);
        assert_eq!(first.headers["authorization"], "Bearer s3cret");
        assert!(first.headers.contains_key("stripe-signature"));
    });

    // The guard holds for a test too.
    shop.execute("select postrider.set_setting('allow_internal_destinations', 'off')").await;
    let refused = shop.run(&["endpoint", "test", "hooks"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("allow_internal_destinations"), "{}", refused.stdout);
}
