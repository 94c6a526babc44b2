//! The limit of what may wait. What a dispatcher has read and finished is written by the test.

use crate::shop::{
    Shop,
    producing::{check_refusal, checkpoint, ids_of, row_counts},
};
use tokio_postgres::{Client, error::SqlState};

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

async fn limit(client: &Client, value: &str) {
    batch(client, &format!("select postrider.set_setting('max_queue_size', '{value}')")).await;
}

/// How often the statement works until the log is full.
async fn count_until_full(client: &Client, sql: &str) -> usize {
    let statement = client.prepare(sql).await.unwrap();
    let mut count = 0;
    loop {
        match client.query(&statement, &[]).await {
            Ok(_) => count += 1,
            Err(error) => {
                assert_eq!(
                    error.code(),
                    Some(&SqlState::CONFIGURATION_LIMIT_EXCEEDED),
                    "{error:?}"
                );
                return count;
            }
        }
    }
}

/// An endpoint `a`, and an event type `e` to which it and two others subscribe.
async fn open() -> Shop {
    let shop = Shop::open_to_producers().await;
    shop.execute(
        "select postrider.create_endpoint(n, 'discard', '{}') from unnest(array['b', 'c']) n;
        select postrider.create_event_type('e');
        select postrider.subscribe('e', n) from unnest(array['a', 'b', 'c']) n;",
    )
    .await;
    shop
}

