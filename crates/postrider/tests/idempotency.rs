//! Idempotency keys: one message per key, whoever sends at the same moment. The end of a message is
//! written as a dispatcher writes it.

use std::collections::HashMap;

use crate::shop::{
    Shop,
    producing::{check_refusal, delivered, id_of, pid_of, row_counts, until_blocked},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

const SEND: &str = "select postrider.send_with_options('a', '1', p_idempotency_key => 'k')";
const SEND_OTHER: &str = "select postrider.send_with_options('a', '2', p_idempotency_key => 'k')";
const CONFLICT: &str = "Idempotency key 'k' conflict: same key with different payload";

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// Records a delivery, and frees the key, as one flush does.
async fn finish(client: &Client, recorded: &str, id: i64) {
    let free = format!("select postrider.free_idempotency_keys(array[{id}])");
    batch(client, &format!("begin; {recorded}; {free}; commit")).await;
}

fn dead(id: i64, target: i32) -> String {
    format!(
        "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
            priority, payload)
        values ({id}, {target}, 1, 'a', 'rejected', 0, now(), 0, '1')"
    )
}

fn expired(id: i64, target: i32) -> String {
    ended(id, target, "expired")
}

fn ended(id: i64, target: i32, reason: &str) -> String {
    format!(
        "insert into postrider.ended (message_id, target, endpoint_id, reason)
        values ({id}, {target}, 1, '{reason}')"
    )
}

fn partly(id: i64, target: i32) -> String {
    format!(
        "insert into postrider.partly_done (message_id, at, targets)
        values ({id}, now(), '{{{target}}}')"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_send_returns_the_first_id_and_writes_nothing() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(&client, "select postrider.create_event_type('e')").await;
    let number = "select last_value from postrider.message_sequence";
    let mut repeats = Vec::new();
    for (first, again, other) in [
        (SEND, SEND, SEND_OTHER),
        (
            r#"select postrider.send_with_options('a', '{"x": 1, "y": 2}', p_idempotency_key => 'l')"#,
            // The same document, and an option that does not count.
            r#"select postrider.send_with_options('a', '{"y":2,"x":1}', 7, p_idempotency_key => 'l')"#,
            "select postrider.send_with_options('a', '{}', p_idempotency_key => 'l')",
        ),
        (
            r"select postrider.send_bytes('a', '\x01', 'a/b', p_idempotency_key => 'm')",
            r"select postrider.send_bytes('a', '\x01', 'a/b', p_idempotency_key => 'm')",
            r"select postrider.send_bytes('a', '\x02', 'a/b', p_idempotency_key => 'm')",
        ),
        (
            "select postrider.publish('e', '1', p_idempotency_key => 'k')",
            r#"select (postrider.publish_batch(
                '[{"event_type": "e", "payload": 1, "idempotency_key": "k"}]'))[1]"#,
            "select postrider.publish('e', '2', p_idempotency_key => 'k')",
        ),
    ] {
        let id = id_of(&client, first).await;
        repeats.push((again, id));
        let before = row_counts(&client).await;
        let last: i64 = shop.ask(number).await;
        assert_eq!(id_of(&client, again).await, id, "{again}");
        let key = if first.contains("'l'") { "l" } else { "k" };
        let key = if first.contains("'m'") { "m" } else { key };
        let text = format!("Idempotency key '{key}' conflict: same key with different payload");
        check_refusal(&client, (other, "23505", &text)).await;
        assert_eq!(row_counts(&client).await, before);
        assert_eq!(shop.ask::<i64>(number).await, last, "a number counts as a message that waits");
    }
    let sql = "select pg_current_xact_id_if_assigned() is null";
    batch(&client, "begin").await;
    id_of(&client, SEND).await;
    assert!(client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0), "nothing to commit");
    batch(&client, "rollback").await;
    check_repeats_to_nowhere(&shop, &client, &repeats).await;
}

