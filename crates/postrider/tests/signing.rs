//! Signatures of webhooks, verified by the standard's own library and by the receivers' half of the standard.

use std::{
    process::Stdio,
    sync::{Arc, Mutex},
};

use crate::shop::{Shop, serving::LONG};
use postrider_core::signing::PUBLIC_PREFIX;
use postrider_testkit::receiver::{Answer, Arrival, Behaviour, Keep, Receiver, Request};
use ring::{
    hmac,
    signature::{ED25519, UnparsedPublicKey},
};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

const KEPT: Keep = Keep { body: false, headers: true };

/// The keys of an endpoint as receivers know them.
type Known = Arc<Mutex<Vec<String>>>;

/// Accepts what one of the keys verifies, and refuses the rest for good.
fn verifying(known: &Known) -> Behaviour {
    let known = Arc::clone(known);
    Behaviour::custom(move |arrival| {
        let is_good = known.lock().unwrap().iter().any(|key| is_verified(key, arrival));
        Answer::status(if is_good { 200 } else { 401 })
    })
}

fn is_verified(key: &str, arrival: &Arrival<'_>) -> bool {
    match key.strip_prefix(PUBLIC_PREFIX) {
        None if str::from_utf8(arrival.body).is_ok() => {
            Webhook::new(key).unwrap().verify(arrival.body, arrival.headers).is_ok()
        }
        // The library is for text only.
        None => {
            let secret = decode(key.strip_prefix("whsec_").unwrap());
            let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret);
            has_signature(arrival, "v1,", |signed, signature| {
                hmac::verify(&secret, signed, signature).is_ok()
            })
        }
        Some(public) => {
            let public = UnparsedPublicKey::new(&ED25519, decode(public));
            has_signature(arrival, "v1a,", |signed, signature| {
                public.verify(signed, signature).is_ok()
            })
        }
    }
}

fn has_signature(
    arrival: &Arrival<'_>,
    version: &str,
    is_good: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    let text = |name: &str| arrival.headers[name].to_str().unwrap();
    let head = format!("{}.{}.", text("webhook-id"), text("webhook-timestamp"));
    let signed = [head.as_bytes(), arrival.body].concat();
    let signatures = text("webhook-signature").split(' ');
    let mut signatures = signatures.filter_map(|signature| signature.strip_prefix(version));
    signatures.any(|signature| is_good(&signed, &decode(signature)))
}

fn decode(text: &str) -> Vec<u8> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.decode(text).unwrap()
}

/// What a key's id, and what else `signing_keys` says of it.
async fn keys(shop: &Shop) -> Vec<Value> {
    let sql = "select coalesce(
            jsonb_agg(
                jsonb_build_object(
                    'id', k.id, 'kind', k.kind, 'retires', k.retires_at is not null,
                    'public_key', k.public_key, 'can_be_revealed', k.can_be_revealed)
                order by k.created_at, k.id),
            '[]')
        from postrider.signing_keys k
        where k.endpoint = 'hooks'";
    shop.ask::<Value>(sql).await.as_array().unwrap().clone()
}

async fn reveal(shop: &Shop) -> String {
    let sql = "select postrider.reveal_signing_key(k.endpoint, k.id)
        from postrider.signing_keys k
        where k.endpoint = 'hooks'
        and k.can_be_revealed";
    shop.ask(sql).await
}

fn signature_count(request: &Request) -> usize {
    let signatures = request.headers.get("webhook-signature");
    signatures.map_or(0, |signatures| signatures.to_str().unwrap().split(' ').count())
}

/// Waits until so many keys sign whatever comes.
async fn until_signed(receiver: &Receiver, key_count: usize) {
    let is_signed = |requests: &[Request]| {
        requests.iter().rev().take(20).all(|request| signature_count(request) == key_count)
    };
    while !receiver.with_requests(is_signed) {
        receiver.wait_for(receiver.request_count() + 1, LONG).await.unwrap();
    }
}

