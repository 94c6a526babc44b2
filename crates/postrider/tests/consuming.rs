//! Fetching and acknowledging: what a consumer gets, when it gets it again, and who gets nothing.

use std::time::Duration;

use crate::shop::{
    Shop,
    consuming::{Fetched, acknowledge, drain, fetch, fetch_with, ids, tick},
    producing::{Refusal, check_refusal, check_refusals, id_of, pid_of, until_blocked},
};
use tokio_postgres::Client;

const SEND: &str = "select postrider.send('a', '{\"n\": 1}')";

async fn send_all(client: &Client, count: usize) -> Vec<i64> {
    let mut sent = Vec::new();
    for _ in 0..count {
        sent.push(id_of(client, SEND).await);
    }
    sent
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

#[tokio::test]
async fn processing_and_position_commit_together_or_not_at_all() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "create table effect (id bigint); select postrider.create_consumer('c')").await;
    let sent = send_all(&client, 5).await;
    tick(&client).await;

    for (end, seen, effects) in [
        ("rollback", &sent[..3], 0),
        ("commit", &sent[..3], 3),
        ("rollback", &sent[3..], 3),
        ("commit", &sent[3..], 5),
    ] {
        run(&client, "begin").await;
        let batch = fetch(&client, "c", 3).await;
        assert_eq!(ids(&batch), seen, "{end}");
        for message in &batch {
            run(&client, &format!("insert into effect values ({})", message.id)).await;
        }
        acknowledge(&client, "c", batch.last().unwrap().position).await;
        run(&client, end).await;
        let effect_count: i64 = shop.ask("select count(*) from effect").await;
        assert_eq!(effect_count, effects, "{end}");
    }
    assert_eq!(fetch(&client, "c", 3).await, []);
}

#[tokio::test]
async fn all_columns_come_as_they_were_written() {
    let shop = Shop::open_to_consumers().await;
    shop.allow_far_schedules().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.create_consumer('c');
        select postrider.publish('order.placed', '{\"n\": 1}', p_ordering_key => 'k',
            p_headers => '{\"x-a\": \"1\"}', p_metadata => '{\"m\": 2}',
            p_scheduled_at => '2100-01-01 00:00Z',
            p_correlation_id => 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee');
        select postrider.send_bytes('a', '\\x00ff', 'application/x-thing')",
    )
    .await;
    tick(&client).await;
    let is_right: bool = shop
        .ask(
            "select bool_and(case
                when f.message_type is not null then
                    f.message_type = 'order.placed' and f.data = '{\"n\": 1}'
                    and f.ordering_key = 'k' and f.headers = '{\"x-a\": \"1\"}'
                    and f.metadata = '{\"m\": 2}' and f.scheduled = '2100-01-01 00:00Z'
                    and f.correlation_id = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'
                    and f.body is null and f.content_type is null
                else
                    f.data is null and f.body = '\\x00ff' and f.content_type = 'application/x-thing'
                    and f.scheduled is null and f.ordering_key is null
                end
                and f.position = f.message_id >> 10 and f.tick = 1 and f.created_at <= now()
                and f.transaction_id = m.xid)
                and count(*) = 2
            from postrider.fetch_messages('c') f
            join postrider.message m on m.id = f.message_id",
        )
        .await;
    assert!(is_right);
}

#[tokio::test]
async fn a_second_session_gets_nothing_or_waits_and_never_the_same() {
    let shop = Shop::open_to_consumers().await;
    let (first, second) = (shop.client().await, shop.client().await);
    run(&first, "select postrider.create_consumer('c')").await;
    let sent = send_all(&first, 4).await;
    tick(&first).await;

    run(&first, "begin").await;
    let batch = fetch(&first, "c", 2).await;
    assert_eq!(ids(&batch), sent[..2]);
    assert_eq!(fetch(&second, "c", 10).await, []);

    let pid = pid_of(&second).await;
    let waiting = tokio::spawn(async move {
        run(&second, "begin").await;
        let batch = fetch_with(&second, "'c', p_wait_for_holder => true").await;
        run(&second, "commit").await;
        (second, batch)
    });
    until_blocked(&shop, pid).await;
    acknowledge(&first, "c", batch[1].position).await;
    run(&first, "commit").await;
    let (second, batch) = waiting.await.unwrap();
    assert_eq!(ids(&batch), sent[2..]);

    // And what was not acknowledged goes to whoever comes next.
    assert_eq!(ids(&fetch(&second, "c", 10).await), sent[2..]);
}

