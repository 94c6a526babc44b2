//! Begun batches and parked messages: which messages are suspect when a batch has come to nothing, how
//! often one has failed by itself, and how a consumer goes on without it.

use crate::shop::{
    Shop,
    producing::{check_refusal, check_refusals, pid_of},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

const TICK: &str = "select postrider.tick()";

/// A consumer `c` of the messages that are sent to the endpoint `a`.
async fn open() -> (Shop, Client) {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.set_setting('tick_interval_ms', '0')").await;
    shop.execute("select postrider.create_consumer('c')").await;
    let client = shop.client().await;
    (shop, client)
}

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// What `begin_batch` says: how many messages to ask for, and how often the next has failed by itself.
async fn begin(client: &Client, size: i32) -> (i32, i32) {
    let sql = "select * from postrider.begin_batch('c', 0, $1)";
    let row = client.query_one(sql, &[&size]).await.unwrap();
    (row.get(0), row.get(1))
}

/// Positions and payloads.
async fn fetch(client: &Client, limit: i32) -> Vec<(i64, Value)> {
    let sql = "select f.position, f.data -> 'n' from postrider.fetch_messages('c', $1) f";
    let rows = client.query(sql, &[&limit]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Fetches and acknowledges in one transaction; returns the payloads.
async fn process(client: &Client, limit: i32) -> Vec<Value> {
    batch(client, "begin").await;
    let messages = fetch(client, limit).await;
    if let Some((position, _)) = messages.last() {
        batch(client, &format!("select postrider.acknowledge('c', {position})")).await;
    }
    batch(client, "commit").await;
    messages.into_iter().map(|(_, data)| data).collect()
}

/// Fetches, and fails.
async fn fail(client: &Client, limit: i32) -> Vec<Value> {
    batch(client, "begin").await;
    let messages = fetch(client, limit).await;
    batch(client, "rollback").await;
    messages.into_iter().map(|(_, data)| data).collect()
}

/// Parks the next message.
async fn park(client: &Client, failure_count: i32) -> i64 {
    batch(client, "begin").await;
    let (position, _) = fetch(client, 1).await.remove(0);
    let sql = "select postrider.park_message('c', $1, $2, 'broken')";
    let id = client.query_one(sql, &[&position, &failure_count]).await.unwrap().get(0);
    batch(client, "commit").await;
    id
}

/// Sends `{"n": …}` with these numbers, in one transaction.
async fn send(client: &Client, numbers: std::ops::RangeInclusive<i32>) {
    let sql = "select postrider.send_batch('a', array_agg(jsonb_build_object('n', n)))
        from generate_series($1::integer, $2) n";
    client.execute(sql, &[numbers.start(), numbers.end()]).await.unwrap();
}

fn numbers(range: std::ops::RangeInclusive<i32>) -> Vec<Value> {
    range.map(Value::from).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_messages_of_a_lost_batch_are_handed_out_one_by_one() {
    let (shop, client) = open().await;
    send(&client, 1..=20).await;
    let lost = shop.client().await;
    assert_eq!(begin(&lost, 5).await, (5, 0));
    batch(&lost, "begin").await;
    assert_eq!(fetch(&lost, 5).await.len(), 5);
    let kill = format!("select pg_terminate_backend({}, 60000)", pid_of(&lost).await);
    assert!(shop.ask::<bool>(&kill).await);

    for n in 1..=5 {
        assert_eq!(begin(&client, 7).await, (1, 0), "message {n}");
        assert_eq!(process(&client, 1).await, [json!(n)]);
    }
    assert_eq!(begin(&client, 7).await, (7, 0));
    assert_eq!(process(&client, 7).await, numbers(6..=12));
    // A batch of which only a part was acknowledged has not failed.
    assert_eq!(begin(&client, 8).await, (8, 0));
    assert_eq!(process(&client, 3).await, numbers(13..=15));
    assert_eq!(begin(&client, 8).await, (8, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_suspect_than_there_was() {
    let (_shop, client) = open().await;
    send(&client, 1..=3).await;
    assert_eq!(begin(&client, 1000).await, (1000, 0));
    assert_eq!(fail(&client, 1000).await, numbers(1..=3));
    assert_eq!(begin(&client, 1000).await, (1, 0));
    send(&client, 4..=9).await;
    for n in 1..=3 {
        assert_eq!(process(&client, 1).await, [json!(n)]);
        assert_eq!(begin(&client, 1000).await, (if n < 3 { 1 } else { 1000 }, 0), "{n}");
    }
    assert_eq!(process(&client, 1000).await, numbers(4..=9));
    // What was alone has failed by itself, whatever was asked for.
    send(&client, 10..=10).await;
    assert_eq!(begin(&client, 1000).await, (1000, 0));
    assert_eq!(begin(&client, 1000).await, (1, 1));
    assert_eq!(begin(&client, 1000).await, (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_count_where_a_message_fails_by_itself_until_it_is_parked() {
    let (shop, client) = open().await;
    send(&client, 1..=10).await;
    // 3 fails whatever it is in.
    let mut begun = Vec::new();
    let mut passed = Vec::new();
    loop {
        let (size, failure_count) = begin(&client, 4).await;
        begun.push((size, failure_count));
        if failure_count == 3 {
            park(&client, failure_count).await;
            continue;
        }
        batch(&client, "begin").await;
        let messages = fetch(&client, size).await;
        let Some((last, _)) = messages.last() else { break };
        if messages.iter().any(|(_, data)| *data == json!(3)) {
            batch(&client, "rollback").await;
            continue;
        }
        batch(&client, &format!("select postrider.acknowledge('c', {last}); commit")).await;
        passed.extend(messages.into_iter().map(|(_, data)| data));
    }
    batch(&client, "rollback").await;
    let expected =
        [(4, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 0), (4, 0), (4, 0), (4, 0)];
    assert_eq!(begun, expected);
    assert_eq!(passed, [numbers(1..=2), numbers(4..=10)].concat());
    let parked = "select array_agg(array[p.data -> 'n', to_jsonb(p.attempt_count)])::text
        from postrider.parked_messages p";
    assert_eq!(shop.ask::<String>(parked).await, "{{3,3}}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gets_nothing_is_no_attempt() {
    let (shop, client) = open().await;
    let count = "select count(*) from postrider.consumer_attempt";
    for _ in 0..3 {
        assert_eq!(begin(&client, 10).await, (10, 0));
    }
    assert_eq!(shop.ask::<i64>(count).await, 0);
    send(&client, 1..=4).await;
    assert_eq!(begin(&client, 10).await, (10, 0));
    batch(&client, "begin").await;
    assert_eq!(fetch(&client, 10).await.len(), 4);
    // Somebody else has it: what it has may fail.
    let other = shop.client().await;
    for _ in 0..3 {
        assert_eq!(begin(&other, 10).await, (1, 0));
    }
    assert_eq!(shop.ask::<i64>(count).await, 1);
    batch(&client, "rollback").await;
    assert_eq!(begin(&other, 10).await, (1, 0));
    assert_eq!(begin(&other, 10).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_consumer_does_not_want_is_passed_before_a_batch_counts() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    for ordering in ["commit", "transaction"] {
        let create = format!(
            "select postrider.create_consumer('c', p_filter => '{{\"n\": 30001}}', p_ordering => '{ordering}')"
        );
        batch(&client, &create).await;
        send(&client, 1..=30_001).await;
        let found = loop {
            let begun = begin(&client, 10).await;
            if shop.ask("select exists (select from postrider.consumer_attempt)").await {
                assert_eq!(begun, (10, 0));
                break fail(&client, 10).await;
            }
        };
        assert_eq!(found, [json!(30_001)]);
        assert_eq!(begin(&client, 10).await, (1, 1));
        assert_eq!(process(&client, 1).await, [json!(30_001)]);
        batch(&client, "select postrider.drop_consumer('c')").await;
        assert!(!shop.ask::<bool>("select exists (select from postrider.consumer_attempt)").await);
    }
}

/// A page of the largest size that holds nothing that is wanted.
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_page_passes_nothing_that_is_wanted() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    for ordering in ["commit", "transaction"] {
        let create = format!(
            "select postrider.create_consumer('c', p_filter => '{{\"n\": 10500}}', p_ordering => '{ordering}')"
        );
        batch(&client, &create).await;
        send(&client, 1..=10_600).await;
        batch(&client, TICK).await;
        assert_eq!(process(&client, 10_000).await, [json!(10_500)], "{ordering}");
        batch(&client, "select postrider.drop_consumer('c')").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_remembered_when_the_position_is_written_again_and_cleaned_up() {
    let (shop, client) = open().await;
    send(&client, 1..=3).await;
    assert_eq!(begin(&client, 10).await, (10, 0));
    assert_eq!(begin(&client, 10).await, (1, 0));
    assert_eq!(begin(&client, 10).await, (1, 1));
    let sign_of_life = "select postrider.append_position(p, p.tick, p.xid, p.message_id, 0, now())
        from postrider.newest_position((select id from postrider.consumer), 0) p";
    batch(&client, sign_of_life).await;
    assert_eq!(begin(&client, 10).await, (1, 2));

    let forget = "select postrider.forget_consumer_rows()";
    batch(&client, forget).await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.consumer_attempt").await, 1);
    assert_eq!(begin(&client, 10).await, (1, 3));
    assert_eq!(process(&client, 1).await, [json!(1)]);
    assert_eq!(begin(&client, 10).await, (1, 0));
    assert_eq!(begin(&client, 10).await, (1, 1));

    batch(&client, "select postrider.reset_consumer('c', 'beginning')").await;
    assert_eq!(begin(&client, 10).await, (10, 0));
    assert_eq!(process(&client, 10).await, numbers(1..=3));
    batch(&client, forget).await;
    let left = "select count(*) from postrider.consumer_position";
    assert_eq!(shop.ask::<i64>(left).await, 1);
    assert_eq!(begin(&client, 10).await, (10, 0));
}

/// An application that is in the middle of something has read all of these tables.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_cleaned_up_while_applications_are_in_their_transactions() {
    let (shop, client) = open().await;
    batch(&client, "select postrider.create_consumer('d')").await;
    send(&client, 1..=4).await;
    for _ in 0..3 {
        assert_eq!(begin(&client, 2).await.1, 0);
        process(&client, 1).await;
    }
    let slot: i16 = shop.ask("select ((postrider.current_slot() + 1) % 3)::smallint").await;
    let fill = format!(
        "insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
        values ({slot}, gen_random_uuid(), '{{}}', '4', '{{}}', '{{}}')"
    );
    batch(&client, &fill).await;
    let other = shop.client().await;
    let read = "begin; select from postrider.fetch_messages('d'); table postrider.consumer_attempt;
        table postrider.consumer_lease; table postrider.checkpoint";
    batch(&other, read).await;
    shop.let_a_slot_pass().await;
    batch(&client, "select postrider.rotate_slots(), postrider.forget_consumer_rows()").await;
    for (left, count) in [("checkpoint", 0), ("consumer_attempt", 1), ("consumer_position", 2)] {
        let sql = format!("select count(*) from postrider.{left}");
        assert_eq!(shop.ask::<i64>(&sql).await, count, "{left}");
    }
    batch(&other, "commit").await;
    assert_eq!(process(&client, 10).await, [json!(4)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_is_kept_whole_and_passed() {
    let (shop, client) = open().await;
    shop.allow_far_schedules().await;
    let sql = "select postrider.create_event_type('order.created');
        select postrider.publish('order.created', '{\"n\": 1}', p_headers => '{\"h\": \"1\"}',
            p_metadata => '{\"m\": 1}', p_ordering_key => 'k', p_scheduled_at => '2100-01-01',
            p_correlation_id => '00000000-0000-0000-0000-000000000001');
        select postrider.send_bytes('a', '\\x0102', 'image/png');
        select postrider.send('a', 'null')";
    batch(&client, sql).await;
    batch(&client, TICK).await;
    let keep = "create temporary table fetched as select * from postrider.fetch_messages('c')";
    batch(&client, keep).await;
    for error in ["null", "repeat('ä', 10000)", "'x'"] {
        let sql = format!(
            "begin;
            select postrider.park_message('c', f.position, 3, {error})
            from postrider.fetch_messages('c', 1) f;
            commit"
        );
        batch(&client, &sql).await;
    }
    let same = "select count(*) from postrider.parked_messages p
        join fetched f on (f.position, f.message_id, f.transaction_id, f.created_at)
            = (p.position, p.message_id, p.transaction_id, p.created_at)
        and (f.message_type, f.data, f.headers, f.metadata, f.scheduled, f.tick, f.ordering_key,
            f.correlation_id, f.body, f.content_type)
            is not distinct from (p.message_type, p.data, p.headers, p.metadata, p.scheduled, p.tick,
            p.ordering_key, p.correlation_id, p.body, p.content_type)
        where p.consumer_name = 'c' and p.partition = 0 and p.attempt_count = 3";
    assert_eq!(client.query_one(same, &[]).await.unwrap().get::<_, i64>(0), 3);
    let lengths = "select array_agg(length(last_error) order by id) from postrider.parked_messages";
    assert_eq!(shop.ask::<Vec<Option<i32>>>(lengths).await, [None, Some(8192), Some(1)]);
    assert_eq!(process(&client, 10).await, [] as [Value; 0]);
    let logged = "select count(*) from postrider.event_log e
        join postrider.parked_messages p on p.id = (e.details ->> 'id')::bigint
        and p.message_id = (e.details ->> 'message_id')::bigint
        and p.position = (e.details ->> 'position')::bigint
        where e.event = 'consumer.message_parked' and e.details ->> 'consumer' = 'c'
        and e.details @> '{\"partition\": 0, \"attempt_count\": 3, \"by\": \"postgres\"}'";
    assert_eq!(shop.ask::<i64>(logged).await, 3);

    // Parked again: one entry for a message, with its last failure. And it goes with its consumer.
    batch(&client, "select postrider.reset_consumer('c', 'beginning')").await;
    let first: i64 = shop.ask("select min(id) from postrider.parked_messages").await;
    assert_eq!(park(&client, 4).await, first);
    let again = "select array_agg(attempt_count order by id) from postrider.parked_messages";
    assert_eq!(shop.ask::<Vec<i32>>(again).await, [4, 3, 3]);
    batch(&client, "select postrider.drop_consumer('c')").await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.parked_message").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn parking_is_refused_where_acknowledge_is_and_of_any_but_the_first_message() {
    let (shop, client) = open().await;
    send(&client, 1..=4).await;
    batch(&client, TICK).await;
    let positions: Vec<i64> =
        shop.ask("select array_agg(id >> 10 order by id) from postrider.message").await;
    let call = |n: usize| format!("select postrider.park_message('c', {}, 1, 'e')", positions[n]);
    let unfetched =
        "Consumer 'c' has nothing to park: it must be in the transaction of its fetch_messages";
    let other = |n: usize| {
        format!(
            "p_position must be that of the first message fetched and not acknowledged, got {}",
            positions[n]
        )
    };
    check_refusals(
        &client,
        &[
            (call(0).as_str(), "55000", unfetched),
            (
                "select postrider.park_message('c', null, 1, 'e')",
                "22004",
                "p_position must not be null",
            ),
            (
                "select postrider.park_message(null, 1, 1, 'e')",
                "22004",
                "Consumer name must not be null",
            ),
            (
                "select postrider.park_message('x', 1, 1, 'e')",
                "42704",
                "Consumer 'x' does not exist",
            ),
            (
                "select postrider.park_message('c', 1, 0, 'e')",
                "22023",
                "p_attempt_count must be at least 1, got 0",
            ),
            (
                "select postrider.park_message('c', 1, null, 'e')",
                "22023",
                "p_attempt_count must be at least 1, got null",
            ),
            (
                "select postrider.resolve_parked_message(null)",
                "22004",
                "Parked message id must not be null",
            ),
            (
                "select postrider.resolve_parked_message(7)",
                "42704",
                "Parked message 7 does not exist",
            ),
        ],
    )
    .await;

    batch(&client, "begin").await;
    assert_eq!(fetch(&client, 3).await.len(), 3);
    for n in [1, 2, 3] {
        batch(&client, "savepoint s").await;
        check_refusal(&client, (&call(n), "22023", &other(n))).await;
        batch(&client, "rollback to s").await;
    }
    // Within a batch, after what was acknowledged, and before more is.
    batch(&client, &format!("select postrider.acknowledge('c', {})", positions[0])).await;
    batch(&client, "savepoint s").await;
    check_refusal(&client, (&call(0), "22023", &other(0))).await;
    batch(&client, "rollback to s").await;
    batch(&client, &call(1)).await;
    batch(&client, &format!("select postrider.acknowledge('c', {})", positions[2])).await;
    batch(&client, "savepoint s").await;
    check_refusal(&client, (&call(2), "55000", unfetched)).await;
    batch(&client, "rollback to s; commit").await;
    assert_eq!(process(&client, 10).await, [json!(4)]);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.parked_messages").await, 1);

    // A batch that was taken back with its savepoint is not there any more.
    send(&client, 5..=5).await;
    batch(&client, TICK).await;
    batch(&client, "begin; savepoint s").await;
    let (position, _) = fetch(&client, 1).await.remove(0);
    batch(&client, "rollback to s").await;
    let call = format!("select postrider.park_message('c', {position}, 1, 'e')");
    check_refusal(&client, (&call, "55000", unfetched)).await;
    batch(&client, "rollback").await;
    assert_eq!(process(&client, 10).await, [json!(5)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn parking_and_passing_commit_together() {
    let (shop, client) = open().await;
    send(&client, 1..=2).await;
    batch(&client, TICK).await;
    batch(&client, "begin").await;
    let (position, _) = fetch(&client, 2).await.remove(0);
    let sql = format!("select postrider.park_message('c', {position}, 1, 'e'); rollback");
    batch(&client, &sql).await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.parked_messages").await, 0);
    park(&client, 1).await;
    assert_eq!(process(&client, 10).await, [json!(2)]);

    // Resolved with what was done about it, or not at all; and only once.
    let id: i64 = shop.ask("select id from postrider.parked_messages").await;
    let resolve = format!("select postrider.resolve_parked_message({id})");
    batch(&client, "create table public.effects (n integer)").await;
    batch(&client, &format!("begin; insert into effects values (1); {resolve}; rollback")).await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.parked_messages").await, 1);
    batch(&client, &format!("begin; insert into effects values (2); {resolve}")).await;
    let other = shop.client().await;
    let waiting = pid_of(&other).await;
    let second = tokio::spawn(async move {
        let error = other.batch_execute(&resolve).await.unwrap_err();
        error.code().unwrap().code().to_owned()
    });
    crate::shop::producing::until_blocked(&shop, waiting).await;
    batch(&client, "commit").await;
    assert_eq!(second.await.unwrap(), "42704");
    assert_eq!(shop.ask::<Vec<i32>>("select array_agg(n) from effects").await, [2]);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.parked_messages").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_begun_by_itself_and_within_bounds() {
    let (_shop, client) = open().await;
    let refused = "begin_batch needs a transaction that has not written or locked anything";
    check_refusals(
        &client,
        &[
            (
                "select postrider.begin_batch('c', 1, 1)",
                "22023",
                "p_partition must be between 0 and 0, got 1",
            ),
            (
                "select postrider.begin_batch('c', null, 1)",
                "22023",
                "p_partition must be between 0 and 0, got null",
            ),
            (
                "select postrider.begin_batch('c', 0, 0)",
                "22023",
                "p_batch_size must be between 1 and 10000, got 0",
            ),
            (
                "select postrider.begin_batch('c', 0, 10001)",
                "22023",
                "p_batch_size must be between 1 and 10000, got 10001",
            ),
            (
                "select postrider.begin_batch('c', 0, null)",
                "22023",
                "p_batch_size must be between 1 and 10000, got null",
            ),
            ("select postrider.begin_batch('x', 0, 1)", "42704", "Consumer 'x' does not exist"),
            ("select postrider.begin_batch(null, 0, 1)", "22004", "Consumer name must not be null"),
            ("create table t (); select postrider.begin_batch('c', 0, 1)", "25001", refused),
        ],
    )
    .await;
    batch(&client, "begin isolation level repeatable read").await;
    let text = "begin_batch needs a transaction with isolation level READ COMMITTED, this is REPEATABLE READ";
    check_refusal(&client, ("select postrider.begin_batch('c', 0, 1)", "25001", text)).await;
    batch(&client, "rollback").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_partition_has_its_own_suspects() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(&client, "select postrider.create_consumer('c', p_partitions => 2)").await;
    send(&client, 1..=20).await;
    let begin = async |partition: i32| {
        let sql = "select * from postrider.begin_batch('c', $1, 10)";
        let row = client.query_one(sql, &[&partition]).await.unwrap();
        (row.get::<_, i32>(0), row.get::<_, i32>(1))
    };
    assert_eq!(begin(0).await, (10, 0));
    assert_eq!(begin(0).await, (1, 0));
    assert_eq!(begin(1).await, (10, 0));
    // Two partitions in one transaction: each may park its first.
    let sql = "begin;
        create temporary table first as
            select min(f.position) as position, 0 as partition
            from postrider.fetch_messages('c', p_partition => 0) f
            union all
            select min(f.position), 1 from postrider.fetch_messages('c', p_partition => 1) f;
        select postrider.park_message('c', f.position, 1, null) from first f;
        commit";
    batch(&client, sql).await;
    let parked = "select array_agg(partition order by partition) from postrider.parked_messages";
    assert_eq!(shop.ask::<Vec<i32>>(parked).await, [0, 1]);
    assert_eq!(begin(0).await, (1, 0));
    assert_eq!(begin(1).await, (10, 0));
}