async fn create(shop: &Shop, config: Value) {
    let config = config.to_string();
    shop.execute(&format!("select postrider.create_endpoint('hooks', 'http', '{config}')")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_endpoint_signs_with_a_key_that_is_shown_once() {
    let shop = Shop::open_to_receivers().await;
    let known = Known::default();
    let receiver = Receiver::start_with(verifying(&known), KEPT).unwrap();
    create(&shop, json!({ "url": receiver.url() })).await;
    let key = reveal(&shop).await;
    known.lock().unwrap().push(key.clone());
    let id = keys(&shop).await[0]["id"].as_str().unwrap().to_owned();
    let again = format!("select postrider.reveal_signing_key('hooks', '{id}')");
    assert_eq!(shop.refusal(&again).await, "55000");
    let dispatcher = shop.serve().await;
    // JSON to the letter, and bytes that are no text.
    shop.send("hooks", json!({ "a": "ü €", "b": [1.50, null] })).await;
    let bytes = "select postrider.send_bytes('hooks', '\\x00ff2e', 'application/x-a')";
    shop.execute(bytes).await;
    shop.until("select not postrider.has_waiting_messages(e.id) from postrider.endpoints e").await;
    receiver.wait_for(2, LONG).await.unwrap();
    assert_eq!(receiver.accepted_count(), 2);
    // It is nowhere to be read.
    let secret = key.strip_prefix("whsec_").unwrap();
    for sql in [
        "select string_agg(l::text, '') from postrider.event_log l",
        "select string_agg(c::text, '') from postrider.endpoint_configs c",
        "select string_agg(e::text, '') from postrider.endpoints e",
        "select string_agg(k::text, '') from postrider.signing_keys k",
        "select coalesce(string_agg(a::text, ''), '') from postrider.attempt a",
    ] {
        assert!(!shop.ask::<String>(sql).await.contains(secret), "{sql}");
    }
    assert!(!dispatcher.log_lines().iter().any(|line| line.contains(secret)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_signed_only_if_somebody_says_so() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start_with(Behaviour::Status(200), KEPT).unwrap();
    create(&shop, json!({ "url": receiver.url(), "signature": "none" })).await;
    assert!(keys(&shop).await.is_empty());
    let add = "select postrider.add_signing_key('hooks')";
    assert_eq!(shop.refusal(add).await, "55000");
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for(1, LONG).await.unwrap();
    assert_eq!(signature_count(&receiver.requests()[0]), 0);
    // With a key it signs again, and with the key taken away it does not.
    let url = receiver.url();
    let alter = |config: &str| {
        format!("select postrider.alter_endpoint('hooks', '{{\"url\": \"{url}\"{config}}}')")
    };
    shop.execute(&alter("")).await;
    shop.execute(add).await;
    // A message may still find the config of before.
    while receiver.with_requests(|requests| signature_count(requests.last().unwrap()) == 0) {
        // It may arrive before its sender has heard that it is sent.
        let before = receiver.request_count();
        shop.send("hooks", json!({})).await;
        receiver.wait_for(before + 1, LONG).await.unwrap();
    }
    shop.execute(&alter(", \"signing_keys\": null")).await;
    assert!(keys(&shop).await.is_empty());
}

/// A receiver knows the old key, then both, then only the new one, while messages come all the time.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_changed_while_traffic_flows() {
    let shop = Arc::new(Shop::open_to_receivers().await);
    let known = Known::default();
    let receiver = Receiver::start_with(verifying(&known), KEPT).unwrap();
    create(&shop, json!({ "url": receiver.url() })).await;
    let old = reveal(&shop).await;
    known.lock().unwrap().push(old.clone());
    // Of several, one may have a key later than the others, and what it sends may come in a row.
    let _dispatcher = shop.serve().await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let sender = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move {
            let mut count = 0;
            while !*stopped.borrow() {
                shop.send("hooks", json!({ "n": count })).await;
                count += 1;
            }
            count
        }
    });
    receiver.wait_for_accepted(20, LONG).await.unwrap();
    let new: String = shop.ask("select postrider.rotate_signing_key('hooks', '1 hour')").await;
    let more = |count: usize| receiver.wait_for_accepted(receiver.accepted_count() + count, LONG);
    more(20).await.unwrap();
    known.lock().unwrap().push(new.clone());
    more(20).await.unwrap();
    // Until every dispatcher has the new one, its receiver must not rely on it.
    until_signed(&receiver, 2).await;
    known.lock().unwrap().retain(|key| *key == new);
    more(20).await.unwrap();
    // The old one ends when its time is over.
    shop.execute(
        "update postrider.signing_key set retires_at = now() where retires_at is not null",
    )
    .await;
    shop.until("select count(*) = 1 from postrider.signing_key").await;
    until_signed(&receiver, 1).await;
    more(20).await.unwrap();
    stop.send_replace(true);
    let count = sender.await.unwrap();
    receiver.wait_for_accepted(count, LONG).await.unwrap();
    let is_verified = |requests: &[Request]| requests.iter().all(Request::is_accepted);
    assert!(receiver.with_requests(is_verified), "each was verified at once");
    assert_eq!(receiver.accepted_count(), count);
}

/// Keys end whatever is the matter with other endpoints, and the last one does not.
#[tokio::test(flavor = "multi_thread")]
async fn keys_end_beside_endpoints_that_hold_them_up() {
    let shop = Shop::open_migrated().await;
    let create = async |name: &str, port: u16| {
        let config = json!({ "url": format!("http://127.0.0.1:{port}/") });
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'http', '{config}')"))
            .await;
    };
    shop.execute("select postrider.set_setting('allow_any_port', 'on')").await;
    for name in ["unsigned", "refused", "locked", "last", "hooks"] {
        create(name, 6379).await;
        shop.execute(&format!("select postrider.add_signing_key('{name}')")).await;
        shop.execute(&format!("select postrider.rotate_signing_key('{name}', '1 hour')")).await;
    }
    // One of them says that nothing is signed; another has a port that is not allowed any more; of a third the key that
    // is to end is given as the only one.
    shop.execute(
        "update postrider.endpoints set config = config || '{\"signature\": \"none\"}'
        where name = 'unsigned'",
    )
    .await;
    shop.execute("select postrider.reset_setting('allow_any_port')").await;
    shop.execute(
        "update postrider.endpoints e
        set config = e.config || jsonb_build_object(
            'signing_keys', jsonb_build_array(s.config -> 'signing_keys' -> 2))
        from postrider.endpoint_secret s
        where s.endpoint_id = e.id
        and e.name = 'last'",
    )
    .await;
    let holder = shop.client().await;
    holder
        .batch_execute("begin; select from postrider.endpoints where name = 'locked' for update")
        .await
        .unwrap();
    shop.execute(
        "update postrider.signing_key set retires_at = now() where retires_at is not null",
    )
    .await;
    let counts = "select jsonb_object_agg(c.endpoint, c.counts)
        from (
            select
                k.endpoint,
                jsonb_build_array(count(*), count(*) filter (where k.retires_at is null)) as counts
            from postrider.signing_keys k
            group by k.endpoint
        ) c";
    let retire = "select postrider.retire_signing_keys()";
    assert_eq!(shop.ask::<i32>(retire).await, 4);
    let expected = json!({
        "unsigned": [1, 1], "refused": [1, 1], "locked": [3, 1], "last": [1, 1], "hooks": [1, 1]
    });
    assert_eq!(shop.ask::<Value>(counts).await, expected);
    holder.batch_execute("rollback").await.unwrap();
    assert_eq!(shop.ask::<i32>(retire).await, 1);
    assert_eq!(shop.ask::<i32>(retire).await, 0);
    // The keys themselves have gone with what is known of them.
    let left = "select bool_and(jsonb_array_length(s.config -> 'signing_keys') = 1)
        from postrider.endpoint_secret s";
    assert!(shop.ask::<bool>(left).await);
}