#[tokio::test]
async fn a_stale_holder_acknowledges_nothing() {
    let shop = Shop::open_to_consumers().await;
    let (first, second) = (shop.client().await, shop.client().await);
    run(&first, "select postrider.create_consumer('c')").await;
    let sent = send_all(&first, 3).await;
    tick(&first).await;
    let nothing = "Consumer 'c' has nothing to acknowledge: \
        it must be in the transaction of its fetch_messages";

    // Its transaction has ended without an acknowledge, and somebody else has gone on.
    let stale = fetch(&first, "c", 1).await;
    run(&second, "begin").await;
    let batch = fetch(&second, "c", 2).await;
    assert_eq!(ids(&batch), sent[..2]);
    let refused = format!("select postrider.acknowledge('c', {})", stale[0].position);
    check_refusal(&first, (&refused, "55000", nothing)).await;
    acknowledge(&second, "c", batch[1].position).await;
    run(&second, "commit").await;
    check_refusal(&first, (&refused, "55000", nothing)).await;

    // A savepoint that is rolled back takes the batch with it.
    run(&first, "begin; savepoint s").await;
    let batch = fetch(&first, "c", 2).await;
    assert_eq!(ids(&batch), sent[2..]);
    run(&first, "rollback to s").await;
    assert_eq!(ids(&fetch(&second, "c", 2).await), sent[2..]);
    let refused = format!("select postrider.acknowledge('c', {})", batch[0].position);
    check_refusal(&first, (&refused, "55000", nothing)).await;
    run(&first, "rollback").await;

    // A connection that is ended gives back what it held.
    run(&first, "begin").await;
    fetch(&first, "c", 2).await;
    let pid = pid_of(&first).await;
    let end = format!("select pg_terminate_backend({pid}, 10000)");
    assert!(shop.ask::<bool>(&end).await);
    assert_eq!(drain(&second, "c", 10).await, sent[2..]);
}

#[tokio::test]
async fn a_part_of_a_batch_can_be_acknowledged() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('c')").await;
    let sent = send_all(&client, 6).await;
    tick(&client).await;
    run(&client, "begin").await;
    let batch = fetch(&client, "c", 4).await;
    acknowledge(&client, "c", batch[1].position).await;
    // What is left of it, in the same transaction.
    acknowledge(&client, "c", batch[2].position).await;
    assert_eq!(ids(&fetch(&client, "c", 2).await), sent[3..5]);
    acknowledge(&client, "c", batch[3].position).await;
    run(&client, "commit").await;
    assert_eq!(ids(&fetch(&client, "c", 4).await), sent[4..]);
    let counted: i64 = shop
        .ask(
            "select message_count
            from postrider.consumer_position
            order by seq desc
            limit 1",
        )
        .await;
    assert_eq!(counted, 4);
}

#[tokio::test]
async fn wrong_positions_are_refused() {
    let shop = Shop::open_to_consumers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c'), postrider.create_consumer('d')").await;
    let sent = send_all(&client, 4).await;
    tick(&client).await;
    let position = |index: usize| sent[index] >> 10;
    let wrong = |position: i64| {
        format!("p_position must be that of a message fetched and not acknowledged, got {position}")
    };
    for (acknowledged, refused) in [(vec![], 3), (vec![1], 0), (vec![1], 1), (vec![0, 1], 3)] {
        run(&client, "begin").await;
        fetch(&client, "c", 3).await;
        for index in &acknowledged {
            acknowledge(&client, "c", position(*index)).await;
        }
        let sql = format!("select postrider.acknowledge('c', {})", position(refused));
        check_refusal(&client, (&sql, "22023", &wrong(position(refused)))).await;
        run(&client, "rollback").await;
    }
    // Of another consumer.
    run(&client, "begin").await;
    fetch(&client, "d", 3).await;
    let sql = format!("select postrider.acknowledge('c', {})", position(0));
    let nothing = "Consumer 'c' has nothing to acknowledge: \
        it must be in the transaction of its fetch_messages";
    check_refusal(&client, (&sql, "55000", nothing)).await;
    run(&client, "rollback").await;

    // Moved by this transaction itself.
    run(&client, "begin").await;
    fetch(&client, "c", 3).await;
    run(&client, "select postrider.reset_consumer('c')").await;
    let moved = "Consumer 'c' has been moved since its fetch_messages";
    check_refusal(&client, (&sql, "55000", moved)).await;
    run(&client, "rollback").await;

    // A note that somebody has made up gives no right while another one holds the consumer.
    run(&other, "begin").await;
    fetch(&other, "c", 3).await;
    let note: String = shop_note(&other).await;
    run(&client, "begin").await;
    run(&client, &format!("set local postrider.fetched_1_0 = '{note}'")).await;
    check_refusal(&client, (&sql, "55000", moved)).await;
}

