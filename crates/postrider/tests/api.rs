//! The listener of a process: where it listens, who may ask, what it says of itself, and that nobody holds it up.

use std::time::Duration;

use crate::shop::{
    Shop,
    asking::{Asked, Reply, listener},
    serving::LONG,
};
use postrider_testkit::{
    process::Dispatcher,
    proxy::Proxy,
    receiver::{Answer, Behaviour, Receiver},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};

/// Asks until something is found in the answer; otherwise it is said what is missing.
async fn poll<T>(asked: &Asked, path: &str, find: impl Fn(Reply) -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match find(asked.get(path).await) {
            Ok(found) => return found,
            Err(missing) => assert!(began.elapsed() < LONG, "{missing}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Asks until the answer has this status.
async fn until(asked: &Asked, path: &str, status: u16) -> String {
    poll(asked, path, |reply| match reply.status == status {
        true => Ok(reply.body),
        false => Err(format!("{path} is not {status}: {reply:?}")),
    })
    .await
}

/// What is answered to somebody whose token is known, which has this status: until then it is 503 where the database
/// takes longer than a second, and nothing else.
async fn answered(asked: &Asked, path: &str, status: u16) -> String {
    poll(asked, path, |reply| match reply.status == 503 {
        true => Err(format!("{path} is not {status}: {reply:?}")),
        false => Ok(reply.expect(status).body),
    })
    .await
}

/// Asks for metrics until one of them has this value.
async fn until_metric(asked: &Asked, line: &str) -> String {
    until_metrics(asked, line, |text| text.lines().any(|other| other == line)).await
}

/// Asks for metrics until they say this.
async fn until_metrics_say(asked: &Asked, part: &str) -> String {
    until_metrics(asked, part, |text| text.contains(part)).await
}

async fn until_metrics(asked: &Asked, what: &str, say: impl Fn(&str) -> bool) -> String {
    poll(asked, "/metrics", |reply| {
        let text = reply.expect(200).body;
        if say(&text) { Ok(text) } else { Err(format!("no `{what}` in\n{text}")) }
    })
    .await
}

// Where it listens --------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_taken_ends_who_asked_for_it_and_nobody_else() {
    let shop = Shop::open_migrated().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = shop.run(&["serve", "--listen", &address]).fail(2, "could not listen on");
    assert!(run.stderr.contains(&address), "{run:?}");
    let refused = "listen must be an address of this machine alone";
    shop.run(&["serve", "--listen", "0.0.0.0:0"]).fail(2, refused);
    shop.run(&["serve", "--listen", "8780"]).fail(2, "listen must be an address with a port");

    // Whoever has the default one, somebody has.
    let _taken = TcpListener::bind("127.0.0.1:8780").await;
    let options = shop.serve_options().variable("POSTRIDER_LISTEN", "");
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    dispatcher.wait_for_log("nothing listens: the address is taken", LONG).await.unwrap();
    dispatcher.stop(LONG).await.unwrap();
    // Who asks for that one has to get it.
    let default = ["serve", "--listen", "127.0.0.1:8780"];
    shop.run(&default).fail(2, "could not listen on 127.0.0.1:8780");

    let silent = shop.serve().await;
    assert!(!silent.log_lines().iter().any(|line| line.contains("listen")), "it is off");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_behind_a_proxy_trusts_nobody_for_coming_from_this_machine() {
    let shop = Shop::open_migrated().await;
    let options = shop.serve_options();
    let options = options.argument("--listen").argument("0.0.0.0:0").argument("--behind-proxy");
    let dispatcher = Dispatcher::start(&options).unwrap();
    let mut asked = listener(&dispatcher).await;
    asked.address.set_ip("127.0.0.1".parse().unwrap());
    for path in ["/health/ready", "/metrics"] {
        let refused = asked.get(path).await;
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        refused.problem(401, "unauthorized");
    }
    // Tokens are in the database, and whether the process lives must not depend on it.
    asked.get("/health/live").await.expect(200);
    asked.bearing("nonsense").get("/health/live").await.expect(200);
    let watching = asked.bearing(&shop.token("prometheus", "viewer"));
    answered(&watching, "/metrics", 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_request_from_this_machine_to_this_machine_needs_no_token() {
    let shop = Shop::open_migrated().await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    asked.get("/health/live").await.expect(200);
    asked.with("host", "localhost").get("/metrics").await.expect(200);
    // By way of a proxy, and of a name of somebody else's that points here.
    asked.with("x-forwarded-for", "192.0.2.1").get("/metrics").await.problem(401, "unauthorized");
    asked.with("forwarded", "for=192.0.2.1").get("/metrics").await.problem(401, "unauthorized");
    asked.with("host", "rebound.example").get("/metrics").await.problem(401, "unauthorized");
    asked.get("/nowhere").await.problem(404, "not_found");
    asked.ask("DELETE", "/metrics", "").await.problem(405, "method_not_allowed");
}

// What it says of itself --------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn it_lives_beside_a_frozen_database_and_delivers_only_with_one() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let proxy = Proxy::start(([127, 0, 0, 1], shop.postgres.port()).into()).unwrap();
    let url =
        shop.url().replace(&format!(":{}/", shop.postgres.port()), &format!(":{}/", proxy.port()));
    let options = shop.serve_options().variable("DATABASE_URL", url);
    let options = options.argument("--listen").argument("127.0.0.1:0");
    let dispatcher = Dispatcher::start(&options).unwrap();
    let asked = listener(&dispatcher).await;
    assert_eq!(until(&asked, "/health/ready", 200).await, r#"{"status":"ready"}"#);
    until_metric(&asked, "postrider_process_ready 1").await;
    until_metrics_say(&asked, "postrider_database_figures_age_seconds ").await;
    let token = shop.token("shop", "producer");

    proxy.black_hole(true);
    // Its lease runs out, and it finds that out by itself.
    until(&asked, "/health/ready", 503).await;
    asked.get("/health/live").await.expect(200);
    let metrics = asked.get("/metrics").await.expect(200).body;
    assert!(metrics.contains("postrider_process_ready 0"), "{metrics}");
    assert!(
        metrics.contains("postrider_database_figures_age_seconds "),
        "the last ones: {metrics}"
    );
    let message = json!({ "endpoint": "orders", "payload": 1 });
    let refused = asked.bearing(&token).post("/api/v1/messages", &message).await;
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    assert_eq!(refused.status, 503);

    proxy.black_hole(false);
    until(&asked, "/health/ready", 200).await;
    // A connection of before may have to be given up first.
    let began = Instant::now();
    let mut reply = asked.bearing(&token).post("/api/v1/messages", &message).await;
    while reply.status == 503 && began.elapsed() < LONG {
        tokio::time::sleep(Duration::from_millis(50)).await;
        reply = asked.bearing(&token).post("/api/v1/messages", &message).await;
    }
    reply.problem(404, "undefined_object");
}

/// A dispatcher that reaches its database by way of a proxy, and listens with these arguments as well.
async fn serve_by_proxy(shop: &Shop, arguments: &[&str]) -> (Proxy, Dispatcher, Asked) {
    let port = shop.postgres.port();
    let proxy = Proxy::start(([127, 0, 0, 1], port).into()).unwrap();
    let url = shop.url().replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
    let options = shop.serve_options().variable("DATABASE_URL", url);
    let options = options.argument("--listen").argument("127.0.0.1:0");
    let options = arguments.iter().fold(options, |options, argument| options.argument(*argument));
    let dispatcher = Dispatcher::start(&options).unwrap();
    let asked = listener(&dispatcher).await;
    (proxy, dispatcher, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_with_a_token_sees_it_beside_a_frozen_database() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let (proxy, _dispatcher, asked) = serve_by_proxy(&shop, &["--behind-proxy"]).await;
    let watching = asked.bearing(&shop.token("prometheus", "viewer"));
    until(&watching, "/health/ready", 200).await;
    proxy.black_hole(true);
    let body = until(&watching, "/health/ready", 503).await;
    assert!(body.contains("lease_over") || body.contains("connecting"), "{body}");
    let metrics = watching.get("/metrics").await.expect(200).body;
    assert!(metrics.contains("postrider_process_ready 0"), "{metrics}");
    asked.get("/health/live").await.expect(200);
    // One that nobody has verified is none.
    let stranger = asked.bearing(&format!("postrider_1_{}", "0".repeat(64)));
    assert_eq!(stranger.get("/metrics").await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn noting_that_a_token_is_used_waits_for_nobody() {
    let shop = Shop::open_migrated().await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let watching = asked.with("via", "1.1 proxy").bearing(&shop.token("prometheus", "viewer"));
    let other = asked.with("via", "1.1 proxy").bearing(&shop.token("other", "viewer"));
    // A row that somebody has locked is skipped.
    let mut client = shop.client().await;
    let holding = client.transaction().await.unwrap();
    let sql = "select t.id from postrider.api_token t where t.name = 'other' for update";
    holding.batch_execute(sql).await.unwrap();
    answered(&other, "/metrics", 200).await;
    // Neither is a standby waited for, which is not there.
    shop.wants_standby("nobody").await;
    let used = "select t.last_used_at is not null from postrider.api_token t where t.name = ";
    // What is not noted in a moment is noted with a use a minute later.
    let began = Instant::now();
    loop {
        answered(&watching, "/metrics", 200).await;
        if shop.ask::<bool>(&format!("{used} 'prometheus'")).await {
            break;
        }
        assert!(began.elapsed() < LONG, "it is not noted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!shop.ask::<bool>(&format!("{used} 'other'")).await);
    holding.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_clients_have_left_free_their_connections() {
    let shop = Shop::open_migrated().await;
    shop.run(&["endpoint", "create", "orders", "--protocol", "discard"]).succeed();
    let (proxy, dispatcher, asked) = serve_by_proxy(&shop, &[]).await;
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    let producer = asked.bearing(&shop.token("shop", "producer"));
    let message = json!({ "endpoint": "orders", "payload": 1 });
    // Two at a time, so that there are two connections.
    let body = message.to_string();
    let first = producer.post("/api/v1/messages", &message);
    let second = producer.post("/api/v1/messages", &message);
    let (first, second) = tokio::join!(first, second);
    first.expect(201);
    second.expect(201);
    proxy.black_hole(true);
    let (name, token) = &producer.headers[0];
    let kind = "content-type: application/json";
    let head = format!("host: x\r\n{name}: {token}\r\n{kind}\r\ncontent-length: {}", body.len());
    for _ in 0..4 {
        let mut stream = TcpStream::connect(asked.address).await.unwrap();
        let request = format!("POST /api/v1/messages HTTP/1.1\r\n{head}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
    }
    // Both connections are taken by those who have left, for as long as a request may take, whatever the database
    // does: then who asks next gets as far as connecting. One or two of these may come before those.
    let code = async || producer.post("/api/v1/messages", &message).await.json()["code"].clone();
    let codes: [Value; 3] = tokio::join!(code(), code(), code()).into();
    assert!(codes.contains(&json!("busy")), "{codes:?}");
    let began = Instant::now();
    while code().await != "database_unavailable" {
        assert!(began.elapsed() < LONG, "connections that nobody waits for are never free");
    }
    proxy.black_hole(false);
    let began = Instant::now();
    loop {
        let reply = producer.post("/api/v1/messages", &message).await;
        if reply.status == 201 {
            break;
        }
        assert_eq!(reply.status, 503, "{reply:?}");
        assert!(began.elapsed() < LONG, "{reply:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_that_it_is_stopping_until_it_has_stopped() {
    let shop = Shop::open_to_receivers().await;
    // Nobody answers the one message that is in flight.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    // Its attempt lasts, and is waited for, however long the machine takes until it is answered.
    let config = json!({ "url": url, "timeout_seconds": 300 });
    shop.endpoint("silent", config, json!({})).await;
    let options = shop.serve_options().argument("--listen").argument("127.0.0.1:0");
    let dispatcher = Dispatcher::start(&options).unwrap();
    let asked = listener(&dispatcher).await;
    shop.send("silent", json!(1)).await;
    until_metric(&asked, "postrider_process_in_flight 1").await;
    let (mut receiving, _) = silent.accept().await.unwrap();
    dispatcher.sigterm();
    let body = until(&asked, "/health/ready", 503).await;
    assert!(body.contains("draining"), "{body}");
    asked.get("/health/live").await.expect(200);
    let mut head = [0; 16];
    receiving.read_exact(&mut head).await.unwrap();
    receiving.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_counted_and_timed_by_endpoint() {
    let shop = Shop::open_to_receivers().await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let bad = Receiver::start(Behaviour::custom(|_| Answer::status(404))).unwrap();
    shop.quick_endpoint("good", &good.url()).await;
    shop.quick_endpoint("bad", &bad.url()).await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    shop.send_many("good", 5).await;
    shop.send("bad", json!(1)).await;
    let attempts = |endpoint: &str, outcome: &str, class: &str, count: i32| {
        let labels = format!("class=\"{class}\",endpoint=\"{endpoint}\",outcome=\"{outcome}\"");
        format!("postrider_delivery_attempts_total{{{labels}}} {count}")
    };
    until_metric(&asked, &attempts("good", "accepted", "2xx", 5)).await;
    let text = until_metric(&asked, &attempts("bad", "rejected", "4xx", 1)).await;
    for line in [
        "postrider_delivery_duration_seconds_count{endpoint=\"good\"} 5",
        "postrider_delivery_duration_seconds_count{endpoint=\"bad\"} 1",
        "postrider_end_to_end_latency_seconds_count{endpoint=\"good\"} 5",
        "postrider_tenures_ended_total{reason=\"failed\"} 0",
    ] {
        assert!(text.lines().any(|other| other == line), "no `{line}` in\n{text}");
    }
    // What the database says is there as well, each family once.
    let text = until_metrics_say(&asked, "postrider_endpoint_enabled{endpoint=\"good\"}").await;
    let mut types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let count = types.len();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), count, "a family is there twice");

    shop.execute("select postrider.drop_endpoint('good', true)").await;
    let began = Instant::now();
    while asked.get("/metrics").await.body.contains("_count{endpoint=\"good\"}") {
        assert!(began.elapsed() < LONG, "figures of an endpoint that is gone");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// Nobody holds it up ------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn who_is_slow_holds_up_neither_others_nor_delivery() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("orders", &receiver.url()).await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let producer = asked.bearing(&shop.token("shop", "producer"));
    let mut slow = Vec::new();
    for beginning in [
        "",
        "GET /health/live HTTP/1.1\r\nhost: x",
        "POST /api/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{",
    ] {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(asked.address).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            slow.push(stream);
        }
    }
    // The same with a token, which makes its body worth reading.
    let (name, token) = &producer.headers[0];
    let head = format!("host: x\r\n{name}: {token}\r\ncontent-length: 16000000");
    for _ in 0..20 {
        let mut stream = TcpStream::connect(asked.address).await.unwrap();
        let request = format!("POST /api/v1/messages HTTP/1.1\r\n{head}\r\n\r\n{{");
        stream.write_all(request.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let message = json!({ "endpoint": "orders", "payload": 1 });
    producer.post("/api/v1/messages", &message).await.expect(201);
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    // Who has not asked is sent away.
    let first = &mut slow[0];
    let mut byte = [0; 1];
    assert!(matches!(timeout(LONG, first.read(&mut byte)).await, Ok(Ok(0) | Err(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_or_no_http_is_refused() {
    let shop = Shop::open_migrated().await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let producer = asked.bearing(&shop.token("shop", "producer"));
    let payload = "x".repeat(17 * 1024 * 1024);
    let message = json!({ "endpoint": "orders", "payload": payload });
    // Without a token nothing of it is read.
    asked.post("/api/v1/messages", &message).await.problem(401, "unauthorized");
    producer.post("/api/v1/messages", &message).await.problem(413, "body_too_large");
    let long = asked.with("x-long", &"x".repeat(20_000)).get("/health/live").await;
    assert_eq!(long.status, 431, "{long:?}");
    for nonsense in
        ["nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nx y: z\r\n\r\n"]
    {
        let reply = asked.send(nonsense.as_bytes()).await;
        assert!(matches!(reply.status, 400 | 505), "{nonsense}: {reply:?}");
    }
    // The preface of HTTP/2, which it does not speak: it hangs up.
    let mut stream = TcpStream::connect(asked.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut rest)).await.expect("it hangs up");
    asked.get("/health/live").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_a_lock_does_not_hold_up_delivery() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("orders", &receiver.url()).await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let producer = asked.bearing(&shop.token("shop", "producer"));
    let mut client = shop.client().await;
    let holding = client.transaction().await.unwrap();
    holding.batch_execute("lock table postrider.api_token").await.unwrap();
    let message = json!({ "endpoint": "orders", "payload": 1 });
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let (producer, message) = (producer.clone(), message.clone());
            tokio::spawn(async move { producer.post("/api/v1/messages", &message).await })
        })
        .collect();
    shop.until(
        "select exists (select from pg_stat_activity where application_name = 'postrider api'
            and wait_event_type = 'Lock')",
    )
    .await;
    let sql = "select count(*) <= 5 from pg_stat_activity where application_name = 'postrider api'";
    assert!(shop.ask::<bool>(sql).await, "more connections than it may have");
    shop.send("orders", json!(2)).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    asked.get("/health/ready").await.expect(200);
    asked.get("/metrics").await.expect(200);
    for reply in waiting {
        let reply = reply.await.unwrap();
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
        assert_eq!(reply.status, 503);
    }
    holding.rollback().await.unwrap();
    producer.post("/api/v1/messages", &message).await.expect(201);

    // So many that they take longer than anybody waits for a connection, of one token: another one has its own.
    let other = asked.bearing(&shop.token("other", "viewer"));
    let holding = client.transaction().await.unwrap();
    holding.batch_execute("lock table postrider.message in share mode").await.unwrap();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let (producer, message) = (producer.clone(), message.clone());
            tokio::spawn(async move { producer.post("/api/v1/messages", &message).await })
        })
        .collect();
    shop.until(
        "select count(*) >= 2 from pg_stat_activity where application_name = 'postrider api'
            and wait_event_type = 'Lock'",
    )
    .await;
    other.get("/api/v1/endpoints").await.expect(200);
    holding.rollback().await.unwrap();
    for reply in waiting {
        let reply = reply.await.unwrap();
        assert!(matches!(reply.status, 201 | 503), "{reply:?}");
    }
}

// Tokens ------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_once_and_holds_until_it_is_revoked_or_expires() {
    let shop = Shop::open_migrated().await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let created = shop.run(&["token", "create", "shop", "--role", "producer"]).succeed();
    let token = created.stdout.trim_end();
    assert!(
        token.starts_with("postrider_1_") && !token.contains(char::is_whitespace),
        "{created:?}"
    );
    assert_eq!(created.stderr, "", "{created:?}");
    let secret = token.rsplit_once('_').unwrap().1;
    let dump = shop.dump_all("shop");
    assert!(!dump.contains(secret), "the database has the token");
    shop.run(&["token", "create", "shop", "--role", "viewer"]).fail(1, "already exists");
    shop.run(&["token", "create", "x", "--role", "owner"]).fail(2, "invalid value 'owner'");

    let message = json!({ "endpoint": "orders", "payload": 1 });
    let send = async |token: &str| asked.bearing(token).post("/api/v1/messages", &message).await;
    send(token).await.problem(404, "undefined_object");
    asked.post("/api/v1/messages", &message).await.problem(401, "unauthorized");
    let other = if secret.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{other}", &token[..token.len() - 1]);
    for wrong in [forged.as_str(), "postrider_1_", "x", &token.replace("_1_", "_2_")] {
        send(wrong).await.problem(401, "unauthorized");
    }
    let basic = asked.with("authorization", &format!("Basic {token}"));
    basic.post("/api/v1/messages", &message).await.problem(401, "unauthorized");

    let used = "select last_used_at is not null from postrider.tokens where name = 'shop'";
    // What is not noted in a moment is noted with a use a minute later.
    let began = Instant::now();
    while !shop.ask::<bool>(used).await {
        assert!(began.elapsed() < LONG, "it is not noted");
        send(token).await.problem(404, "undefined_object");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let list = shop.run(&["token", "list", "--json"]).json();
    assert_eq!((&list[0]["name"], &list[0]["status"]), (&json!("shop"), &json!("active")));
    assert!(!list.to_string().contains("hash"), "{list}");
    // It was verified a moment ago, and is once more when something is done.
    shop.run(&["token", "revoke", "shop"]).succeed();
    send(token).await.problem(401, "unauthorized");
    shop.run(&["token", "revoke", "nobody"]).fail(1, "does not exist");

    let short = shop.run(&["token", "create", "short", "--role", "producer", "--expires", "1h"]);
    let short = short.succeed().stdout.trim_end().to_owned();
    send(&short).await.problem(404, "undefined_object");
    shop.execute("update postrider.api_token set expires_at = now() where name = 'short'").await;
    send(&short).await.problem(401, "unauthorized");
    let again = shop.token("shop", "producer");
    send(&again).await.problem(404, "undefined_object");
    let events = shop.run(&["events", "--json"]).json().to_string();
    assert!(events.contains("token.created") && events.contains("token.revoked"), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_may_what_the_grants_of_its_database_role_say() {
    let shop = Shop::open_migrated().await;
    shop.run(&["endpoint", "create", "orders", "--protocol", "discard"]).succeed();
    let (_dispatcher, asked) = shop.serve_asked().await;
    let message = json!({ "endpoint": "orders", "payload": 1 });
    for (role, status) in [("producer", 201), ("admin", 201), ("operator", 403), ("viewer", 403)] {
        let asking = asked.bearing(&shop.token(role, role));
        let reply = asking.post("/api/v1/messages", &message).await.expect(status);
        if status == 403 {
            reply.problem(403, "insufficient_privilege");
        }
    }
    // It is the grants that decide.
    shop.execute("revoke execute on function postrider.send_with_options from postrider_producer")
        .await;
    let producer = asked.bearing(&shop.token("another", "producer"));
    producer.post("/api/v1/messages", &message).await.problem(403, "insufficient_privilege");
    // A role without rights here may belong to another database.
    shop.execute("revoke usage on schema postrider from postrider_producer").await;
    let created = shop.run(&["token", "create", "useless", "--role", "producer"]).succeed();
    let warning = "role \"postrider_producer\" has no rights on the schema";
    assert!(created.stderr.contains(warning), "{created:?}");
    assert!(created.stdout.starts_with("postrider_"), "{created:?}");
}

/// Beyond this machine; in SQL `metrics` is not granted to the rest either.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_ask_the_database_for_figures_may_not_ask_the_process() {
    let shop = Shop::open_migrated().await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    until(&asked, "/health/ready", 200).await;
    let far = asked.with("x-forwarded-for", "192.0.2.1");
    let roles = [
        ("viewer", "monitor", true),
        ("operator", "operator", true),
        ("admin", "admin", true),
        ("producer", "producer", false),
    ];
    for (role, database_role, may) in roles {
        let sql = format!(
            "select has_function_privilege('postrider_{database_role}', 'postrider.metrics()', 'execute')"
        );
        assert_eq!(shop.ask::<bool>(&sql).await, may, "{role}");
        let asking = far.bearing(&shop.token(role, role));
        for path in ["/metrics", "/health/ready", "/metrics"] {
            answered(&asking, path, if may { 200 } else { 403 }).await;
            if !may {
                asking.get(path).await.problem(403, "insufficient_privilege");
            }
        }
        asking.get("/health/live").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_with_the_rights_of_the_process() {
    let shop = Shop::open_migrated().await;
    shop.run(&["endpoint", "create", "orders", "--protocol", "discard"]).succeed();
    let (_dispatcher, asked) = shop.serve_asked().await;
    let message = json!({ "endpoint": "orders", "payload": 1 });
    let operator = asked.bearing(&shop.token("operator", "operator"));
    let viewer = asked.bearing(&shop.token("viewer", "viewer"));
    let producer = asked.bearing(&shop.token("producer", "producer"));
    let post = async |asked: &Asked| asked.post("/api/v1/messages", &message).await;
    post(&operator).await.problem(403, "insufficient_privilege");
    let keyed = producer.with("idempotency-key", "order-1");
    post(&keyed).await.expect(201);
    // A token that was revoked, whatever was verified before, hears not even what was answered.
    shop.execute("select postrider.revoke_token('producer')").await;
    post(&producer).await.problem(401, "unauthorized");
    post(&keyed).await.problem(401, "unauthorized");
    post(&producer.with("idempotency-key", "order-2")).await.problem(401, "unauthorized");
    // A role that is gone.
    shop.execute("drop owned by postrider_monitor; drop role postrider_monitor").await;
    post(&viewer).await.problem(503, "role_unavailable");
    // A statement that finds nothing to enter.
    shop.execute("delete from postrider.installation").await;
    post(&operator).await.problem(401, "unauthorized");
    post(&operator.with("idempotency-key", "order-3")).await.problem(401, "unauthorized");
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_is_no_superuser_can_let_others_ask() {
    let shop = Shop::open().await;
    // One who may make roles, and one who gets them made.
    shop.execute("create role maker login createrole; alter database shop owner to maker").await;
    let owned = |role: &str| shop.postgres.url_as(role, "shop");
    crate::shop::run(&owned("maker"), &["migrate"], "").succeed();
    check_owner(&shop, &owned("maker"), ("maker", "first")).await;

    shop.postgres.execute("postgres", "create database other").await.unwrap();
    shop.postgres
        .execute("postgres", "create role keeper login; alter database other owner to keeper")
        .await
        .unwrap();
    let url = shop.postgres.url_as("keeper", "other");
    crate::shop::run(&url, &["migrate"], "").succeed();
    // The roles were made by somebody else, for another database.
    let create = ["token", "create", "shop", "--role", "producer"];
    let refused = crate::shop::run(&url, &create, "").fail(1, "may not act as role");
    let (_, hint) =
        refused.stderr.split_once("Run as a superuser, or whoever made the role: ").unwrap();
    shop.postgres.execute("other", hint.trim()).await.unwrap();
    check_owner(&shop, &url, ("keeper", "second")).await;
}

async fn check_owner(shop: &Shop, url: &str, (owner, name): (&str, &str)) {
    let run = |arguments: &[&str]| crate::shop::run(url, arguments, "").succeed();
    run(&["endpoint", "create", "orders", "--protocol", "discard"]);
    let token = run(&["token", "create", name, "--role", "producer"]).stdout;
    let options = shop.serve_options().variable("DATABASE_URL", url);
    let options = options.argument("--listen").argument("127.0.0.1:0");
    let dispatcher = Dispatcher::start(&options).unwrap();
    let asked = listener(&dispatcher).await.bearing(token.trim_end());
    let message: Value = json!({ "endpoint": "orders", "payload": 1 });
    asked.post("/api/v1/messages", &message).await.expect(201);
    // Somebody takes the role away.
    let sql = format!("revoke postrider_producer from {}", owner);
    shop.postgres.execute("postgres", &sql).await.unwrap();
    asked.post("/api/v1/messages", &message).await.problem(403, "role_unavailable");
}