/// A rotation that commits while keys are about to end loses none, and brings none back.
#[tokio::test(flavor = "multi_thread")]
async fn keys_end_beside_who_changes_them() {
    let shop = Arc::new(Shop::open_migrated().await);
    for n in 0..40 {
        let config = json!({ "url": "https://example.com/" });
        shop.execute(&format!("select postrider.create_endpoint('e{n}', 'http', '{config}')"))
            .await;
    }
    let retiring: Vec<_> = (0..2)
        .map(|_| {
            let shop = Arc::clone(&shop);
            tokio::spawn(async move {
                let client = shop.client().await;
                for _ in 0..150 {
                    client
                        .batch_execute(
                            "update postrider.signing_key k set retires_at = now()
                            where k.retires_at is not null
                            and k.ctid = any (array(
                                select o.ctid from postrider.signing_key o
                                where o.retires_at > now() for update skip locked));
                            select postrider.retire_signing_keys()",
                        )
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    let client = shop.client().await;
    let mut newest = std::collections::HashMap::new();
    for round in 0..5 {
        for n in 0..40 {
            let sql = format!("select postrider.rotate_signing_key('e{n}', '1 hour')");
            let key: String = client.query_one(&sql, &[]).await.unwrap().get(0);
            newest.insert(n, (round, key));
        }
    }
    for task in retiring {
        task.await.unwrap();
    }
    shop.execute(
        "update postrider.signing_key set retires_at = now() where retires_at is not null",
    )
    .await;
    shop.execute("select postrider.retire_signing_keys()").await;
    for (n, (_, key)) in newest {
        let sql = format!(
            "select s.config -> 'signing_keys' = '[\"{key}\"]'
            from postrider.endpoints e
            join postrider.endpoint_secret s on s.endpoint_id = e.id
            where e.name = 'e{n}'"
        );
        assert!(shop.ask::<bool>(&sql).await, "e{n}");
    }
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.signing_key").await, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_makes_pairs_and_keys_end() {
    let shop = Shop::open_to_receivers().await;
    let known = Known::default();
    let receiver = Receiver::start_with(verifying(&known), KEPT).unwrap();
    create(&shop, json!({ "url": receiver.url() })).await;
    let first = keys(&shop).await[0]["id"].as_str().unwrap().to_owned();
    let last = format!("select postrider.retire_signing_key('hooks', '{first}')");
    assert_eq!(shop.refusal(&last).await, "55000");
    let added =
        shop.run(&["endpoint", "keys", "add", "hooks", "--pair", "--json"]).succeed().json();
    let public = added["public_key"].as_str().unwrap().to_owned();
    let all = keys(&shop).await;
    assert_eq!(all[1]["public_key"], public);
    assert_eq!((&all[0]["kind"], &all[1]["kind"]), (&json!("v1"), &json!("v1a")));
    let again = ["endpoint", "keys", "add", "hooks", "--key-file", "-"];
    let pair = added["key"].as_str().unwrap();
    shop.run_with_input(&again, pair).fail(1, "has this key already");
    shop.run_with_input(&again, "whsec_").fail(2, "24 to 64 bytes");
    shop.run(&["endpoint", "keys", "retire", "hooks", &first]).succeed();
    assert_eq!(keys(&shop).await.len(), 1);
    known.lock().unwrap().push(public);
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({ "a": 1 })).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    let rotated =
        shop.run(&["endpoint", "keys", "rotate", "hooks", "--overlap", "1 day"]).succeed();
    assert!(rotated.stdout.starts_with("whsec_"), "{}", rotated.stdout);
    shop.run(&["endpoint", "keys", "rotate", "hooks", "--overlap", "31 days"])
        .fail(2, "overlap must be between 0 seconds and 30 days");
    let listed = shop.run(&["endpoint", "keys", "list", "hooks", "--json"]).succeed().json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(listed.as_array().unwrap().iter().all(|key| key["retires_at"].is_null()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let shop = Shop::open_migrated().await;
    create(&shop, json!({ "url": "https://example.com/hook" })).await;
    shop.execute("select postrider.create_endpoint('bin', 'discard', '{}')").await;
    let before = keys(&shop).await;
    for (call, code) in [
        ("add_signing_key(null)", "22004"),
        ("add_signing_key('nobody')", "42704"),
        ("add_signing_key('bin')", "22023"),
        ("add_signing_key('hooks', 'secret')", "22023"),
        ("rotate_signing_key(null)", "22004"),
        ("rotate_signing_key('hooks', null)", "22004"),
        ("rotate_signing_key('hooks', '-1 second')", "22023"),
        ("rotate_signing_key('hooks', '31 days')", "22023"),
        ("retire_signing_key('hooks', null)", "22004"),
        ("retire_signing_key('hooks', 'x')", "42704"),
        ("reveal_signing_key('hooks', null)", "22004"),
        ("reveal_signing_key('hooks', 'x')", "42704"),
    ] {
        assert_eq!(shop.refusal(&format!("select postrider.{call}")).await, code, "{call}");
    }
    assert_eq!(keys(&shop).await, before);
    for _ in 0..9 {
        shop.execute("select postrider.add_signing_key('hooks')").await;
    }
    assert_eq!(shop.refusal("select postrider.add_signing_key('hooks')").await, "22023");
    // An address changes without them being given again: they are not sent.
    let alter =
        "select postrider.alter_endpoint('hooks', '{\"url\": \"https://example.org/other\"}')";
    shop.execute(alter).await;
    assert_eq!(keys(&shop).await.len(), 10);
}

/// `postrider listen` refuses each message once, verifies all, and shows them.
#[tokio::test(flavor = "multi_thread")]
async fn a_listener_verifies_and_shows_what_comes() {
    let shop = Shop::open_to_receivers().await;
    create(&shop, json!({ "url": "https://example.com/" })).await;
    let key = reveal(&shop).await;
    let mut listener = Command::new(env!("CARGO_BIN_EXE_postrider"))
        .args(["listen", "0", "--json", "--fail", "1"])
        .env("POSTRIDER_VERIFY", &key)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut notices = BufReader::new(listener.stderr.take().unwrap()).lines();
    let notice = notices.next_line().await.unwrap().unwrap();
    let url = notice.split_once("listening on ").unwrap().1.trim();
    let config = json!({ "url": url });
    shop.execute(&format!("select postrider.alter_endpoint('hooks', '{config}')")).await;
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.execute(&format!("update postrider.endpoints set retry_policy = '{policy}'")).await;
    let _dispatcher = shop.serve().await;
    let id = shop.send("hooks", json!({ "a": "ü" })).await;
    let mut shown = BufReader::new(listener.stdout.take().unwrap()).lines();
    for status in [503, 200] {
        let line = shown.next_line().await.unwrap().unwrap();
        let shown: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(shown["headers"]["webhook-id"], format!("msg_{id}"));
        assert_eq!((&shown["status"], &shown["is_verified"]), (&json!(status), &json!(true)));
        assert_eq!(shown["body"], r#"{"a": "ü"}"#);
    }
    // Another key signs from now on.
    shop.execute("select postrider.rotate_signing_key('hooks', '0')").await;
    shop.send("hooks", json!({ "b": 1 })).await;
    loop {
        let line = shown.next_line().await.unwrap().unwrap();
        let shown: Value = serde_json::from_str(&line).unwrap();
        if shown["is_verified"] == json!(false) {
            assert_eq!(shown["status"], json!(401));
            assert_eq!(shown["error"], "none of its signatures is that of a key");
            break;
        }
        // A dispatcher may still have had the old one.
        shop.send("hooks", json!({ "b": 1 })).await;
    }
    assert!(!notice.contains(&key));
}