#[tokio::test]
async fn a_note_that_somebody_has_made_up_moves_a_consumer_nowhere() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    for ordering in ["commit", "transaction"] {
        let create =
            format!("select postrider.create_consumer('{ordering}', p_ordering => '{ordering}')");
        run(&client, &create).await;
    }
    let sent = send_all(&client, 4).await;
    tick(&client).await;
    for (number, ordering) in [(1, "commit"), (2, "transaction")] {
        run(&client, "begin").await;
        let batch = fetch(&client, ordering, 2).await;
        acknowledge(&client, ordering, batch[1].position).await;
        run(&client, "commit").await;
        let newest = "select max(seq)::text from postrider.consumer_position";
        let seq: String = shop.ask(newest).await;
        for (tick, xid) in [("0", "3"), ("900000000", "900000000"), ("1", "3")] {
            let place = if ordering == "commit" { ("'", tick, "NULL") } else { ("'", "NULL", xid) };
            let note = format!("{{{seq},{},{},1024,1,2026-01-01,true}}", place.1, place.2);
            run(&client, "begin").await;
            run(&client, &format!("set local postrider.fetched_{number}_0 = '{note}'")).await;
            let sql = format!("select postrider.acknowledge('{ordering}', 1)");
            let moved = format!("Consumer '{ordering}' has been moved since its fetch_messages");
            check_refusal(&client, (&sql, "55000", &moved)).await;
            run(&client, "rollback").await;
        }
        if ordering == "commit" {
            // Nor does it write down what nobody could go on from.
            run(&client, "begin").await;
            let position = fetch(&client, ordering, 2).await[1].position;
            let note = shop_note(&client).await;
            let parts: Vec<&str> = note.split(',').collect();
            for (index, value) in [(4, "9223372036854775000"), (4, "-1"), (5, "infinity")] {
                let mut parts = parts.clone();
                parts[index] = value;
                let note = parts.join(",");
                let set = format!("savepoint s; set local postrider.fetched_1_0 = '{note}'");
                run(&client, &set).await;
                let sql = format!("select postrider.acknowledge('{ordering}', {position})");
                let moved =
                    format!("Consumer '{ordering}' has been moved since its fetch_messages");
                check_refusal(&client, (&sql, "55000", &moved)).await;
                run(&client, "rollback to s").await;
            }
            run(&client, "rollback").await;
        }
        assert_eq!(drain(&client, ordering, 10).await, sent[2..], "{ordering}");
    }
}

/// One key in all of the log: the other partitions have nothing to read, and do not read it again.
#[tokio::test]
async fn partitions_without_messages_pass_the_others() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    for ordering in ["commit", "transaction"] {
        let create = format!(
            "select postrider.create_consumer('{ordering}', p_ordering => '{ordering}',
                p_partitions => 8)"
        );
        run(&client, &create).await;
    }
    run(
        &client,
        "select postrider.send_with_options('a', '{}', p_ordering_key => 'k')
        from generate_series(1, 500)",
    )
    .await;
    tick(&client).await;
    for ordering in ["commit", "transaction"] {
        assert_eq!(drain(&client, ordering, 1000).await.len(), 500);
        fetch(&client, ordering, 10).await;
        let behind: i64 = shop
            .ask(&format!(
                "select count(*)
                from postrider.consumer c
                cross join generate_series(0, 7) g (k)
                cross join postrider.newest_position(c.id, g.k) p
                cross join postrider.next_ticks(p.tick, p.message_id, 1) n
                where c.name = '{ordering}'
                and (
                    n.tick_count > 0
                    or exists (select from postrider.transaction_messages(p.xid, p.message_id, 1)))"
            ))
            .await;
        assert_eq!(behind, 0, "{ordering}");
    }
}