/// A repeat is answered, whatever has become of the endpoint since. What is new is refused.
async fn check_repeats_to_nowhere(shop: &Shop, client: &Client, repeats: &[(&str, i64)]) {
    let number = "select last_value from postrider.message_sequence";
    let full = "[postrider] Queue backpressure: 1 more on top of what waits for endpoint 'a' would exceed limit 1";
    for (change, code, text) in [
        ("select postrider.disable_endpoint('a')", "55000", "Endpoint 'a' is disabled"),
        (
            r#"select postrider.enable_endpoint('a');
            update postrider.endpoints set config = config || '{"max_queue_size": 1}' where name = 'a';
            -- A dispatcher that lives has found it full.
            insert into postrider.dispatcher (id, host, pid, version, started_at)
                values ('00000000-0000-0000-0000-000000000001', 'here', 1, '0', clock_timestamp());
            insert into postrider.heartbeat (
                slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
            values (
                postrider.current_slot(), '00000000-0000-0000-0000-000000000001', clock_timestamp(),
                clock_timestamp() + interval '1 h', pg_current_xact_id(), 0,
                pg_snapshot_xmin(pg_current_snapshot()), '{}');
            insert into postrider.full_endpoint (endpoint_id, size_limit)
                select e.id, 1 from postrider.endpoints e where e.name = 'a'"#,
            "53400",
            full,
        ),
    ] {
        batch(client, change).await;
        let last: i64 = shop.ask(number).await;
        let before = row_counts(client).await;
        for (again, id) in repeats {
            assert_eq!(id_of(client, again).await, *id, "{again}: {change}");
        }
        assert_eq!(row_counts(client).await, before);
        assert_eq!(shop.ask::<i64>(number).await, last);
        for new in [
            "select postrider.send_with_options('a', '1', p_idempotency_key => 'new')",
            r"select postrider.send_bytes('a', '\x01', 'a/b', p_idempotency_key => 'new')",
            r"select postrider.send_bytes('a', '\x01', 'a/b')",
        ] {
            check_refusal(client, (new, code, text)).await;
        }
        let nowhere = "select postrider.send_with_options('z', '1', p_idempotency_key => 'k')";
        check_refusal(client, (nowhere, "42704", "Endpoint 'z' does not exist")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_a_destination() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(
        &client,
        "select postrider.create_endpoint('b', 'discard', '{}');
        select postrider.create_event_type('e');
        select postrider.create_event_type('f');",
    )
    .await;
    let mut ids = vec![id_of(&client, SEND).await];
    for sql in [
        "select postrider.send_with_options('b', '2', p_idempotency_key => 'k')",
        "select postrider.publish('e', '3', p_idempotency_key => 'k')",
        "select postrider.publish('f', '4', p_idempotency_key => 'k')",
    ] {
        ids.push(id_of(&client, sql).await);
    }
    let count = "select count(*) from postrider.message m
        join postrider.idempotency_key k on k.message_id = m.id and k.key = m.idempotency_key";
    assert_eq!(shop.ask::<i64>(count).await, 4);
    // Whoever sends.
    let other = "create role other; grant postrider_producer to other; set role other";
    batch(&client, other).await;
    assert_eq!(id_of(&client, SEND).await, ids[0]);
    check_refusal(&client, (SEND_OTHER, "23505", CONFLICT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_transactions_waits_for_the_first() {
    let shop = Shop::open_to_producers().await;
    let first = shop.client().await;
    for (end, sql, is_conflict) in
        [("rollback", SEND_OTHER, false), ("commit", SEND, false), ("commit", SEND_OTHER, true)]
    {
        batch(&first, "delete from postrider.idempotency_key").await;
        batch(&first, "begin").await;
        let first_id = id_of(&first, SEND).await;
        let second = shop.client().await;
        let pid = pid_of(&second).await;
        let waiting = tokio::spawn(async move {
            second.query_one(sql, &[]).await.map(|row| row.get::<_, i64>(0))
        });
        until_blocked(&shop, pid).await;
        batch(&first, end).await;
        match waiting.await.unwrap() {
            Ok(id) => {
                assert!(!is_conflict);
                assert_eq!(id == first_id, end == "commit");
            }
            Err(error) => {
                assert!(is_conflict, "{error:?}");
                assert_eq!(error.as_db_error().unwrap().message(), CONFLICT);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_free_when_its_message_has_ended() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    for window in ["0", "3600"] {
        let set = format!("select postrider.set_setting('idempotency_window', '{window}')");
        batch(&client, &set).await;
        type End = fn(i64) -> String;
        let ends: [(End, bool); 3] =
            [(delivered, false), (|id| dead(id, 1), false), (|id| expired(id, 1), true)];
        for (end, is_taken_back) in ends {
            let id = id_of(&client, SEND).await;
            // Freeing what has not ended frees nothing.
            finish(&client, "select", id).await;
            check_refusal(&client, (SEND_OTHER, "23505", CONFLICT)).await;
            finish(&client, &end(id), id).await;
            if window != "0" && !is_taken_back {
                // Ended, and held until the window is over.
                assert_eq!(shop.ask::<i32>("select postrider.forget_idempotency_keys()").await, 0);
                assert_eq!(id_of(&client, SEND).await, id);
                check_refusal(&client, (SEND_OTHER, "23505", CONFLICT)).await;
                let sql = "update postrider.idempotency_key
                    set created_at = created_at - interval '1 hour'";
                batch(&client, sql).await;
            }
            let next = id_of(&client, SEND_OTHER).await;
            assert_ne!(next, id);
            batch(&client, "delete from postrider.idempotency_key").await;
        }
    }
    // What nobody asks for any more is forgotten.
    let id = id_of(&client, SEND).await;
    finish(&client, &delivered(id), id).await;
    let sql = "update postrider.idempotency_key
        set created_at = now() - interval '1 hour', ended_at = now() - interval '1 hour'";
    batch(&client, sql).await;
    assert_eq!(shop.ask::<i32>("select postrider.forget_idempotency_keys()").await, 1);
    // A partition of the log may go before the window is over.
    let id = id_of(&client, SEND).await;
    finish(&client, &delivered(id), id).await;
    batch(&client, "delete from postrider.message").await;
    assert_eq!(id_of(&client, SEND).await, id);
    check_refusal(&client, (SEND_OTHER, "23505", CONFLICT)).await;
}

/// Its message is in the log, and then is not; what waits, or is another sender's, stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_message_to_nobody_goes_with_the_message() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let set = "select postrider.set_setting('idempotency_window', '3600');
        select postrider.create_event_type('unwanted')";
    batch(&client, set).await;
    for key in ["gone", "held", "waits", "young", "kept"] {
        let sql =
            format!("select postrider.publish('unwanted', '{{}}', p_idempotency_key => '{key}')");
        batch(&client, &sql).await;
    }
    let forget = "select postrider.forget_keys_to_nobody(10)";
    let age = "update postrider.idempotency_key set created_at = now() - interval '1 hour'
        where key <> 'young'";
    batch(&client, age).await;
    assert_eq!(shop.ask::<i32>(forget).await, 0, "all are in the log");
    let of = |key: &str| {
        format!("(select k.message_id from postrider.idempotency_key k where k.key = '{key}')")
    };
    let sql = format!(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        values ({}, 1, 1, 0, now(), now());
        delete from postrider.message m where m.id < {}",
        of("waits"),
        of("kept")
    );
    batch(&client, &sql).await;
    let sender = shop.client().await;
    batch(&sender, "begin; select from postrider.idempotency_key where key = 'held' for update")
        .await;
    assert_eq!(shop.ask::<i32>(forget).await, 1);
    let left = "select string_agg(k.key, ' ' order by k.key) from postrider.idempotency_key k";
    assert_eq!(shop.ask::<String>(left).await, "held kept waits young");
    batch(&sender, "rollback").await;
    assert_eq!(shop.ask::<i32>(forget).await, 1);
    assert_eq!(shop.ask::<String>(left).await, "kept waits young");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_holds_no_message_that_has_not_ended() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(&client, "select postrider.set_setting('idempotency_window', '5')").await;
    let id = id_of(&client, SEND).await;
    batch(&client, "update postrider.idempotency_key set created_at = now() - interval '1 hour'")
        .await;
    assert_eq!(shop.ask::<i32>("select postrider.forget_idempotency_keys()").await, 0);
    assert_eq!(id_of(&client, SEND).await, id, "the message is active");
    finish(&client, &delivered(id), id).await;
    assert_ne!(id_of(&client, SEND_OTHER).await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_message_has_ended_when_all_its_deliveries_have() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let targets: Vec<i32> = client
        .query_one(
            "with created as (
                select postrider.create_event_type('e'),
                    array[
                        postrider.create_endpoint('b', 'discard', '{}'),
                        postrider.create_endpoint('c', 'discard', '{}')]
            )
            select array(
                select postrider.subscribe('e', n)::integer
                from unnest(array['a', 'b', 'c']) n
                cross join created)",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    batch(&client, "select postrider.set_setting('idempotency_window', '0')").await;
    let publish = "select postrider.publish('e', '1', p_idempotency_key => 'k')";
    let id = id_of(&client, publish).await;
    finish(&client, &partly(id, targets[0]), id).await;
    finish(&client, &dead(id, targets[1]), id).await;
    assert_eq!(id_of(&client, publish).await, id);
    // A delivery that waits has not ended, although it was a dead letter before.
    let waits = format!(
        "insert into postrider.deferred (message_id, target, endpoint_id, shard, run_at,
            message_created_at)
        values ({id}, {}, 1, 0, now(), now())",
        targets[1]
    );
    batch(&client, &waits).await;
    finish(&client, &expired(id, targets[2]), id).await;
    assert_eq!(id_of(&client, publish).await, id);
    finish(&client, "delete from postrider.deferred", id).await;
    assert_ne!(id_of(&client, publish).await, id);
}

/// By default: whatever came of one of the deliveries holds the key, whichever of them ended last.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_holds_a_published_key_once_anything_came_of_it() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(
        &client,
        "select postrider.create_endpoint('b', 'discard', '{}');
        select postrider.create_event_type('e');
        select postrider.subscribe('e', 'a'), postrider.subscribe('e', 'b');",
    )
    .await;
    let end = |how: &str, id: i64, target: i32| match how {
        "delivered" => partly(id, target),
        "dead" => dead(id, target),
        reason => ended(id, target, reason),
    };
    for (first, second, is_held) in [
        ("delivered", "expired", true),
        ("delivered", "cancelled", true),
        ("delivered", "dead", true),
        ("dead", "expired", true),
        ("dead", "skipped", true),
        ("skipped", "expired", true),
        ("skipped", "cancelled", true),
        ("skipped", "skipped", true),
        ("expired", "cancelled", false),
        ("cancelled", "cancelled", false),
    ] {
        for (first, second) in [(first, second), (second, first)] {
            let case = format!("{first}, then {second}");
            let publish =
                format!("select postrider.publish('e', '1', p_idempotency_key => '{case}')");
            let id = id_of(&client, &publish).await;
            let sql = format!("select targets from postrider.message where id = {id}");
            let targets: Vec<i32> = shop.ask(&sql).await;
            finish(&client, &end(first, id, targets[0]), id).await;
            assert_eq!(id_of(&client, &publish).await, id, "{case}: one is under way");
            finish(&client, &end(second, id, targets[1]), id).await;
            let held = format!(
                "select array_agg(message_id) from postrider.idempotency_key where key = '{case}'"
            );
            let held: Option<Vec<i64>> = shop.ask(&held).await;
            assert_eq!(held, is_held.then(|| vec![id]), "{case}");
            assert_eq!(id_of(&client, &publish).await == id, is_held, "{case}");
            if is_held {
                let pass = format!(
                    "update postrider.idempotency_key
                    set created_at = created_at - interval '24 hours' where key = '{case}'"
                );
                batch(&client, &pass).await;
                assert_ne!(id_of(&client, &publish).await, id, "{case}: its window is over");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deliveries_that_end_at_the_same_moment_leave_no_key_behind() {
    let shop = Shop::open_to_producers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    batch(
        &client,
        "select postrider.create_endpoint('b', 'discard', '{}');
        select postrider.create_event_type('e');
        select postrider.subscribe('e', 'a'), postrider.subscribe('e', 'b');",
    )
    .await;
    batch(&client, "select postrider.set_setting('idempotency_window', '0')").await;
    let publish = "select postrider.publish('e', '1', p_idempotency_key => 'k')";
    let id = id_of(&client, publish).await;
    let sql = format!("select array_to_json(targets) from postrider.message where id = {id}");
    let targets: Value = shop.ask(&sql).await;
    let target = |index: usize| targets[index].as_i64().unwrap() as i32;
    let free = format!("select postrider.free_idempotency_keys(array[{id}])");
    batch(&other, &format!("begin; {}; {free}", expired(id, target(0)))).await;
    finish(&client, &partly(id, target(1)), id).await;
    batch(&other, "commit").await;
    // The row goes, whether anybody sends again or not. That dispatchers look, keys_freed shows.
    let recheck = format!("select postrider.recheck_idempotency_keys({}, 1)", id - 1);
    assert_eq!(shop.ask::<i64>(&recheck).await, id);
    let left = "select count(*) from postrider.idempotency_key";
    assert_eq!(shop.ask::<i64>(left).await, 0);
    assert_ne!(id_of(&client, publish).await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_waits_for_no_sender() {
    let shop = Shop::open_to_producers().await;
    let (sender, dispatcher) = (shop.client().await, shop.client().await);
    batch(&dispatcher, "set lock_timeout = '1s'").await;
    batch(&dispatcher, "select postrider.set_setting('idempotency_window', '0')").await;
    // An open transaction that has repeated a send.
    let id = id_of(&sender, SEND).await;
    batch(&sender, "begin").await;
    assert_eq!(id_of(&sender, SEND).await, id);
    finish(&dispatcher, &delivered(id), id).await;
    batch(&sender, "commit").await;
    // One that has taken over a key whose message has ended while nobody said so.
    let id = id_of(&sender, SEND).await;
    batch(&dispatcher, &delivered(id)).await;
    batch(&sender, "begin").await;
    assert_ne!(id_of(&sender, SEND_OTHER).await, id);
    finish(&dispatcher, "select", id).await;
    batch(&dispatcher, "select postrider.forget_idempotency_keys()").await;
    batch(&sender, "rollback").await;
    // One that cancels.
    let id = id_of(&sender, SEND).await;
    batch(&sender, &format!("begin; select postrider.cancel_message({id})")).await;
    finish(&dispatcher, &delivered(id), id).await;
    batch(&sender, "rollback").await;
    assert_ne!(id_of(&sender, SEND_OTHER).await, id);
    // One whose window is over.
    batch(&dispatcher, "select postrider.set_setting('idempotency_window', '5')").await;
    let id: i64 = shop.ask("select message_id from postrider.idempotency_key").await;
    finish(&dispatcher, &delivered(id), id).await;
    batch(&dispatcher, "update postrider.idempotency_key set created_at = now() - interval '1 h'")
        .await;
    batch(&sender, "begin").await;
    assert_ne!(id_of(&sender, SEND).await, id);
    batch(&dispatcher, "select postrider.forget_idempotency_keys()").await;
    finish(&dispatcher, "select", id).await;
    batch(&sender, "commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeatable_read_repeats_or_is_told_to_begin_again() {
    let shop = Shop::open_to_producers().await;
    let (old, client) = (shop.client().await, shop.client().await);
    let begin = "begin isolation level repeatable read; select from postrider.endpoints";
    batch(&old, begin).await;
    let id = id_of(&client, SEND).await;
    let error = old.query_one(SEND, &[]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "40001");
    batch(&old, &format!("rollback; {begin}")).await;
    assert_eq!(id_of(&old, SEND).await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_made_on_an_empty_table_is_no_scan_later() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(&client, "analyze").await;
    batch(&client, "begin").await;
    let sql = "select postrider.send_with_options('a', '1', p_idempotency_key => $1)";
    let send = client.prepare(sql).await.unwrap();
    for number in 0..200 {
        let key = number.to_string();
        let id: i64 = client.query_one(&send, &[&key]).await.unwrap().get(0);
        let again: i64 = client.query_one(&send, &[&key]).await.unwrap().get(0);
        assert_eq!(again, id);
        if number % 2 == 0 {
            assert!(
                client
                    .query_one("select postrider.cancel_message($1)", &[&id])
                    .await
                    .unwrap()
                    .get::<_, bool>(0)
            );
        }
    }
    let scans = "select coalesce(string_agg(relname, ' '), '')
        from pg_stat_xact_user_tables
        where seq_scan > 0
        and (relname like 'message%' or relname in (
            'idempotency_key', 'deferred', 'dead_letter', 'ended_default', 'done_default',
            'partly_done_default', 'cancellation', 'attempt_default'))";
    let scans: String = client.query_one(scans, &[]).await.unwrap().get(0);
    assert_eq!(scans, "");
}

/// What clients know after a run, and what the log holds.
struct Ledger {
    /// By key: the ids that were returned to transactions that committed.
    returned: HashMap<i64, Vec<i64>>,
    aborted_count: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_with_few_keys_lose_nothing_and_double_nothing() {
    const CLIENT_COUNT: u64 = 16;
    const ROUND_COUNT: usize = 150;
    let seed: u64 =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |s| s.parse().unwrap());
    println!("SEED={seed}");
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.set_setting('idempotency_window', '0')").await;
    let mut tasks = Vec::new();
    for number in 0..CLIENT_COUNT {
        let client = shop.client().await;
        tasks.push(tokio::spawn(async move {
            let mut dice = fastrand::Rng::with_seed(seed.wrapping_add(number));
            let mut ledger = Ledger { returned: HashMap::new(), aborted_count: 0 };
            for _ in 0..ROUND_COUNT {
                let key = dice.i64(0..40);
                let sql = "select postrider.send_with_options('a', $1, p_idempotency_key => $2)";
                let payload = json!({"key": key});
                batch(&client, "begin").await;
                let id = client.query_one(sql, &[&payload, &key.to_string()]).await;
                let Ok(row) = id else {
                    ledger.aborted_count += 1;
                    batch(&client, "rollback").await;
                    continue;
                };
                let id: i64 = row.get(0);
                if dice.u8(0..4) == 0 {
                    batch(&client, "rollback").await;
                    continue;
                }
                batch(&client, "commit").await;
                ledger.returned.entry(key).or_default().push(id);
                // One in ten is delivered now, by whoever comes by.
                if dice.u8(0..10) == 0 {
                    // One dispatcher at a time owns a shard.
                    let end = format!(
                        "begin; select pg_advisory_xact_lock(1); {} where not postrider.is_done({id});
                        select postrider.free_idempotency_keys(array[{id}]); commit",
                        delivered(id).replace("values (", "select ").replace("smallint))", "smallint)")
                    );
                    batch(&client, &end).await;
                }
            }
            ledger
        }));
    }
    let mut returned: HashMap<i64, Vec<i64>> = HashMap::new();
    for task in tasks {
        let ledger = task.await.unwrap();
        assert_eq!(ledger.aborted_count, 0, "a repeated send is no error");
        for (key, ids) in ledger.returned {
            returned.entry(key).or_default().extend(ids);
        }
    }
    let client = shop.client().await;
    let sql = "select m.id, m.idempotency_key::bigint, (m.payload ->> 'key')::bigint,
            postrider.is_done(m.id)
        from postrider.message m";
    let mut active: HashMap<i64, usize> = HashMap::new();
    let mut kept: HashMap<i64, i64> = HashMap::new();
    for row in client.query(sql, &[]).await.unwrap() {
        let (id, key, said): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(key, said);
        kept.insert(id, key);
        if !row.get::<_, bool>(3) {
            *active.entry(key).or_default() += 1;
        }
    }
    for (key, ids) in &returned {
        for id in ids {
            assert_eq!(kept.get(id), Some(key), "{id} was promised");
        }
    }
    for (id, key) in &kept {
        assert!(returned[key].contains(id), "{id} was never committed");
    }
    assert!(active.values().all(|count| *count == 1), "{active:?}");
    let keys =
        "select array_agg(k.key::bigint order by k.key::bigint) from postrider.idempotency_key k
        where not postrider.is_done(k.message_id)";
    let keys: Vec<i64> = shop.ask(keys).await;
    let mut expected: Vec<i64> = active.into_keys().collect();
    expected.sort_unstable();
    assert_eq!(keys, expected);
}