/// All shards are read up to the newest number, and so many deliveries of what was read wait.
async fn dispatch(client: &Client, waiting: i64) {
    let newest: i64 = client
        .query_one("select last_value from postrider.message_sequence", &[])
        .await
        .unwrap()
        .get(0);
    let shards: Vec<i16> = (0..16).collect();
    // All wait in the first shard; a backlog is what was read minus what waits times the shards.
    let backlogs: Vec<i64> =
        shards.iter().map(|shard| newest - if *shard == 0 { waiting * 16 } else { 0 }).collect();
    let (first, rest) = shards.split_at(5);
    batch(client, &checkpoint(first, &backlogs[..5], "[]")).await;
    batch(client, &checkpoint(rest, &backlogs[5..], "[]")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_send_counts_what_it_adds() {
    let shop = open().await;
    let client = shop.client().await;
    let mut used = 0;
    for (sql, added) in [
        ("select postrider.send('a', '1')", 1),
        ("select postrider.send_with_options('a', '1', 5, p_ordering_key => 'o')", 1),
        ("select postrider.send_with_options('a', '1', p_idempotency_key => random()::text)", 1),
        ("select postrider.send_bytes('a', '1', 'a/b')", 1),
        ("select postrider.send_batch('a', array_fill('1'::jsonb, array[10]))", 10),
        ("select postrider.publish('e', '1')", 3),
        ("select postrider.publish('e', '1', p_idempotency_key => random()::text)", 3),
        (
            r#"select postrider.publish_batch('[{"event_type": "e", "payload": 1},
                {"event_type": "e", "payload": 1}]')"#,
            6,
        ),
    ] {
        limit(&client, &(used + 100).to_string()).await;
        let count = count_until_full(&client, sql).await;
        assert_eq!(count, 100 / added, "{sql}");
        // What is left is filled up, so that the next one begins at its limit.
        used += 100;
        count_until_full(&client, "select postrider.send('a', '1')").await;
        let deliveries = "select sum(cardinality(targets)) from postrider.message";
        let deliveries: i64 = shop.ask(deliveries).await;
        // Both events of a refused batch took their numbers: what was rolled back counts until a
        // dispatcher has passed it.
        assert!((used as i64 - 3..=used as i64).contains(&deliveries), "{sql}: {deliveries}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_says_so_and_nothing_is_written() {
    let shop = open().await;
    let client = shop.client().await;
    batch(&client, "select postrider.send('a', '1')").await;
    let repeated = "select postrider.send_with_options('a', '1', p_idempotency_key => 'k')";
    batch(&client, repeated).await;
    limit(&client, "3").await;
    let before = row_counts(&client).await;
    let text = |count: i64| {
        format!(
            "[postrider] Queue backpressure: {count} more on top of about 2 waiting messages would \
            exceed limit 3"
        )
    };
    for (sql, count) in [
        ("select postrider.send_batch('a', array['1'::jsonb, '2'])", 2),
        ("select postrider.publish('e', '1')", 3),
        ("select postrider.publish('e', '1', p_idempotency_key => 'k')", 3),
    ] {
        check_refusal(&client, (sql, "53400", &text(count))).await;
    }
    // Refusals use nothing up, and who repeats a send adds nothing.
    batch(&client, "select postrider.send('a', '1')").await;
    assert_ne!(row_counts(&client).await, before);
    let before = row_counts(&client).await;
    let full = text(1).replace("about 2", "about 3");
    for sql in [
        "select postrider.send('a', '1')",
        "select postrider.send_with_options('a', '1', p_idempotency_key => 'l')",
        "select postrider.send_bytes('a', '1', 'a/b')",
    ] {
        check_refusal(&client, (sql, "53400", &full)).await;
    }
    batch(&client, repeated).await;
    assert!(ids_of(&client, "select postrider.send_batch('a', '{}')").await.is_empty());
    assert_eq!(row_counts(&client).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_limit_counts_at_once() {
    let shop = open().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let send = "select postrider.send('a', '1')";
    limit(&client, "10").await;
    assert_eq!(count_until_full(&other, send).await, 10);
    limit(&client, "15").await;
    assert_eq!(count_until_full(&other, send).await, 5);
    limit(&client, "1000").await;
    batch(&other, send).await;
    limit(&client, "12").await;
    assert_eq!(count_until_full(&other, send).await, 0);
    limit(&client, "0").await;
    let many = "select postrider.send_batch('a', array_fill('1'::jsonb, array[2000]))";
    batch(&other, many).await;
    limit(&client, "2000").await;
    assert_eq!(count_until_full(&other, send).await, 0);
    batch(&client, "select postrider.reset_setting('max_queue_size')").await;
    batch(&other, many).await;
    batch(&other, send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_rolled_back_leaves_the_old_limit() {
    let shop = open().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let send = "select postrider.send('a', '1')";
    limit(&client, "10").await;
    let mut sent = 0;
    for value in ["1", "1000", "0"] {
        batch(&client, "begin").await;
        limit(&client, value).await;
        // Others do not see it yet, and what they see holds.
        batch(&other, send).await;
        sent += 1;
        batch(&client, "rollback").await;
        batch(&other, send).await;
        sent += 1;
    }
    assert_eq!(count_until_full(&other, send).await, 10 - sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dispatcher_has_finished_makes_room() {
    let shop = open().await;
    let client = shop.client().await;
    let send = "select postrider.send('a', '1')";
    limit(&client, "100").await;
    assert_eq!(count_until_full(&client, send).await, 100);
    // All read, some finished.
    for (waiting, room) in [(100, 0), (40, 60), (100, 0), (0, 100), (7, 93)] {
        dispatch(&client, waiting).await;
        assert_eq!(count_until_full(&client, send).await, room, "{waiting}");
    }
    // More wait than may.
    dispatch(&client, 250).await;
    assert_eq!(count_until_full(&client, send).await, 0);
    // The gate also moves when the dispatcher says so, both ways.
    for waiting in [0, 100, 30] {
        dispatch(&client, waiting).await;
        let gate = "select postrider.update_gate() - last_value from postrider.message_sequence";
        assert_eq!(shop.ask::<i64>(gate).await, 100 - waiting);
    }
    assert_eq!(count_until_full(&client, send).await, 70);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_nobody_reads_fills_the_log() {
    let shop = open().await;
    let client = shop.client().await;
    limit(&client, "16000").await;
    let many = "select postrider.send_batch('a', array_fill('1'::jsonb, array[1000]))";
    assert_eq!(count_until_full(&client, many).await, 16);
    // 15 of 16 shards have finished everything: a sixteenth waits.
    let newest: i64 = shop.ask("select last_value from postrider.message_sequence").await;
    let shards: Vec<i16> = (1..16).collect();
    batch(&client, &checkpoint(&shards, &[newest; 15], "[]")).await;
    let waiting: i64 = shop.ask("select count(*) from postrider.message where lane >> 4 = 0").await;
    let room = count_until_full(&client, many).await as i64 * 1000;
    assert!((16_000 - waiting - room).abs() <= 1_000, "{waiting} wait, room for {room}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_senders_stay_near_the_limit() {
    let shop = open().await;
    let client = shop.client().await;
    limit(&client, "2000").await;
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let client = shop.client().await;
        tasks.push(tokio::spawn(async move {
            count_until_full(&client, "select postrider.send('a', '1')").await
        }));
    }
    let mut count = 0;
    for task in tasks {
        count += task.await.unwrap();
    }
    assert!((2_000..=2_020).contains(&count), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_reads_as_much_at_any_depth() {
    let shop = open().await;
    let client = shop.client().await;
    limit(&client, "10000000").await;
    // The pages that a send touches: plans and caches of the session are warm.
    let buffers = async || {
        let explain = "explain (analyze, buffers, format json) select postrider.send('a', '1')";
        let mut least = i64::MAX;
        for _ in 0..20 {
            let plan: serde_json::Value = client.query_one(explain, &[]).await.unwrap().get(0);
            let node = &plan[0]["Plan"];
            let of = |kind: &str| node[kind].as_i64().unwrap();
            least = least.min(of("Shared Hit Blocks") + of("Shared Read Blocks"));
        }
        least
    };
    let empty = buffers().await;
    batch(
        &client,
        "select postrider.send_batch('a', array_fill('1'::jsonb, array[10000]))
        from generate_series(1, 100)",
    )
    .await;
    let full = buffers().await;
    // The indexes are a level or two deeper.
    assert!(full <= empty + 10, "{empty} pages, then {full}");
}