async fn shop_note(client: &Client) -> String {
    let sql = "select current_setting('postrider.fetched_1_0')";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn values_out_of_range_are_refused_and_change_nothing() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.create_consumer('c'), postrider.create_consumer('p', p_partitions => 3)",
    )
    .await;
    let cases: &[Refusal<'_>] = &[
        ("select postrider.fetch_messages(null)", "22004", "Consumer name must not be null"),
        ("select postrider.fetch_messages('x')", "42704", "Consumer 'x' does not exist"),
        (
            "select postrider.fetch_messages('c', 0)",
            "22023",
            "p_limit must be between 1 and 10000, got 0",
        ),
        (
            "select postrider.fetch_messages('c', null)",
            "22023",
            "p_limit must be between 1 and 10000, got null",
        ),
        (
            "select postrider.fetch_messages('c', 10001)",
            "22023",
            "p_limit must be between 1 and 10000, got 10001",
        ),
        (
            "select postrider.fetch_messages('c', p_wait => '61 s')",
            "22023",
            "p_wait must be between 0 and 60 seconds, got 00:01:01",
        ),
        (
            "select postrider.fetch_messages('c', p_wait => '-1 s')",
            "22023",
            "p_wait must be between 0 and 60 seconds, got -00:00:01",
        ),
        (
            "select postrider.fetch_messages('c', p_partition => 1)",
            "22023",
            "p_partition must be between 0 and 0, got 1",
        ),
        (
            "select postrider.fetch_messages('p', p_partition => -1)",
            "22023",
            "p_partition must be between 0 and 2, got -1",
        ),
        (
            "select postrider.fetch_messages('p', p_wait_for_holder => true)",
            "22023",
            "p_wait_for_holder needs p_partition: consumer 'p' has 3 partitions",
        ),
        ("select postrider.acknowledge(null, 1)", "22004", "Consumer name must not be null"),
        ("select postrider.acknowledge('c', null)", "22004", "p_position must not be null"),
        ("select postrider.acknowledge('x', 1)", "42704", "Consumer 'x' does not exist"),
        ("select postrider.create_consumer(null)", "22004", "Consumer name must not be null"),
        ("select postrider.create_consumer('c')", "42710", "Consumer 'c' already exists"),
        (
            "select postrider.create_consumer('_')",
            "22023",
            "Consumer name must be 1 to 50 letters, digits, _ . : or -, the first a letter or digit, got '_'",
        ),
        (
            "select postrider.create_consumer(repeat('n', 51))",
            "22023",
            "Consumer name must be 1 to 50 letters, digits, _ . : or -, the first a letter or digit, got 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'",
        ),
        (
            "select postrider.create_consumer('e', '{}')",
            "22023",
            "p_event_types must hold 1 to 100 event types, or be null, got 0",
        ),
        (
            "select postrider.create_consumer('e', '{a.*.b}')",
            "22023",
            "p_event_types must hold names of event types or patterns such as order.* or *, got 'a.*.b'",
        ),
        (
            "select postrider.create_consumer('e', '{null}')",
            "22023",
            "p_event_types must hold names of event types or patterns such as order.* or *, got null",
        ),
        (
            "select postrider.create_consumer('e', '{order.*,order.payd}')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.create_consumer('e', p_filter => '[]')",
            "22023",
            "p_filter must be an object, got array",
        ),
        (
            "select postrider.create_consumer('e', p_start => 'soon')",
            "22023",
            "p_start must be 'beginning', 'now', a time or a message id, got 'soon'",
        ),
        (
            "select postrider.create_consumer('e', p_start => null)",
            "22004",
            "p_start must not be null",
        ),
        (
            "select postrider.create_consumer('e', p_start => '17')",
            "42704",
            "Message 17 does not exist",
        ),
        (
            "select postrider.create_consumer('e', p_ordering => 'id')",
            "22023",
            "p_ordering must be commit or transaction, got 'id'",
        ),
        (
            "select postrider.create_consumer('e', p_partitions => 65)",
            "22023",
            "p_partitions must be between 1 and 64, got 65",
        ),
        ("select postrider.reset_consumer('x')", "42704", "Consumer 'x' does not exist"),
        (
            "select postrider.reset_consumer('c', 'soon')",
            "22023",
            "p_start must be 'beginning', 'now', a time or a message id, got 'soon'",
        ),
        ("select postrider.drop_consumer('x')", "42704", "Consumer 'x' does not exist"),
    ];
    check_refusals(&client, cases).await;
    for level in ["repeatable read", "serializable"] {
        run(&client, &format!("begin isolation level {level}")).await;
        let text = format!(
            "fetch_messages needs a transaction with isolation level READ COMMITTED, this is {}",
            level.to_uppercase()
        );
        check_refusal(&client, ("select postrider.fetch_messages('c')", "25001", &text)).await;
        run(&client, "rollback").await;
    }
}

