//! Captured responses: what an endpoint answered is kept with the attempt, whatever it is, and nothing
//! is kept where nobody asked for it.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Answer, Behaviour, Ending, Receiver};
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

/// How soon a changed setting has to be followed on a busy machine.
const SOON: Duration = Duration::from_secs(30);
/// Everything that is no text: a byte that no UTF-8 has, NUL, half a character.
const GARBAGE: &[u8] = b"\xff\xfe\x00ok\xc3\x00\\x41'\"\r\n\xf0\x9f";

/// What is on record of one attempt.
#[derive(Debug)]
struct Kept {
    outcome: String,
    status: Option<i32>,
    content_type: Option<String>,
    headers: Option<Value>,
    body: Option<Vec<u8>>,
    is_truncated: Option<bool>,
}

/// The first attempt of a message, once it is on record.
async fn kept(shop: &Shop, id: i64) -> Kept {
    shop.until(&format!(
        "select exists (select from postrider.attempts where message_id = {id} and attempt = 1)"
    ))
    .await;
    let sql = "select a.outcome, a.status, a.response_content_type,
            a.response_headers, a.response_body, a.response_truncated
        from postrider.attempts a
        where a.message_id = $1
        and a.attempt = 1";
    let row = shop.client().await.query_one(sql, &[&id]).await.unwrap();
    Kept {
        outcome: row.get(0),
        status: row.get(1),
        content_type: row.get(2),
        headers: row.get(3),
        body: row.get(4),
        is_truncated: row.get(5),
    }
}

fn answering(answer: Answer) -> Receiver {
    Receiver::start(Behaviour::custom(move |_| answer.clone())).unwrap()
}

/// A database where everything is captured, with a running dispatcher.
async fn open_capturing(
    settings: &[(&str, &str)],
) -> (Shop, postrider_testkit::process::Dispatcher) {
    let shop = Shop::open_to_receivers().await;
    for (name, value) in [("capture_response", "on")].iter().chain(settings) {
        shop.execute(&format!("select postrider.set_setting('{name}', '{value}')")).await;
    }
    let dispatcher = shop.serve().await;
    (shop, dispatcher)
}

