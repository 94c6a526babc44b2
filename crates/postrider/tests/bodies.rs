//! What is sent arrives as it was given, with a running dispatcher and a real receiver.

use std::collections::HashMap;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::{
    ledger::MessageId,
    receiver::{Behaviour, Keep, Receiver},
};

fn start() -> Receiver {
    Receiver::start_with(Behaviour::Status(200), Keep { body: true, headers: true }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_arrive_as_they_were_given() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start();
    shop.quick_endpoint("sink", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut sent: HashMap<i64, (Vec<u8>, &str)> = HashMap::new();
    let types =
        ["application/octet-stream", "image/png", "text/plain; charset=utf-8", "application/json"];
    for length in [0, 1, 2_000, 5_000, 1_048_576] {
        for content_type in types {
            let body: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(length).collect();
            let send = "select postrider.send_bytes('sink', $1, $2)";
            let row = client.query_one(send, &[&body, &content_type]).await.unwrap();
            sent.insert(row.get(0), (body, content_type));
        }
    }
    receiver.wait_for_accepted(sent.len(), LONG).await.unwrap();
    assert_eq!(receiver.distinct_ids().len(), sent.len());
    for request in receiver.requests() {
        let (body, content_type) = &sent[&request.id.unwrap().0];
        assert!(request.body == *body, "{} of {} bytes", request.body.len(), body.len());
        let given: Vec<&[u8]> =
            request.headers.get_all("content-type").iter().map(|value| value.as_bytes()).collect();
        assert_eq!(given, [content_type.as_bytes()]);
        assert_eq!(request.headers["content-length"], body.len().to_string());
    }
    let too_long = "select postrider.send_bytes(
        'sink', decode(repeat('00', 1048577), 'hex'), 'application/octet-stream')";
    assert_eq!(shop.refusal(too_long).await, "22023");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_arrives_as_the_database_writes_it() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start();
    shop.quick_endpoint("sink", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let payloads = [
        "1.50",
        "1e3",
        "12345678901234567890.123",
        "-0.0",
        "1e-30",
        "null",
        "true",
        "\"\"",
        "\"ü€😀 \\u0001 \\\" \\\\ \\/ \u{2028}\"",
        "[]",
        "{}",
        "[1.50, [2.0, [{\"a\": [null, {\"b\": {\"ü\": 1e400}}]}]]]",
        "{\"b\": 1, \"a\": {\"z\": [1, 2.000], \"y\": \"\"}, \"\": 0}",
        "{\"a\": 1, \"a\": 2.10}",
    ];
    for (number, payload) in payloads.iter().enumerate() {
        let sql = format!("select postrider.send('sink', '{payload}')");
        let id: i64 = shop.ask(&sql).await;
        receiver.wait_for_accepted(number + 1, LONG).await.unwrap();
        let text = format!("select payload::text from postrider.message where id = {id}");
        let text: String = shop.ask(&text).await;
        let requests = receiver.requests();
        let request = requests.iter().find(|request| request.id == Some(MessageId(id))).unwrap();
        assert_eq!(str::from_utf8(&request.body).unwrap(), text);
        assert_eq!(request.headers["content-type"], "application/json");
    }
}

/// Stored, each of them has less than 2,000 bytes, and together they are 140 MB.
#[tokio::test(flavor = "multi_thread")]
async fn what_compresses_well_takes_no_more_memory_than_what_does_not() {
    const COUNT: usize = 1_000;
    const PEAK_MAX: u64 = 224 << 20;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("sink", &receiver.url()).await;
    let dispatcher = shop.serve().await;
    shop.execute(&format!(
        "select postrider.send_batch('sink', array_agg(
            jsonb_build_object('n', n, 'text', repeat('0123456789abcde ', 8750))))
        from generate_series(1, {COUNT}) n"
    ))
    .await;
    receiver.wait_for_accepted(COUNT, LONG).await.unwrap();
    let peak = dispatcher.peak_memory_bytes().unwrap();
    println!("at most {} MiB in memory", peak >> 20);
    assert!(peak <= PEAK_MAX, "{} MiB in memory", peak >> 20);
}