#[tokio::test]
async fn filters_choose_and_what_they_leave_out_is_passed_once() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.create_consumer('all'),
            postrider.create_consumer('published', '{*}'),
            postrider.create_consumer('order', '{order.*}'),
            postrider.create_consumer('under', '{order_paid}'),
            postrider.create_consumer('seven', '{order.paid,order_paid}', '{\"n\": 7}')",
    )
    .await;
    let publish = async |name: &str, n: i32| {
        id_of(&client, &format!("select postrider.publish('{name}', '{{\"n\": {n}}}')")).await
    };
    let mut sent = vec![];
    for (name, n) in [("order.placed", 7), ("order.paid", 7), ("order_paid", 7), ("order.paid", 1)]
    {
        sent.push(publish(name, n).await);
    }
    sent.push(id_of(&client, SEND).await);
    for (consumer, wanted) in [
        ("all", vec![0, 1, 2, 3, 4]),
        ("published", vec![0, 1, 2, 3]),
        ("order", vec![0, 1, 3]),
        ("under", vec![2]),
        ("seven", vec![1, 2]),
    ] {
        let wanted: Vec<i64> = wanted.into_iter().map(|index| sent[index]).collect();
        assert_eq!(drain(&client, consumer, 2).await, wanted, "{consumer}");
    }

    // Many that it does not want: passed, and not walked over again.
    run(
        &client,
        "insert into postrider.message (id, xid, lane, priority, targets, event_type, payload)
        select nextval('postrider.message_sequence') * 1024, pg_current_xact_id(), 0, 0, '{}',
            'order.placed', '{}'
        from generate_series(1, 25000)",
    )
    .await;
    let last = publish("order_paid", 2).await;
    assert_eq!(drain(&client, "under", 10).await, [last]);
    let (tick, id): (i64, i64) = {
        let row = client
            .query_one(
                "select p.tick, p.message_id
                from postrider.consumer c
                cross join postrider.newest_position(c.id, 0) p
                where c.name = 'seven'",
                &[],
            )
            .await
            .unwrap();
        (row.get(0), row.get(1))
    };
    assert_eq!(fetch(&client, "seven", 10).await, []);
    let is_behind: bool = shop
        .ask(&format!(
            "select (p.tick, p.message_id) > ({tick}, {id})
                and p.tick = (select max(t.id) from postrider.tick t)
            from postrider.consumer c
            cross join postrider.newest_position(c.id, 0) p
            where c.name = 'seven'"
        ))
        .await;
    assert!(is_behind, "what it does not want is behind it");
}

#[tokio::test]
async fn a_short_page_of_what_is_wanted_is_not_the_end_of_its_tick() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('paid', '{order.paid}')").await;
    run(&client, "select postrider.create_consumer('p', p_partitions => 2)").await;
    // One tick, and more in it than one look takes.
    run(
        &client,
        "insert into postrider.message (id, xid, lane, priority, targets, event_type, payload)
        select nextval('postrider.message_sequence') * 1024, pg_current_xact_id(), 0, 0, '{}',
            case when n % 4000 = 1 then 'order.paid' else 'order.placed' end, '{}'
        from generate_series(1, 25000) n",
    )
    .await;
    assert!(tick(&client).await.is_some());
    for (consumer, wanted) in [("paid", 7), ("p", 25_000)] {
        for limit in [10_000, 9_999] {
            run(&client, &format!("select postrider.reset_consumer('{consumer}')")).await;
            assert_eq!(drain(&client, consumer, limit).await.len(), wanted, "{consumer} {limit}");
        }
    }
}