async fn send_to(shop: &Shop, name: &str, receiver: &Receiver) -> Kept {
    shop.endpoint(name, json!({ "url": receiver.url() }), json!({ "max_retries": 0 })).await;
    let id = shop.send(name, json!({})).await;
    kept(shop, id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_kept_byte_for_byte() {
    let (shop, _dispatcher) = open_capturing(&[]).await;
    let answers: [(&str, u16, &str, &[u8]); 5] = [
        ("text", 200, "accepted", b"all right"),
        ("empty", 204, "accepted", b""),
        ("garbage", 200, "accepted", GARBAGE),
        ("refused", 422, "rejected", b"{\"error\": \"no such order\"}"),
        ("failed", 503, "unavailable", GARBAGE),
    ];
    for (name, status, outcome, body) in answers {
        let answer = Answer::status(status)
            .header("content-type", "text/plain")
            .header("set-cookie", "session=secret")
            .header("x-request-id", "r-1")
            .ending(body, Ending::Plain);
        let receiver = answering(answer);
        let kept = send_to(&shop, name, &receiver).await;
        assert_eq!((kept.outcome.as_str(), kept.status), (outcome, Some(i32::from(status))));
        assert_eq!(kept.body.as_deref(), Some(body), "{name}");
        assert_eq!(kept.is_truncated, Some(false), "{name}");
        assert_eq!(kept.content_type.as_deref(), Some("text/plain"), "{name}");
        let headers = kept.headers.unwrap();
        assert_eq!(headers["x-request-id"], "r-1");
        assert!(headers.get("set-cookie").is_none(), "{headers}");
    }

    // What holds such bytes can be looked at, dumped and restored.
    let looks: String = shop
        .ask("select string_agg(encode(response_body, 'escape'), '') from postrider.attempts")
        .await;
    assert!(looks.contains("all right"), "{looks}");
    let json: Value = shop.ask("select jsonb_agg(to_jsonb(a)) from postrider.attempts a").await;
    assert_eq!(json.as_array().unwrap().len(), answers.len());
    let dump = shop.dump_all("shop");
    let copy = Shop::open().await;
    copy.psql("shop", &[], &dump).succeed();
    let sql = "select array_agg(response_body order by started_at) from postrider.attempts";
    assert_eq!(copy.ask::<Vec<Vec<u8>>>(sql).await, answers.map(|(.., body)| body.to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_kept_up_to_its_limit() {
    let (shop, _dispatcher) = open_capturing(&[("response_body_max_size", "100000")]).await;
    let long: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
    let just = &long[..100_000];
    let cases: [(&str, &[u8], Ending); 4] = [
        ("fits", just, Ending::Plain),
        ("a-byte-more", &long[..100_001], Ending::Plain),
        ("long", &long, Ending::Plain),
        ("endless", &long, Ending::Endless),
    ];
    for (name, body, ending) in cases {
        let receiver = answering(Answer::status(200).ending(body.to_vec(), ending));
        let kept = send_to(&shop, name, &receiver).await;
        assert_eq!(kept.outcome, "accepted", "{name}");
        assert_eq!(kept.is_truncated, Some(name != "fits"), "{name}");
        assert!(kept.body.as_deref() == Some(just), "{name}: not the first 100,000 bytes");
    }

    shop.execute("select postrider.set_setting('response_body_max_size', '0')").await;
    let receiver = answering(Answer::status(200).ending("words", Ending::Plain));
    shop.quick_endpoint("nothing", &receiver.url()).await;
    let began = Instant::now();
    loop {
        let id = shop.send("nothing", json!({})).await;
        let kept = kept(&shop, id).await;
        assert!(began.elapsed() < SOON, "{kept:?}");
        if kept.body.as_deref() == Some(b"") {
            assert_eq!(kept.is_truncated, Some(true));
            break;
        }
    }
    assert_eq!(
        shop.refusal("select postrider.set_setting('response_body_max_size', '-1')").await,
        "22023"
    );
    assert_eq!(
        shop.refusal("select postrider.set_setting('response_body_max_size', '1048577')").await,
        "22023"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_holds_nobody_and_what_came_is_kept() {
    let (shop, _dispatcher) = open_capturing(&[]).await;
    let drips = Ending::Dripping(Duration::from_millis(50));
    let receiver = answering(Answer::status(200).ending("drip ", drips));
    let began = Instant::now();
    let kept = send_to(&shop, "slow", &receiver).await;
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    assert_eq!((kept.outcome.as_str(), kept.is_truncated), ("accepted", Some(true)));
    let body = kept.body.unwrap();
    assert!(body.starts_with(b"drip "), "{body:?}");
    assert_eq!(receiver.request_count(), 1);

    // No answer, nothing to keep.
    let cut = answering(Answer { ending: Ending::Cut, ..Answer::default() });
    let kept = send_to(&shop, "cut", &cut).await;
    assert_eq!((kept.outcome.as_str(), kept.status), ("unknown", None));
    assert_eq!((kept.body, kept.headers, kept.is_truncated), (None, None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_unless_it_is_asked_for() {
    let shop = Shop::open_to_receivers().await;
    let receiver = answering(Answer::status(200).ending("thanks", Ending::Plain));
    let failing = answering(Answer::status(400).ending("no", Ending::Plain));
    for (name, receiver, config) in [
        ("follows", &receiver, json!({})),
        ("always", &receiver, json!({ "capture_response": true })),
        ("never", &receiver, json!({ "capture_response": false })),
        ("failing", &failing, json!({})),
    ] {
        let mut whole = json!({ "url": receiver.url() });
        whole.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
        shop.endpoint(name, whole, json!({})).await;
    }
    let _dispatcher = shop.serve().await;
    let is_done = |id: i64| format!("select postrider.is_done({id})");

    let always = shop.send("always", json!({})).await;
    let follows = shop.send("follows", json!({})).await;
    let failing = shop.send("failing", json!({})).await;
    assert_eq!(kept(&shop, always).await.body.as_deref(), Some(b"thanks".as_slice()));
    let failed = kept(&shop, failing).await;
    assert_eq!((failed.status, failed.body, failed.headers), (Some(400), None, None));
    shop.until(&is_done(follows)).await;
    let none =
        format!("select not exists (select from postrider.attempt where message_id = {follows})");
    assert!(shop.ask::<bool>(&none).await);

    shop.execute("select postrider.set_setting('capture_response', 'on')").await;
    let began = Instant::now();
    shop.until(
        "select count(postrider.send('follows', '{}')) = 1 and exists (
            select from postrider.attempts where endpoint_name = 'follows'
        )",
    )
    .await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let never = shop.send("never", json!({})).await;
    shop.until(&is_done(never)).await;
    assert!(
        shop.ask::<bool>(
            "select not exists (select from postrider.attempts where endpoint_name = 'never')"
        )
        .await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_correlation_id_is_kept_with_the_attempts() {
    let (shop, _dispatcher) = open_capturing(&[]).await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let correlation_id = Uuid::from_u128(7);
    let client = shop.client().await;
    // One whose payload travels with its row, one whose does not.
    for length in [1, 100_000] {
        let payload = Value::String((0..length).map(|_| fastrand::alphanumeric()).collect());
        let send = "select postrider.send_with_options('hooks', $1, p_correlation_id => $2)";
        let id: i64 = client.query_one(send, &[&payload, &correlation_id]).await.unwrap().get(0);
        shop.until(&format!("select postrider.is_done({id})")).await;
        let sql = format!(
            "select array_agg(correlation_id order by attempt) from postrider.attempts
            where message_id = {id}"
        );
        assert_eq!(shop.ask::<Vec<Option<Uuid>>>(&sql).await, [Some(correlation_id); 2]);
    }
}

/// More than finds room in memory: some are cut, none is late, and room is given back.
#[tokio::test(flavor = "multi_thread")]
async fn many_large_answers_at_once_are_all_recorded() {
    let (shop, _dispatcher) = open_capturing(&[("response_body_max_size", "1048576")]).await;
    let body = vec![b'x'; 1_048_576];
    let receiver = answering(Answer::status(200).ending(body, Ending::Plain));
    // A hundred of them take a slow machine some time.
    let config = json!({ "url": receiver.url(), "timeout_seconds": 120 });
    shop.endpoint("large", config, json!({})).await;
    for _ in 0..2 {
        shop.send_many("large", 100).await;
        shop.until(
            "select not exists (
                select
                from postrider.message m
                where not exists (
                    select from postrider.attempts a where a.message_id = m.id
                )
            )",
        )
        .await;
    }
    assert_eq!(receiver.request_count(), 200);
    // How many were kept whole depends on how many of a second's bodies came within that second. One that
    // is alone has room, as all have given theirs back.
    let began = Instant::now();
    loop {
        let id = shop.send("large", json!({})).await;
        let kept = kept(&shop, id).await;
        if kept.is_truncated == Some(false) {
            assert_eq!(kept.body.unwrap().len(), 1_048_576);
            break;
        }
        assert!(began.elapsed() < LONG, "there is no room");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_attempts_of_a_message_are_found_by_an_index() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome,
            response_headers, response_body, response_truncated)
        select n, 1, 1, 1, now(), 5, 'accepted', '{}', 'ok', false
        from generate_series(1, 50000) n;
        analyze;",
    )
    .await;
    let plan: Value = shop
        .ask("explain (format json) select * from postrider.attempts where message_id = 40000")
        .await;
    let plan = plan.to_string();
    println!("{plan}");
    assert!(plan.contains("_message_id_target_idx"), "{plan}");
    // Without bodies for those who watch.
    let client = shop.client().await;
    client.batch_execute("set role postrider_monitor").await.unwrap();
    let sql = "select message_id, status, response_headers, response_truncated
        from postrider.attempts limit 1";
    client.query_one(sql, &[]).await.unwrap();
    for relation in ["attempt", "attempts"] {
        let sql = format!("select response_body from postrider.{relation}");
        let error = client.batch_execute(&sql).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{relation}");
    }
}
