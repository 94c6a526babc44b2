//! Endpoints and settings, through SQL: what the functions do and what they raise.

use crate::shop::{
    Shop,
    producing::{check_refusal, check_refusals, pid_of, until_blocked},
};
use serde_json::{Value, json};
use tokio_postgres::{Client, types::Json};

const CREATE: &str =
    "select postrider.create_endpoint('a', 'http', '{\"url\": \"http://a.test/\"}')";

/// The statement fails with this SQLSTATE and exactly this text.
#[track_caller]
fn check(result: Result<(), tokio_postgres::Error>, code: &str, text: &str, sql: &str) {
    let error = result.expect_err(sql);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
    assert_eq!((error.code().code(), error.message()), (code, text), "{sql}");
}

async fn check_all(client: &Client, cases: &[(&str, &str, &str)]) {
    for (sql, code, text) in cases {
        check(client.batch_execute(sql).await, code, text, sql);
    }
}

async fn events(client: &Client, after: i64) -> Vec<(String, Option<String>, Value)> {
    let sql = "select event, endpoint_name, details - '{by,before,after,secrets_set_at}'::text[]
        from postrider.event_log
        where id > $1 order by id";
    let rows = client.query(sql, &[&after]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

async fn value(client: &Client, sql: &str) -> Value {
    let sql = format!("select to_jsonb(v) from ({sql}) q (v)");
    client.query_one(&sql, &[]).await.unwrap().get::<_, Option<Value>>(0).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_calls_raise_what_the_contract_says() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(CREATE).await.unwrap();
    let missing = "Endpoint 'x' does not exist";
    let no_name = "Endpoint name must not be null";
    let policy = |policy: &str| {
        format!("update postrider.endpoints set retry_policy = '{policy}' where name = 'a'")
    };
    let name = "Endpoint name must be 1 to 200 letters, digits, or _ . : -, beginning with a letter \
        or digit, got";
    let networks = "Setting 'allow_internal_destinations' must be off, on, or up to 1000 networks \
        such as 10.0.0.0/8, fd00::/8, got";
    check_all(
        &client,
        &[
            (CREATE, "42710", "Endpoint 'a' already exists"),
            ("select postrider.create_endpoint(null, 'http', '{}')", "22004", no_name),
            (
                "select postrider.create_endpoint('x', null, '{}')",
                "22004",
                "Protocol must not be null",
            ),
            (
                "select postrider.create_endpoint('x', 'http', null)",
                "22004",
                "Config must not be null",
            ),
            ("select postrider.create_endpoint('', 'http', '{}')", "22023", &format!("{name} ''")),
            (
                "select postrider.create_endpoint('a b', 'http', '{}')",
                "22023",
                &format!("{name} 'a b'"),
            ),
            (
                "select postrider.create_endpoint('x', 'http', '[]')",
                "22023",
                "config must be an object",
            ),
            (
                "select postrider.create_endpoint('x', 'http', '{}')",
                "22023",
                "config.url is required",
            ),
            (
                "select postrider.create_endpoint('x', 'http', '{\"ulr\": 1}')",
                "22023",
                "config.ulr is not a known option of protocol http; did you mean url?",
            ),
            ("select postrider.alter_endpoint('a', '{}')", "22023", "config.url is required"),
            ("select postrider.alter_endpoint('x', '{}')", "42704", missing),
            ("select postrider.alter_endpoint(null, '{}')", "22004", no_name),
            ("select postrider.alter_endpoint('a', null)", "22004", "Config must not be null"),
            ("select postrider.enable_endpoint('x')", "42704", missing),
            ("select postrider.enable_endpoint(null)", "22004", no_name),
            ("select postrider.disable_endpoint('x')", "42704", missing),
            ("select postrider.disable_endpoint(null)", "22004", no_name),
            ("select postrider.drop_endpoint('x')", "42704", missing),
            ("select postrider.drop_endpoint(null)", "22004", no_name),
            (
                "update postrider.endpoints set name = 'b'",
                "22023",
                "Name and protocol of endpoint 'a' cannot be changed: create another one",
            ),
            (&policy("5"), "22023", "retry_policy must be an object"),
            (
                &policy(r#"{"max_retires": 5}"#),
                "22023",
                "retry_policy.max_retires is not a known key (did you mean max_retries?)",
            ),
            (
                &policy(r#"{"max_retries": "5"}"#),
                "22023",
                "retry_policy.max_retries must be an integer",
            ),
            (
                &policy(r#"{"max_retries": 1.5}"#),
                "22023",
                "retry_policy.max_retries must be an integer",
            ),
            (
                &policy(r#"{"max_retries": 1001}"#),
                "22023",
                "retry_policy.max_retries must be between 0 and 1000, got 1001",
            ),
            (
                &policy(r#"{"base_delay_seconds": 0}"#),
                "22023",
                "retry_policy.base_delay_seconds must be between 1 and 3600, got 0",
            ),
            (
                &policy(r#"{"max_delay_seconds": 86401}"#),
                "22023",
                "retry_policy.max_delay_seconds must be between 1 and 86400, got 86401",
            ),
            (
                &policy(r#"{"increment_seconds": -1}"#),
                "22023",
                "retry_policy.increment_seconds must be between 1 and 3600, got -1",
            ),
            (
                &policy(r#"{"backoff": "none"}"#),
                "22023",
                "retry_policy.backoff must be one of exponential, linear, fixed",
            ),
            (&policy(r#"{"jitter": "much"}"#), "22023", "retry_policy.jitter must be a number"),
            (
                &policy(r#"{"jitter": 1.1}"#),
                "22023",
                "retry_policy.jitter must be between 0 and 1, got 1.1",
            ),
            ("select postrider.get_setting('x')", "42704", "Setting 'x' does not exist"),
            ("select postrider.get_setting(null)", "22004", "Setting name must not be null"),
            ("select postrider.set_setting('x', '1')", "42704", "Setting 'x' does not exist"),
            (
                "select postrider.set_setting('x', null)",
                "22004",
                "Setting name and value must not be null",
            ),
            ("select postrider.reset_setting('x')", "42704", "Setting 'x' does not exist"),
            (
                "select postrider.set_setting('http_timeout', '301')",
                "22023",
                "Setting 'http_timeout' must be between 1 and 300 s, got '301'",
            ),
            (
                "select postrider.set_setting('http_timeout', '1e2')",
                "22023",
                "Setting 'http_timeout' must be between 1 and 300 s, got '1e2'",
            ),
            (
                "select postrider.set_setting('record_attempts', 'some')",
                "22023",
                "Setting 'record_attempts' must be one of failures, all, got 'some'",
            ),
            (
                "select postrider.set_setting('allow_internal_destinations', '10.0.0.0/33')",
                "22023",
                &format!("{networks} '10.0.0.0/33'"),
            ),
            (
                "select postrider.set_setting('allow_internal_destinations', '10.0.0.1,,')",
                "22023",
                &format!("{networks} '10.0.0.1,,'"),
            ),
        ],
    )
    .await;
    let sql = "select count(*) from postrider.endpoints";
    assert_eq!(value(&client, sql).await, json!(1));
    let events: Vec<_> = events(&client, 0).await.into_iter().map(|event| event.0).collect();
    assert_eq!(events, ["endpoint.created"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_lives_from_create_to_drop_and_all_of_it_is_logged() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let id = value(&client, CREATE).await;
    let sql = "select s.endpoint_id = e.id from postrider.endpoints e
        join postrider.subscriptions s on s.id = e.direct_subscription_id";
    assert_eq!(value(&client, sql).await, json!(true));
    let version = "select version from postrider.endpoints";
    assert_eq!(value(&client, version).await, json!(1));

    for (sql, expected) in [
        ("select postrider.disable_endpoint('a')", true),
        ("select postrider.disable_endpoint('a')", false),
        ("select postrider.enable_endpoint('a')", true),
        ("select postrider.enable_endpoint('a')", false),
        ("select postrider.alter_endpoint('a', '{\"url\": \"http://b.test/\"}')", true),
    ] {
        assert_eq!(value(&client, sql).await, json!(expected), "{sql}");
    }
    assert_eq!(value(&client, version).await, json!(4));
    let policy = r#"{"max_retries": 0, "backoff": "linear", "jitter": 0}"#;
    let sql = "update postrider.endpoints set retry_policy = $1";
    let policy: Value = serde_json::from_str(policy).unwrap();
    client.execute(sql, &[&Json(policy)]).await.unwrap();
    client.execute("update postrider.endpoints set retry_policy = null", &[]).await.unwrap();
    assert_eq!(value(&client, version).await, json!(6));
    client.execute("update postrider.endpoints set retry_policy = null", &[]).await.unwrap();
    assert_eq!(value(&client, version).await, json!(6));
    let drop = "select to_jsonb(d) - 'job_id' from postrider.drop_endpoint('a') d";
    assert_eq!(value(&client, drop).await, json!({"estimate": 0, "has_more": false}));
    assert_eq!(value(&client, "select count(*) from postrider.subscriptions").await, json!(0));

    let a = || Some("a".to_owned());
    let event = |event: &str| (format!("endpoint.{event}"), a(), json!({}));
    let expected = [
        ("endpoint.created".to_owned(), a(), json!({"id": id, "protocol": "http"})),
        event("disabled"),
        event("enabled"),
        event("altered"),
        event("altered"),
        event("altered"),
        ("job.created".to_owned(), a(), json!({"id": 1, "kind": "drop"})),
        ("endpoint.dropped".to_owned(), a(), json!({"id": id})),
    ];
    assert_eq!(events(&client, 0).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_kept_apart_and_stays_until_it_is_changed() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql = "select postrider.create_endpoint('a', 'http',
        '{\"url\": \"http://a.test/\", \"headers\": {\"authorization\": \"s3cret\"}}')";
    client.batch_execute(sql).await.unwrap();
    let visible = "select config from postrider.endpoints";
    let secret =
        "select (select nullif(config - 'signing_keys', '{}') from postrider.endpoint_secret)";
    let stored = json!({"headers": {"authorization": "s3cret"}});
    // Keys that sign are never sent, so they follow wherever the endpoint goes.
    let keys = "select (select s.config -> 'signing_keys' from postrider.endpoint_secret s)";
    let own_keys = value(&client, keys).await;
    assert!(own_keys.as_array().is_some_and(|keys| keys.len() == 1), "{own_keys}");
    assert_eq!(value(&client, visible).await, json!({"url": "http://a.test/"}));
    assert_eq!(value(&client, secret).await, stored);

    let alter = |config: &str| format!("select postrider.alter_endpoint('a', '{config}')");
    client.batch_execute(&alter(r#"{"url": "http://A.test:80/b"}"#)).await.unwrap();
    assert_eq!(value(&client, secret).await, stored);
    for elsewhere in
        ["http://b.test/", "https://a.test/", "http://a.test:8080/", "http://a.test.b/"]
    {
        let config = format!(r#"{{"url": "{elsewhere}"}}"#);
        assert_eq!(shop.refusal(&alter(&config)).await, "22023", "{elsewhere}");
    }
    assert_eq!(value(&client, secret).await, stored);
    assert_eq!(value(&client, keys).await, own_keys);
    let direct = r#"update postrider.endpoints set config = '{"url": "http://b.test/",
        "headers": {"x-a": "new"}}'"#;
    client.batch_execute(direct).await.unwrap();
    assert_eq!(value(&client, visible).await, json!({"url": "http://b.test/"}));
    assert_eq!(value(&client, secret).await, json!({"headers": {"x-a": "new"}}));
    assert_eq!(value(&client, keys).await, own_keys, "to another host, with other headers");
    let config = r#"{"url": "http://b.test/", "headers": null}"#;
    client.batch_execute(&alter(config)).await.unwrap();
    assert_eq!(value(&client, secret).await, Value::Null);
    assert_eq!(value(&client, "select version from postrider.endpoints").await, json!(4));
    for elsewhere in ["https://c.test/", "http://c.test:8080/", "http://b.test/"] {
        client.batch_execute(&alter(&format!(r#"{{"url": "{elsewhere}"}}"#))).await.unwrap();
        assert_eq!(value(&client, keys).await, own_keys, "nothing but keys: {elsewhere}");
    }

    let config = r#"{"url": "http://b.test/", "headers": {"authorization": "s3cret"}}"#;
    client.batch_execute(&alter(config)).await.unwrap();
    let sql = "select bool_or(e::text like '%s3cret%') from postrider.event_log e";
    assert_eq!(value(&client, sql).await, json!(false));
    client.batch_execute("select postrider.drop_endpoint('a')").await.unwrap();
    assert_eq!(value(&client, secret).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_follow_to_whoever_could_read_them_on_the_way() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let url = "https://example.com/hook";
    let (pin, other_pin) = ("A".repeat(43) + "=", "E".repeat(43) + "=");
    let set =
        json!({ "url": url, "headers": {"x-a": "b"}, "auth": {"type": "bearer", "token": "t"} });
    let plain = json!({ "url": url, "proxy": null, "tls": null });
    let proxied = json!({ "url": url, "proxy": {"url": "https://proxy.example.com"} });
    let pinned = json!({ "url": url, "tls": {
        "server_name": "a.example.com", "ca": "some PEM", "pins": [pin],
        "certificate": "CERTIFICATE", "key": "KEY"} });
    let tls = |change: Value| {
        let mut config = pinned.clone();
        let members = config["tls"].as_object_mut().unwrap();
        for (name, value) in change.as_object().unwrap() {
            members.remove(name);
            if !value.is_null() {
                members.insert(name.clone(), value.clone());
            }
        }
        config
    };
    let cases = [
        (&plain, proxied.clone(), false),
        (&plain, json!({ "url": url, "tls": {"ca": "PEM"} }), false),
        (&plain, json!({ "url": url, "tls": {"server_name": "b.example.com"} }), false),
        (&plain, json!({ "url": url, "tls": {"pins": [pin], "min_version": "1.3"} }), true),
        (&plain, json!({ "url": url, "timeout_seconds": 7 }), true),
        (&proxied, json!({ "url": url, "proxy": {"url": "https://proxy.example.net"} }), false),
        (&proxied, json!({ "url": url, "proxy": null }), false),
        (
            &proxied,
            json!({ "url": url, "proxy": {"url": "https://proxy.example.com", "username": "u", "password": "p"} }),
            false,
        ),
        (
            &proxied,
            json!({ "url": url, "proxy": {"url": "https://proxy.example.com"}, "concurrency": 9 }),
            true,
        ),
        (&proxied, json!({ "url": url, "concurrency": 9 }), true),
        (&pinned, json!({ "url": url, "tls": null }), false),
        (&pinned, tls(json!({ "ca": null })), false),
        (&pinned, tls(json!({ "ca": "another" })), false),
        (&pinned, tls(json!({ "server_name": null })), false),
        (&pinned, tls(json!({ "server_name": "b.example.com" })), false),
        (&pinned, tls(json!({ "pins": null })), false),
        (&pinned, tls(json!({ "pins": [] })), false),
        (&pinned, tls(json!({ "pins": [pin, other_pin] })), false),
        (&pinned, tls(json!({ "certificate": "next", "key": "next" })), true),
        (&pinned, tls(json!({ "min_version": "1.3" })), true),
    ];
    let alter = "select postrider.alter_endpoint('way', $1)";
    client.execute("select postrider.create_endpoint('way', 'http', $1)", &[&set]).await.unwrap();
    for (before, after, may) in cases {
        let with = |config: &Value| {
            let mut whole = config.clone();
            for name in ["headers", "auth"] {
                whole[name] = set[name].clone();
            }
            whole
        };
        let whole = with(before);
        client.execute(alter, &[&with(&plain)]).await.unwrap();
        client.execute(alter, &[&whole]).await.unwrap_or_else(|error| panic!("{whole}: {error:?}"));
        let secrets = value(&client, "select config from postrider.endpoint_secret").await;
        let result = client.execute(alter, &[&after]).await;
        if may {
            result.unwrap_or_else(|error| panic!("{after}: {error:?}"));
            continue;
        }
        let error = result.expect_err(&after.to_string());
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "22023", "{after}");
        let expected = "headers and auth of endpoint 'way' do not follow to another proxy, tls.ca, tls.server_name or \
                        tls.pins: give them again, or null";
        assert_eq!(error.message(), expected, "{after}");
        assert_eq!(value(&client, "select config from postrider.endpoint_secret").await, secrets);
        // One of them is not enough; both are, whatever they are.
        for (given, may) in [
            (json!({ "headers": {"x-a": "b"} }), false),
            (json!({ "auth": null }), false),
            (json!({ "auth": null, "headers": {"x-a": "c"} }), true),
        ] {
            let mut config = after.clone();
            config.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
            assert_eq!(client.execute(alter, &[&config]).await.is_ok(), may, "{config}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_where_no_http_is_spoken_are_refused_unless_allowed() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql =
        "select array_agg(n) from generate_series(0, 65535) n where not postrider.is_web_port(n)";
    let refused: Vec<i32> = client.query_one(sql, &[]).await.unwrap().get(0);
    let expected: Vec<i32> = (0..=u16::MAX)
        .filter(|port| !postrider_core::networks::is_web_port(*port))
        .map(i32::from)
        .collect();
    assert_eq!(refused, expected, "SQL and the dispatcher have the same list");

    let create = |name: &str, url: &str| {
        let config = json!({ "url": url });
        format!("select postrider.create_endpoint('{name}', 'http', '{config}')")
    };
    for (number, url) in
        ["http://a.test:25/", "https://[::1]:6379", "http://a:05432?b:80/"].iter().enumerate()
    {
        let sql = create(&format!("a{number}"), url);
        assert_eq!(shop.refusal(&sql).await, "22023", "{url}");
        shop.execute("select postrider.set_setting('allow_any_port', 'on')").await;
        shop.execute(&sql).await;
        shop.execute("select postrider.set_setting('allow_any_port', 'off')").await;
    }
    shop.execute(&create("b", "http://a.test/b:25/")).await;
    shop.execute(&create("c", "http://a.test:8080/")).await;
}

/// Texts that look like addresses: an address, with some characters changed, left out or put in.
fn almost_address(dice: &mut fastrand::Rng) -> String {
    const CHARACTERS: &[u8] = b"0127f:.x";
    let mut text = match dice.u8(..4) {
        0 => std::net::Ipv4Addr::from_bits(dice.u32(..)).to_string(),
        1 => format!("::{}", std::net::Ipv4Addr::from_bits(dice.u32(..))),
        _ => {
            let groups: Vec<String> =
                (0..dice.usize(1..9)).map(|_| format!("{:x}", dice.u16(..))).collect();
            groups.join(":")
        }
    }
    .into_bytes();
    for _ in 0..dice.u8(..4) {
        let place = dice.usize(..=text.len());
        match dice.u8(..3) {
            0 => text.insert(place, CHARACTERS[dice.usize(..CHARACTERS.len())]),
            1 => drop(text.splice(place..place, *b"::")),
            _ if place < text.len() => drop(text.remove(place)),
            _ => {}
        }
    }
    let text = String::from_utf8(text).unwrap();
    if dice.bool() { format!("[{text}]") } else { text }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_looks_like_an_address_is_judged_alike_by_database_and_dispatcher() {
    const COUNT: usize = 20_000;
    let shop = Shop::open_migrated().await;
    let seed = std::env::var("POSTRIDER_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("POSTRIDER_TEST_SEED={seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let hosts: Vec<String> = (0..COUNT).map(|_| almost_address(&mut dice)).collect();
    let sql = "select coalesce(host(postrider.address_literal(h)), ''),
            postrider.is_http_url('http://' || h || '/', 2048)
        from unnest($1::text[]) with ordinality h (h, place) order by h.place";
    let rows = shop.client().await.query(sql, &[&hosts]).await.unwrap();
    let mut literal_count = 0;
    for (host, row) in hosts.iter().zip(rows) {
        let found: String = row.get(0);
        let found = (!found.is_empty()).then(|| found.parse().unwrap());
        let expected = postrider_core::networks::literal(host);
        assert_eq!(found, expected, "{host}");
        literal_count += usize::from(expected.is_some());
        if host.starts_with('[') {
            assert_eq!(row.get::<_, bool>(1), expected.is_some(), "{host}");
        }
    }
    assert!((COUNT / 20..COUNT / 20 * 19).contains(&literal_count), "{literal_count}");
}

/// Where the address stands in the URL, in whatever form; what a name leads to is judged by the dispatcher.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_over_plain_http_are_refused_but_for_private_addresses() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let hosts: Value = serde_json::from_str(include_str!("../testdata/hosts.json")).unwrap();
    let sql = "select to_jsonb(host(postrider.address_literal($1))),
        coalesce(postrider.is_private(postrider.address_literal($1)), false)";
    for case in hosts.as_array().unwrap() {
        let row = client.query_one(sql, &[&case["host"].as_str().unwrap()]).await.unwrap();
        let address: Option<Value> = row.get(0);
        let found = (address.unwrap_or_default(), row.get::<_, bool>(1));
        assert_eq!(found, (case["address"].clone(), case["private"] == true), "{case}");
    }

    let headers = json!({ "authorization": "s3cret" });
    let create = |name: &str, url: &str| {
        let config = json!({ "url": url, "headers": headers });
        format!("select postrider.create_endpoint('{name}', 'http', '{config}')")
    };
    let text = "Secret headers are sent over plain http to private addresses only: use https";
    for url in [
        "http://1.1.1.1/",
        "HTTP://0x01010101:8080?a",
        "http://16843009",
        "http://[2606:4700::1]:80/",
        "http://[2002:a01:203::1]/",
        "http://[::ffff:1.1.1.1]",
        "http://100.64.0.1/10.0.0.1",
    ] {
        let error = client.batch_execute(&create("a", url)).await.expect_err(url);
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), ("22023", text), "{url}");
    }
    for (number, url) in
        ["http://10.1.2.3/", "http://[::ffff:a01:203]:8080/", "http://a.test/", "https://1.1.1.1/"]
            .iter()
            .enumerate()
    {
        shop.execute(&create(&format!("b{number}"), url)).await;
    }
    let change =
        "select postrider.alter_endpoint('b3', '{\"url\": \"http://1.1.1.1/\", \"headers\": %}')";
    assert_eq!(shop.refusal(&change.replace('%', &headers.to_string())).await, "22023");
    shop.execute(&change.replace('%', "null")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_not_dropped_while_messages_wait_unless_forced() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(CREATE).await.unwrap();
    client.batch_execute("select postrider.send('a', '{\"n\": 1}')").await.unwrap();
    let waiting = "Endpoint 'a' has messages waiting for it";
    check_all(&client, &[("select postrider.drop_endpoint('a')", "55000", waiting)]).await;

    let defer = "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, message_created_at,
            last_error)
        select m.id, e.direct_subscription_id, e.id, 0, now(), 2, m.created_at, '[RETRYABLE] 503'
        from postrider.message m, postrider.endpoints e;
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status)
        select d.message_id, d.target, d.endpoint_id, 1, now(), 3, 'unavailable', 503
        from postrider.deferred d";
    client.batch_execute(defer).await.unwrap();
    check_all(&client, &[("select postrider.drop_endpoint('a')", "55000", waiting)]).await;
    client.batch_execute("select postrider.drop_endpoint('a', p_force => true)").await.unwrap();
    shop.finish_jobs().await;
    let sql = "select jsonb_build_array(l.endpoint_name, l.status, l.cause, l.retry_count,
            l.last_error, l.payload, l.error_history -> 0 -> 'status',
            (select count(*) from postrider.deferred))
        from postrider.dead_letter l";
    let expected =
        json!(["a", "failed", "endpoint_dropped", 2, "[RETRYABLE] 503", {"n": 1}, 503, 0]);
    assert_eq!(value(&client, sql).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_changed_logged_and_announced() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    for (name, given, stored) in [
        ("http_timeout", " 020 ", "20"),
        ("http_timeout", "20", "20"),
        ("record_attempts", "all", "all"),
        ("allow_internal_destinations", "on", "on"),
        (
            "allow_internal_destinations",
            "10.1.2.3/8,::1 , fd00::/8",
            "10.0.0.0/8, ::1/128, fd00::/8",
        ),
    ] {
        let set = "select postrider.set_setting($1, $2), postrider.get_setting($1)";
        let row = client.query_one(set, &[&name, &given]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), stored);
    }
    let sql = "select postrider.reset_setting('http_timeout')";
    assert_eq!(value(&client, sql).await, json!("10"));
    let changed = |name: &str, from: &str, to: &str| {
        let details = json!({"name": name, "from": from, "to": to});
        ("setting.changed".to_owned(), None, details)
    };
    let expected = [
        changed("http_timeout", "10", "20"),
        changed("record_attempts", "failures", "all"),
        changed("allow_internal_destinations", "off", "on"),
        changed("allow_internal_destinations", "on", "10.0.0.0/8, ::1/128, fd00::/8"),
        changed("http_timeout", "20", "10"),
    ];
    assert_eq!(events(&client, 0).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_wake_who_listens() {
    use postrider_store::connect::{Connector, DatabaseUrl};
    let shop = Shop::open_migrated().await;
    let connector = Connector::new(&DatabaseUrl::new(shop.url()), None, "test").unwrap();
    let mut session = connector.connect().await.unwrap();
    session.client.batch_execute("listen postrider").await.unwrap();
    let client = shop.client().await;
    for (sql, expected) in [
        (CREATE, "endpoints"),
        ("select postrider.set_setting('http_timeout', '7')", "settings"),
        ("select postrider.disable_endpoint('a')", "endpoints"),
        ("select postrider.drop_endpoint('a')", "jobs"),
    ] {
        client.batch_execute(sql).await.unwrap();
        assert_eq!(session.notifications.recv().await.unwrap().payload(), expected, "{sql}");
    }

    assert_eq!(session.lost.reason(), None);
    let pid: i32 = session.client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    // The server has also answered that it closed the statement: it has nothing more to say to us but why it goes.
    session.client.batch_execute("").await.unwrap();
    client.execute("select pg_terminate_backend($1)", &[&pid]).await.unwrap();
    let reason = session.lost.wait().await;
    assert!(reason.contains("terminating connection"), "{reason}");
    assert_eq!(session.lost.reason(), Some(reason));
}

/// Who, as which role, and what was before and after; of secrets that they are set, and since when.
#[tokio::test(flavor = "multi_thread")]
async fn the_event_log_says_who_changed_what() {
    let shop = Shop::open_migrated().await;
    let admin = shop.client().await;
    admin
        .batch_execute("create role anna login; grant postrider_admin to anna; set role anna")
        .await
        .unwrap();
    let changes = [
        r#"select postrider.create_endpoint('a', 'http',
            '{"url": "http://a.test/x?token=s3cret", "headers": {"authorization": "s3cret"}}')"#,
        r#"update postrider.endpoints set retry_policy = '{"max_retries": 3}'"#,
        r#"select postrider.alter_endpoint('a', '{"url": "http://a.test/y?token=s3cret-2"}')"#,
        "select postrider.create_event_type('order.paid')",
        "update postrider.event_types set description = 'paid'",
        "select postrider.subscribe('order.*', 'a')",
        "update postrider.subscriptions set enabled = false where event_type = 'order.*'",
        "select postrider.set_setting('http_timeout', '7')",
        "select postrider.create_consumer('c')",
        "select postrider.reset_consumer('c', 'now')",
        "select postrider.set_action('resize', p_priority => 1)",
        "select postrider.set_action('resize', p_priority => 2)",
        "select postrider.subscribe('order.paid', 'a', '{\"n\": 1}')",
        "select postrider.unsubscribe(s.id) from postrider.subscriptions s where event_type = 'order.paid'",
        "select postrider.pause_endpoint('a')",
        "select postrider.drop_endpoint('a')",
        "select postrider.drop_event_type('order.paid')",
        "select postrider.drop_consumer('c')",
        "select postrider.drop_action('resize')",
        "select postrider.register_worker('w', 'p')",
        "select postrider.deregister_worker(id) from postrider.worker",
        "select postrider.drop_worker('w')",
        "select postrider.create_token('t', 'viewer', sha256('x'), '1 day')",
        "select postrider.revoke_token('t')",
    ];
    for sql in changes {
        admin.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    let log = "select event, details from postrider.event_log order by id";
    let rows = admin.query(log, &[]).await.unwrap();
    let logged = |event: &str| -> Value {
        let of_event = rows.iter().filter(|row| row.get::<_, &str>(0) == event);
        of_event.last().unwrap_or_else(|| panic!("no {event}")).get(1)
    };
    for row in &rows {
        let details: Value = row.get(1);
        if !row.get::<_, &str>(0).ends_with(".deregistered") {
            assert_eq!((&details["by"], &details["role"]), (&json!("postgres"), &json!("anna")));
        }
        assert!(!details.to_string().contains("s3cret"), "{details}");
    }
    assert_eq!(logged("endpoint.created")["after"]["config"]["url"], "http://a.test/x?…");
    let altered = logged("endpoint.altered");
    assert_eq!(altered["before"], json!({"config": {"url": "http://a.test/x?…"}}));
    assert_eq!(altered["after"], json!({"config": {"url": "http://a.test/y?…"}}));
    assert!(altered["secrets_set_at"]["headers"].is_string(), "{altered}");
    let policies = rows.iter().filter(|row| row.get::<_, &str>(0) == "endpoint.altered");
    let first: Value = policies.map(|row| row.get(1)).next().unwrap();
    assert_eq!(first["after"], json!({"retry_policy": {"max_retries": 3}}));
    assert_eq!(first["before"], json!({"retry_policy": null}));
    assert_eq!(logged("event_type.altered")["after"], json!({"description": "paid"}));
    assert_eq!(logged("subscription.disabled")["before"], json!({"enabled": true}));
    let changed = logged("setting.changed");
    assert_eq!((&changed["to"], &changed["after"]), (&json!("7"), &json!({"value": "7"})));
    assert_eq!(changed["before"]["value"], changed["from"]);
    assert!(logged("consumer.reset")["before"].is_object());
    let set = logged("action.set");
    assert_eq!((&set["before"]["priority"], &set["after"]["priority"]), (&json!(1), &json!(2)));
    assert_eq!(logged("endpoint.paused")["after"], json!({"paused": true}));
    assert_eq!(logged("endpoint.dropped")["before"]["config"]["url"], "http://a.test/y?…");
    assert_eq!(logged("endpoint.dropped")["before"]["paused"], true);
    assert_eq!(logged("event_type.dropped")["before"]["description"], "paid");
    let ended: Vec<_> = rows
        .iter()
        .filter(|row| row.get::<_, &str>(0) == "subscription.ended")
        .map(|row| row.get::<_, Value>(1)["before"]["enabled"].clone())
        .collect();
    assert_eq!(ended, [true, false], "by hand, and with its endpoint");
    assert_eq!(logged("action.dropped")["before"]["priority"], 2);
    assert_eq!(logged("worker.dropped")["before"]["pool"], "p");
    assert_eq!(logged("token.revoked")["before"], logged("token.created")["after"]);
    assert_eq!(logged("consumer.dropped")["before"], json!({"event_types": null, "filter": null}));
    // All that comes and goes says so in the same words.
    for row in &rows {
        let (event, details) = (row.get::<_, &str>(0), row.get::<_, Value>(1));
        let absent = match event.rsplit('.').next().unwrap() {
            "created" => "before",
            "dropped" | "ended" | "revoked" => "after",
            _ => continue,
        };
        let present = if absent == "before" { "after" } else { "before" };
        let (absent, present) = (details.get(absent), details.get(present));
        assert!(absent == Some(&Value::Null) && present.unwrap().is_object(), "{event}: {details}");
    }

    let create = ["endpoint", "create", "b", "--protocol", "http", "--set", "url=http://b.test/"];
    let secret = ["--set", "headers.authorization=s3cret"];
    shop.run(&[&create[..], &secret].concat()).succeed();
    let shown = shop.run(&["endpoint", "show", "b", "--json"]).json();
    assert!(shown["secrets_set_at"]["headers"].is_string(), "{shown}");
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
    check_ages_of_secrets(&shop, &admin).await;
}

/// Of the bytes `signing-key-of-tests-0000`.
const SIGNING_KEY: &str = "whsec_c2lnbmluZy1rZXktb2YtdGVzdHMtMDAwMA==";

/// Whatever is stored apart is shown as set, and only what is set anew is younger.
async fn check_ages_of_secrets(shop: &Shop, admin: &Client) {
    let url = "https://c.test/";
    let proxy = |password: &str| json!({ "url": "https://proxy.example.com", "username": "u", "password": password });
    let all = json!({
        "url": url,
        "headers": { "x-a": "s3cret" },
        "auth": { "type": "bearer", "token": "s3cret" },
        "proxy": proxy("s3cret"),
        "tls": { "certificate": "s3cret", "key": "s3cret" },
    });
    let create = "select postrider.create_endpoint('c', 'http', $1)";
    admin.execute(create, &[&all]).await.unwrap();
    let old = "2020-01-01T00:00:00+00:00";
    let age = format!(
        "update postrider.endpoint_secret s
        set set_at = (select jsonb_object_agg(k.key, '{old}') from jsonb_object_keys(s.config) k (key))"
    );
    let set_at =
        "select c.secrets_set_at from postrider.endpoint_configs c where c.endpoint_name = 'c'";
    let logged = "select e.details -> 'secrets_set_at' from postrider.event_log e
        where e.event in ('endpoint.created', 'endpoint.altered') order by e.id desc limit 1";
    let created = value(admin, set_at).await;
    assert_eq!(value(admin, logged).await, created);
    let mut names: Vec<&String> = created.as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["auth", "headers", "proxy", "signing_keys", "tls"]);
    let headers = json!({ "x-a": "s3cret-2" });
    let auth = json!({ "type": "bearer", "token": "s3cret-2" });
    for (name, mut config) in [
        ("headers", json!({ "headers": headers })),
        ("auth", json!({ "auth": auth })),
        ("tls", json!({ "tls": { "certificate": "s3cret-2", "key": "s3cret-2" } })),
        // To another proxy the others are given again, and are as old as they are.
        ("proxy", json!({ "proxy": proxy("s3cret-2"), "headers": headers, "auth": auth })),
        ("signing_keys", json!({ "signing_keys": [SIGNING_KEY] })),
    ] {
        shop.execute(&age).await;
        config["url"] = url.into();
        let alter = "select postrider.alter_endpoint('c', $1)";
        admin.execute(alter, &[&config]).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let shown = value(admin, set_at).await;
        assert_eq!(shown.as_object().unwrap().len(), 5, "{name}: {shown}");
        for (secret, at) in shown.as_object().unwrap() {
            assert!(at.is_string(), "{name}: {shown}");
            assert_eq!(at != old, secret == name, "{name}: {shown}");
        }
        assert_eq!(value(admin, logged).await, shown, "{name}");
    }
    let take_away =
        "select postrider.alter_endpoint('c', '{\"url\": \"https://c.test/\", \"tls\": null}')";
    admin.batch_execute(take_away).await.unwrap();
    let left = value(admin, set_at).await;
    assert!(left.get("tls").is_none() && left["auth"] == old, "{left}");

    let shown = shop.run(&["endpoint", "show", "c", "--json"]).json();
    assert_eq!(shown["secrets_set_at"], left);
    let monitor = shop.client().await;
    monitor.batch_execute("set role postrider_monitor").await.unwrap();
    assert_eq!(value(&monitor, set_at).await, left);
    let log = value(admin, "select jsonb_agg(to_jsonb(e)) from postrider.event_log e").await;
    for told in [shown, log] {
        for secret in ["s3cret", SIGNING_KEY] {
            assert!(!told.to_string().contains(secret), "{told}");
        }
    }
}

/// A worker that counted as lost between two heartbeats would be lost for ever.
/// Wherever a token stands in a path: behind two slashes, a colon, a dot, or alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_url_may_keep_secret_is_shown_nowhere() {
    let shop = Shop::open_migrated().await;
    let token = "T0123456789ABCDEFGHIJKLMN";
    let host = "a-long-name-of-a-host.example.com";
    let paths = [
        (format!("/{token}"), "/…"),
        (format!("//{token}"), "//…"),
        (format!("///{token}/"), "///…/"),
        (format!("/a:/{token}"), "/a:/…"),
        (format!("/a:{token}"), "/…"),
        (format!("/{token}:/{token}//{token}/b"), "/…/…//…/b"),
        (format!("/a://{token}"), "/a://…"),
        (format!("/a/%2F{token};x=y"), "/a/…"),
        (format!("/short?{token}"), "/short?…"),
        (format!("//u:{token}@{token}/{token}"), "//…/…"),
        ("/nineteen-characters/b".to_owned(), "/nineteen-characters/b"),
    ];
    let client = shop.client().await;
    let masked = "select postrider.masked_config(jsonb_build_object('url', $1::text)) ->> 'url'";
    for (path, expected) in &paths {
        for (origin, shown) in [
            (format!("https://{host}"), format!("https://{host}")),
            (format!("HTTP://u:p@{host}:8443"), format!("HTTP://…@{host}:8443")),
            (String::new(), String::new()),
        ] {
            let url = format!("{origin}{path}");
            let row = client.query_one(masked, &[&url]).await.unwrap();
            assert_eq!(row.get::<_, String>(0), format!("{shown}{expected}"), "{url}");
        }
    }
    let create =
        "select postrider.create_endpoint($1, 'http', jsonb_build_object('url', $2::text))";
    let alter = "select postrider.alter_endpoint($1, jsonb_build_object('url', $2::text))";
    for (number, (path, _)) in paths.iter().enumerate() {
        let (name, url) = (format!("e{number}"), format!("https://{host}{path}"));
        client.query_one(create, &[&name, &url]).await.unwrap();
        client.query_one(alter, &[&name, &format!("{url}?x")]).await.unwrap();
    }
    let shown = "select string_agg(c::text, '') from postrider.endpoint_configs c";
    let logged = "select string_agg(l.details::text, '') from postrider.event_log l";
    for sql in [shown, logged] {
        let text: String = client.query_one(sql, &[]).await.unwrap().get(0);
        assert!(text.contains(host) && !text.contains(token), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_times_of_workers_go_together_whichever_is_set() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let too_short = |least: u32, value: u32| {
        format!(
            "Setting 'worker_stale_after' must be at least 3 times worker_heartbeat_interval, which is \
             {least} s, got '{value}'"
        )
    };
    let too_long = |most: u32, value: u32| {
        format!(
            "Setting 'worker_heartbeat_interval' must be at most worker_stale_after divided by 3, which is \
             {most} s, got '{value}'"
        )
    };
    let cases = [
        ("select postrider.set_setting('worker_stale_after', '29')", "22023", &*too_short(30, 29)),
        (
            "select postrider.set_setting('worker_heartbeat_interval', '11')",
            "22023",
            &too_long(10, 11),
        ),
        (
            "select postrider.set_setting('worker_heartbeat_interval', '301')",
            "22023",
            "Setting 'worker_heartbeat_interval' must be between 1 and 300 s, got '301'",
        ),
    ];
    check_refusals(&client, &cases).await;
    let set = "select postrider.set_setting('worker_stale_after', '100');
        select postrider.set_setting('worker_heartbeat_interval', '33')";
    client.batch_execute(set).await.unwrap();
    let cases = [
        ("select postrider.set_setting('worker_stale_after', '98')", "22023", &*too_short(99, 98)),
        (
            "select postrider.set_setting('worker_heartbeat_interval', '34')",
            "22023",
            &too_long(33, 34),
        ),
        ("select postrider.reset_setting('worker_stale_after')", "22023", &too_short(99, 30)),
    ];
    check_refusals(&client, &cases).await;
    shop.run(&["setting", "set", "worker_stale_after", "98"]).fail(2, &too_short(99, 98));

    // Two at a time: the second waits, and sees what the first has set.
    shop.execute("select postrider.set_setting('worker_stale_after', '102')").await;
    let other = shop.client().await;
    other
        .batch_execute("begin; select postrider.set_setting('worker_stale_after', '99')")
        .await
        .unwrap();
    let pid = pid_of(&client).await;
    let second = tokio::spawn(async move {
        check_refusal(
            &client,
            (
                "select postrider.set_setting('worker_heartbeat_interval', '34')",
                "22023",
                &too_long(33, 34),
            ),
        )
        .await;
    });
    until_blocked(&shop, pid).await;
    other.batch_execute("commit").await.unwrap();
    second.await.unwrap();
}

/// Whatever is not done by our functions, by whomever.
#[tokio::test(flavor = "multi_thread")]
async fn a_delete_of_an_endpoint_with_messages_waiting_is_refused() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let create = "select postrider.create_endpoint(e.name, 'discard', '{}')
        from unnest('{unread,waiting,published,empty}'::text[]) e (name);
        select postrider.create_event_type('t'), postrider.subscribe('t', 'published');
        select postrider.send('unread', '{}'), postrider.send('waiting', '{}');
        select postrider.publish('t', '{}');
        select postrider.send('empty', '{}');
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, m.targets[1], e.id, 0, now(), m.created_at
        from postrider.message m
        join postrider.endpoints e on e.name = m.endpoint_name
        where e.name = 'waiting';
        insert into postrider.done (bucket, at, offsets)
        select m.id >> 22, now(), decode(lpad(to_hex((m.id >> 10) & 4095), 4, '0'), 'hex')
        from postrider.message m
        where m.endpoint_name = 'empty'";
    client.batch_execute(create).await.unwrap();
    for role in ["postgres", "owner"] {
        let waits = |name: &str| format!("Endpoint '{name}' has messages waiting for it");
        let cases = [
            ("delete from postrider.endpoints where name = 'unread'", "55000", &*waits("unread")),
            ("delete from postrider.endpoints where name = 'waiting'", "55000", &waits("waiting")),
            (
                "delete from postrider.endpoints where name = 'published'",
                "55000",
                &waits("published"),
            ),
            ("select postrider.drop_endpoint('unread')", "55000", &waits("unread")),
            ("select postrider.drop_endpoint('waiting')", "55000", &waits("waiting")),
        ];
        check_refusals(&client, &cases).await;
        if role == "postgres" {
            let become_owner = "create role owner;
                grant usage, create on schema postrider to owner;
                grant all on all tables in schema postrider to owner;
                grant all on all sequences in schema postrider to owner;
                grant execute on all functions in schema postrider to owner;
                alter table postrider.endpoints owner to owner;
                set role owner";
            client.batch_execute(become_owner).await.unwrap();
        }
    }
    client.batch_execute("reset role").await.unwrap();
    // The first of those that have something waiting is named.
    let truncate = "truncate postrider.endpoints cascade";
    check_refusals(
        &client,
        &[(truncate, "55000", "Endpoint 'unread' has messages waiting for it")],
    )
    .await;
    // Where replication turns other triggers off.
    client.batch_execute("set session_replication_role = replica").await.unwrap();
    let cases = [
        (truncate, "55000", "Endpoint 'unread' has messages waiting for it"),
        (
            "delete from postrider.endpoints where name = 'published'",
            "55000",
            "Endpoint 'published' has messages waiting for it",
        ),
        (
            "update postrider.endpoints set name = 'other' where name = 'waiting'",
            "22023",
            "Name and protocol of endpoint 'waiting' cannot be changed: create another one",
        ),
        (
            "update postrider.endpoints set config = '[]' where name = 'waiting'",
            "22023",
            "config must be an object",
        ),
        (
            "update postrider.event_types set metadata = '[]'",
            "22023",
            "metadata must be an object, got array",
        ),
        (
            "update postrider.subscriptions set filter = '[]' where event_type is not null",
            "22023",
            "filter must be an object, got array",
        ),
        (
            "update postrider.subscriptions set enabled = false where id = 1",
            "55000",
            "Subscription 1 stands for its endpoint and cannot be changed",
        ),
    ];
    check_refusals(&client, &cases).await;
    client.batch_execute("reset session_replication_role").await.unwrap();
    client.batch_execute("delete from postrider.endpoints where name = 'empty'").await.unwrap();
    for name in ["unread", "waiting", "published"] {
        client.execute("select postrider.drop_endpoint($1, true)", &[&name]).await.unwrap();
    }
    shop.finish_jobs().await;
    shop.until("select count(*) = 0 from postrider.deferred").await;
    shop.until("select count(*) = 1 from postrider.dead_letter").await;
    // What nothing waits for may go.
    shop.execute("select postrider.create_endpoint('later', 'discard', '{}')").await;
    shop.execute(truncate).await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.endpoints)").await);
}

/// Updates and inserts, also where replication turns other triggers off.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_setting_is_checked_like_set_setting() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let cases = [
        (
            "update postrider.setting set value = '301' where name = 'http_timeout'",
            "22023",
            "Setting 'http_timeout' must be between 1 and 300 s, got '301'",
        ),
        (
            "update postrider.setting set value = 'soon' where name = 'http_timeout'",
            "22023",
            "Setting 'http_timeout' must be between 1 and 300 s, got 'soon'",
        ),
        (
            "update postrider.setting set value = 'on' where kind = 'networks';
            update postrider.setting set value = '10.0.0.0/33' where kind = 'networks'",
            "22023",
            "Setting 'allow_internal_destinations' must be off, on, or up to 1000 networks such as \
             10.0.0.0/8, fd00::/8, got '10.0.0.0/33'",
        ),
        (
            "update postrider.setting set value = '11' where name = 'worker_heartbeat_interval'",
            "22023",
            "Setting 'worker_heartbeat_interval' must be at most worker_stale_after divided by 3, which is \
             10 s, got '11'",
        ),
        (
            "update postrider.setting set value = null where name = 'http_timeout'",
            "22004",
            "Setting name and value must not be null",
        ),
        (
            "update postrider.setting set name = 'http_time' where name = 'http_timeout'",
            "22023",
            "Setting 'http_timeout' cannot be called otherwise",
        ),
        (
            "with gone as (select s.* from postrider.setting s where s.name = 'http_timeout')
            insert into postrider.setting
            select g.* from gone g
            on conflict (name) do update set value = '301'",
            "22023",
            "Setting 'http_timeout' must be between 1 and 300 s, got '301'",
        ),
        (
            "insert into postrider.setting (name, value, default_value, kind, minimum, maximum, unit, description)
            values ('http_timeout', '0', '10', 'integer', 1, 300, 's', '')
            on conflict (name) do nothing",
            "22023",
            "Setting 'http_timeout' must be between 1 and 300 s, got '0'",
        ),
        (
            "begin;
            delete from postrider.setting where name = 'ordering_scope';
            insert into postrider.setting (name, value, default_value, kind, choices, description)
            values ('ordering_scope', 'none', 'endpoint', 'choice', '{endpoint,global}', '')",
            "22023",
            "Setting 'ordering_scope' must be one of endpoint, global, got 'none'",
        ),
        (
            "rollback; insert into postrider.setting (name, value, default_value, kind, description)
            values ('x', null, 'on', 'switch', '')",
            "22004",
            "Setting name and value must not be null",
        ),
    ];
    for role in ["origin", "replica"] {
        let set = format!("set session_replication_role = {role}");
        client.batch_execute(&set).await.unwrap();
        check_refusals(&client, &cases).await;
    }
    client.batch_execute("reset session_replication_role").await.unwrap();
    let set = "update postrider.setting set value = ' 20 ' where name = 'http_timeout'";
    client.batch_execute(set).await.unwrap();
    assert_eq!(shop.run(&["setting", "get", "http_timeout"]).succeed().stdout, "20\n");
    shop.run(&["setting", "set", "http_timeout", "30"]).succeed();
    shop.run(&["setting", "reset", "http_timeout"]).succeed();
    shop.run(&["migrate"]).succeed();
    // By another program the triggers are made anew, and are as strict.
    shop.execute("update postrider.installation set fingerprint = 'another'").await;
    shop.run(&["migrate"]).succeed();
    client.batch_execute("set session_replication_role = replica").await.unwrap();
    check_refusals(&client, &cases[..1]).await;
}