#[tokio::test]
async fn partitions_divide_by_key_and_each_has_one_reader() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    for ordering in ["commit", "transaction"] {
        let name = ordering;
        run(
            &client,
            &format!(
                "select postrider.create_consumer('{name}', p_partitions => 4,
                    p_ordering => '{ordering}')"
            ),
        )
        .await;
    }
    let mut sent = Vec::new();
    for n in 0..200 {
        let key = if n % 4 == 0 { "null".into() } else { format!("'key {}'", n % 23) };
        let send =
            format!("select postrider.send_with_options('a', '{{}}', p_ordering_key => {key})");
        sent.push(id_of(&client, &send).await);
    }
    tick(&client).await;

    for consumer in ["commit", "transaction"] {
        // Four sessions, none of which names a partition.
        let mut sessions = Vec::new();
        let mut seen = Vec::new();
        for _ in 0..4 {
            let session = shop.client().await;
            run(&session, "begin").await;
            let batch = fetch(&session, consumer, 10_000).await;
            assert!(batch.len() > 10, "{consumer}: {}", batch.len());
            assert!(batch.is_sorted_by_key(|message| message.id));
            seen.extend(ids(&batch));
            sessions.push((session, batch));
        }
        let fifth = shop.client().await;
        assert_eq!(fetch(&fifth, consumer, 10).await, []);
        seen.sort_unstable();
        assert_eq!(seen, sent, "{consumer}");
        let spread: i64 = shop
            .ask(
                "select max(n)
                from (
                    select count(distinct postrider.message_partition(m.ordering_key, m.id, 4)) as n
                    from postrider.message m
                    where m.ordering_key is not null
                    group by m.ordering_key
                ) k",
            )
            .await;
        assert_eq!(spread, 1);
        for (session, batch) in sessions {
            acknowledge(&session, consumer, batch.last().unwrap().position).await;
            run(&session, "commit").await;
        }
        assert_eq!(fetch(&fifth, consumer, 10).await, []);
    }
}

#[tokio::test]
async fn one_transaction_may_read_several_partitions() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('p', p_partitions => 2)").await;
    let sent = send_all(&client, 6).await;
    tick(&client).await;
    run(&client, "begin").await;
    let first = fetch_with(&client, "'p', p_partition => 0").await;
    let second = fetch_with(&client, "'p', p_partition => 1").await;
    let part = |parity: i64| -> Vec<i64> {
        sent.iter().copied().filter(|id| (id >> 10) % 2 == parity).collect()
    };
    assert_eq!((ids(&first), ids(&second)), (part(0), part(1)));
    acknowledge(&client, "p", second[1].position).await;
    acknowledge(&client, "p", first[2].position).await;
    run(&client, "commit").await;
    assert_eq!(ids(&fetch_with(&client, "'p', p_partition => 1").await), part(1)[2..]);
    assert_eq!(fetch_with(&client, "'p', p_partition => 0").await, []);
}

#[tokio::test]
async fn a_fetch_that_waits_gets_what_comes() {
    let shop = Shop::open_to_consumers().await;
    let (client, waiting) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    // It has looked before: the next look has nothing to write and so makes no tick.
    assert_eq!(fetch(&waiting, "c", 1).await, []);
    let pid = pid_of(&waiting).await;
    let task = tokio::spawn(async move {
        let batch = fetch_with(&waiting, "'c', p_wait => '60 s'").await;
        (waiting, batch)
    });
    shop.until(&format!(
        "select wait_event is not distinct from 'PgSleep' from pg_stat_activity where pid = {pid}"
    ))
    .await;
    let sent = id_of(&client, SEND).await;
    let batch = loop {
        tick(&client).await;
        if task.is_finished() {
            break task.await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let (waiting, batch) = batch;
    // Either somebody else's tick, or its own, which is for the next fetch.
    let batch = if batch.is_empty() { fetch(&waiting, "c", 1).await } else { batch };
    assert_eq!(ids(&batch), [sent]);

    // And no longer than it was told to.
    run(&waiting, "begin").await;
    acknowledge_first(&waiting, "c").await;
    let batch = fetch_with(&waiting, "'c', p_wait => '50 ms'").await;
    assert_eq!(batch, Vec::<Fetched>::new());
    run(&waiting, "commit").await;
}

async fn acknowledge_first(client: &Client, consumer: &str) {
    let batch = fetch(client, consumer, 1).await;
    acknowledge(client, consumer, batch[0].position).await;
}

#[tokio::test]
async fn a_reset_or_dropped_consumer_waits_for_its_holder() {
    let shop = Shop::open_to_consumers().await;
    let (client, admin) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    let sent = send_all(&client, 2).await;
    assert_eq!(drain(&client, "c", 1).await, sent);
    let third = id_of(&client, SEND).await;
    tick(&client).await;

    run(&client, "begin").await;
    let batch = fetch(&client, "c", 1).await;
    assert_eq!(ids(&batch), [third]);
    // They wait for seconds, and in vain.
    let impatient = "alter function postrider.hold_consumer set lock_timeout = '300ms'";
    run(&admin, impatient).await;
    for sql in ["select postrider.reset_consumer('c')", "select postrider.drop_consumer('c')"] {
        let held = "Consumer 'c' is held by another transaction";
        check_refusal(&admin, (sql, "55006", held)).await;
    }
    acknowledge(&client, "c", batch[0].position).await;
    run(&client, "commit").await;
    run(&admin, "select postrider.reset_consumer('c')").await;
    assert_eq!(drain(&client, "c", 2).await, [sent[0], sent[1], third]);
    run(&admin, "select postrider.drop_consumer('c')").await;
    assert_eq!(shop.refusal("select postrider.fetch_messages('c')").await, "42704");
    let left: i64 = shop.ask("select count(*) from postrider.consumer_position").await;
    assert_eq!(left, 0);
    // A new one of that name knows nothing of the old.
    run(&admin, "select postrider.create_consumer('c')").await;
    assert_eq!(drain(&client, "c", 2).await, [sent[0], sent[1], third]);
}

#[tokio::test]
async fn only_the_newest_positions_are_kept() {
    let shop = Shop::open_to_consumers().await;
    let (client, holder) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.create_consumer('c'), postrider.create_consumer('held'),
            postrider.create_consumer('t', p_ordering => 'transaction')",
    )
    .await;
    let sent = send_all(&client, 5).await;
    tick(&client).await;
    for consumer in ["c", "held", "t", "c", "held", "t"] {
        run(&client, "begin").await;
        let batch = fetch(&client, consumer, 1).await;
        acknowledge(&client, consumer, batch[0].position).await;
        run(&client, "commit").await;
    }
    run(&holder, "begin").await;
    let batch = fetch(&holder, "held", 1).await;
    acknowledge(&holder, "held", batch[0].position).await;
    run(&client, "select postrider.forget_consumer_rows()").await;
    run(&holder, "commit").await;
    let left: i64 = shop.ask("select count(*) from postrider.consumer_position").await;
    assert_eq!(left, 3);
    for (consumer, read) in [("c", 2), ("held", 3), ("t", 2)] {
        assert_eq!(drain(&client, consumer, 10).await, sent[read..], "{consumer}");
    }
}

/// Everything that a login without any right can take: the keys that consumers and ticks once had.
async fn hold_all(stranger: &Client, mode: &str) {
    run(
        stranger,
        &format!(
            "select pg_advisory_unlock_all();
            select pg_advisory_lock{mode}(1886352245, n) from generate_series(0, 200) n;
            select pg_advisory_lock{mode}(1886352246, n) from generate_series(0, 20) n;
            select pg_advisory_lock{mode}(1886352244, 1004)"
        ),
    )
    .await;
}

#[tokio::test]
async fn no_lock_of_a_stranger_stops_a_consumer() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.create_consumer('c');
        select postrider.create_consumer('p', p_partitions => 3);
        select postrider.create_consumer('t', p_ordering => 'transaction');
        create role stranger login; set lock_timeout = '10s'",
    )
    .await;
    let stranger = shop.client().await;
    run(&stranger, "set session authorization stranger").await;
    for table in ["consumer_lock", "tick", "consumer"] {
        for sql in [
            format!("lock table postrider.{table} in access share mode"),
            format!("select from postrider.{table} for key share"),
        ] {
            let refused = stranger.batch_execute(&format!("begin; {sql}")).await.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "42501", "{sql}");
            run(&stranger, "rollback").await;
        }
    }

    for mode in ["", "_shared"] {
        hold_all(&stranger, mode).await;
        for n in 0..2 {
            let sent = send_all(&client, 3).await;
            assert!(tick(&client).await.is_some(), "{mode}");
            for consumer in ["c", "t"] {
                let allowed = "select batch_size from postrider.begin_batch($1, 0, 10)";
                let allowed: i32 = client.query_one(allowed, &[&consumer]).await.unwrap().get(0);
                assert_eq!(allowed, 10, "{consumer}");
                run(&client, "begin").await;
                let batch = fetch(&client, consumer, 10).await;
                assert_eq!(ids(&batch), sent, "{consumer}{mode}");
                acknowledge(&client, consumer, batch[2].position).await;
                run(&client, "commit").await;
            }
            let sql = format!(
                "select postrider.lease_partitions('p', '{:032}', '1 hour') is not null",
                n + 1
            );
            assert!(shop.ask::<bool>(&sql).await, "{mode}");
        }
        run(&client, "select postrider.reset_consumer('p', 'now')").await;
    }
    run(&client, "select postrider.drop_consumer('p')").await;
}

/// What one application keeps open, idle, is its own consumer's or partition's alone.
#[tokio::test]
async fn an_open_transaction_stops_no_other_consumer() {
    let shop = Shop::open_to_consumers().await;
    let (open, client) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.create_consumer('own', p_partitions => 2);
        select postrider.create_consumer('own_t', p_ordering => 'transaction');
        select postrider.create_consumer('c');
        select postrider.create_consumer('leased', p_partitions => 2);
        set lock_timeout = '10s'",
    )
    .await;
    for sql in [
        "select from postrider.fetch_messages('own', p_partition => 0)",
        "select from postrider.fetch_messages('own', p_partition => 0, p_wait_for_holder => true)",
        "select postrider.acknowledge('own_t', max(position)) from postrider.fetch_messages('own_t')",
        "select from postrider.begin_batch('own', 0, 10)",
        "select postrider.lease_partitions('own', gen_random_uuid())",
        "select postrider.release_partitions('own', gen_random_uuid())",
        "select postrider.peek_messages('own')",
        "select postrider.reset_consumer('own', 'now')",
        "select postrider.drop_consumer('own')",
    ] {
        let sent = send_all(&client, 2).await;
        tick(&client).await;
        run(&open, "begin").await;
        run(&open, sql).await;
        run(&client, "begin").await;
        let batch = fetch(&client, "c", 10).await;
        assert_eq!(ids(&batch), sent, "{sql}");
        acknowledge(&client, "c", batch[1].position).await;
        run(&client, "commit").await;
        let more = id_of(&client, SEND).await;
        run(&client, "select postrider.lease_partitions('leased', gen_random_uuid(), '1 second')")
            .await;
        assert!(tick(&client).await.is_some(), "{sql}");
        assert_eq!(drain(&client, "c", 10).await, [more], "{sql}");
        run(&open, "rollback").await;
    }
}

/// A poll that finds nothing locks nothing, and so uses up no transaction id.
#[tokio::test]
async fn a_poll_that_finds_nothing_locks_nothing() {
    let shop = Shop::open_to_consumers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.create_consumer('c');
        select postrider.create_consumer('p', p_partitions => 3);
        select postrider.create_consumer('t', p_ordering => 'transaction')",
    )
    .await;
    send_all(&client, 3).await;
    for consumer in ["c", "t"] {
        drain(&client, consumer, 10).await;
        // Its first look in vain is noted.
        fetch(&client, consumer, 10).await;
    }
    while !drain(&client, "p", 10).await.is_empty() {}
    // Whoever tidies up uses up ids, too.
    for sql in ["alter system set autovacuum = off", "select pg_reload_conf()"] {
        shop.execute(sql).await;
    }
    shop.until(
        "select current_setting('autovacuum') = 'off' and not exists (
            select from pg_stat_activity where backend_type = 'autovacuum worker')",
    )
    .await;
    let next = "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let before: i64 = shop.ask(next).await;
    for polls in [
        "select from postrider.fetch_messages('c')",
        "select from postrider.fetch_messages('p')",
        "select from postrider.fetch_messages('t')",
        "select from postrider.fetch_messages('c', p_wait_for_holder => true)",
        "select from postrider.begin_batch('c', 0, 10)",
    ] {
        run(&other, polls).await;
        run(&other, &format!("begin; {polls}")).await;
        let has_id = "select pg_current_xact_id_if_assigned() is not null";
        let has_id: bool = other.query_one(has_id, &[]).await.unwrap().get(0);
        assert!(!has_id, "{polls}");
        run(&other, "commit").await;
    }
    assert_eq!(shop.ask::<i64>(next).await, before);
}
