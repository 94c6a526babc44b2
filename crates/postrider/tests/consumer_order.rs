//! The order in which consumers read: ticks, the places where they start, and what keeps nobody waiting.

use std::collections::HashMap;

use crate::shop::{
    Shop,
    consuming::{acknowledge, drain, fetch, fetch_with, ids, tick},
    producing::{check_refusal, id_of, ids_of, pid_of, until_blocked},
    serving::LONG,
};
use postrider_testkit::postgres::Options;
use tokio_postgres::{AsyncMessage, Client, NoTls};

const SEND: &str = "select postrider.send('a', '{\"n\": 1}')";

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

#[tokio::test]
async fn a_late_commit_comes_later_and_keeps_nobody_waiting() {
    let shop = Shop::open_to_consumers().await;
    let (client, late) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c'), postrider.create_consumer('t', p_ordering => 'transaction')")
        .await;
    run(&late, "begin").await;
    let early_id = id_of(&late, SEND).await;
    let mut wanted = Vec::new();
    for _ in 0..3 {
        wanted.push(id_of(&client, SEND).await);
        assert_eq!(drain(&client, "c", 10).await, wanted[wanted.len() - 1..]);
    }
    // Whoever wants the order of transactions waits for the open one.
    assert!(drain(&client, "t", 10).await.is_empty());
    let late_id = id_of(&late, SEND).await;
    run(&late, "commit").await;
    assert_eq!(drain(&client, "c", 10).await, [early_id, late_id]);
    let by_transaction = [&[early_id, late_id], &wanted[..]].concat();
    assert_eq!(drain(&client, "t", 10).await, by_transaction);

    // Everybody sees the order that the first one saw, whenever it comes.
    wanted.extend([early_id, late_id]);
    run(&client, "select postrider.create_consumer('later')").await;
    assert_eq!(drain(&client, "later", 2).await, wanted);
    run(&client, "select postrider.reset_consumer('c')").await;
    assert_eq!(drain(&client, "c", 3).await, wanted);
}

#[tokio::test]
async fn savepoints_and_prepared_transactions_are_read_when_they_commit() {
    let options = Options::default().set("max_prepared_transactions", "4");
    let shop = Shop::open_migrated_with(options).await;
    let (client, writer) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.set_setting('tick_interval_ms', '0');
        select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.create_consumer('c')",
    )
    .await;
    run(&writer, "begin; savepoint s").await;
    let in_savepoint = id_of(&writer, SEND).await;
    run(&writer, "savepoint t").await;
    id_of(&writer, SEND).await;
    run(&writer, "rollback to t").await;
    let behind = id_of(&client, SEND).await;
    assert_eq!(drain(&client, "c", 10).await, [behind]);
    run(&writer, "prepare transaction 'p'").await;
    let next = id_of(&client, SEND).await;
    assert_eq!(drain(&client, "c", 10).await, [next]);
    run(&client, "commit prepared 'p'").await;
    assert_eq!(drain(&client, "c", 10).await, [in_savepoint]);
    assert!(drain(&client, "c", 10).await.is_empty());
}

#[tokio::test]
async fn a_tick_is_made_of_what_is_new_and_only_where_it_is_safe() {
    let shop = Shop::open_to_consumers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let made = |made: Option<i64>| made.is_some();
    id_of(&client, SEND).await;
    assert!(!made(tick(&client).await), "nobody reads");
    run(&client, "select postrider.create_consumer('c')").await;
    run(&client, "begin").await;
    id_of(&client, SEND).await;
    let written = "tick needs a transaction that has not written or locked anything";
    check_refusal(&client, ("select postrider.tick()", "25001", written)).await;
    run(&client, "rollback; begin isolation level serializable").await;
    let level =
        "tick needs a transaction with isolation level READ COMMITTED, this is SERIALIZABLE";
    check_refusal(&client, ("select postrider.tick()", "25001", level)).await;
    run(&client, "rollback").await;

    // Whoever sits on one is passed.
    run(&other, "begin").await;
    assert!(made(tick(&other).await));
    assert!(made(tick(&client).await));
    run(&other, "commit").await;
    assert!(!made(tick(&client).await), "nothing is new");

    // Nor does anybody who made none keep others from it, for however long.
    run(&other, "begin").await;
    assert!(!made(tick(&other).await));
    assert_eq!(fetch(&other, "c", 1).await.len(), 1);
    run(&client, "select postrider.create_consumer('idle', p_start => 'now')").await;
    assert_eq!(fetch(&other, "idle", 1).await, []);
    id_of(&client, SEND).await;
    assert!(made(tick(&client).await));
    run(&other, "rollback").await;

    // Not too often.
    run(&client, "select postrider.set_setting('tick_interval_ms', '10000')").await;
    id_of(&client, SEND).await;
    assert!(!made(tick(&client).await));
    run(&client, "select postrider.set_setting('tick_interval_ms', '0')").await;
    assert!(made(tick(&client).await));

    // A batch in the middle of its transaction is no reason to wait.
    run(&other, "begin").await;
    assert!(!fetch(&other, "c", 1).await.is_empty());
    run(&client, "select postrider.create_consumer('d', p_start => 'now')").await;
    let sent = id_of(&client, SEND).await;
    assert_eq!(drain(&client, "d", 1).await, [sent]);
}

#[tokio::test]
async fn without_a_dispatcher_a_fetch_makes_the_tick_for_the_next() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('c')").await;
    let sent = id_of(&client, SEND).await;
    assert_eq!(fetch(&client, "c", 1).await, []);
    assert_eq!(ids(&fetch(&client, "c", 1).await), [sent]);

    // In a transaction that has written something it would be wrong, and is left out.
    let next = id_of(&client, SEND).await;
    assert_eq!(drain(&client, "c", 10).await, [sent, next]);
    run(&client, "begin").await;
    let third = id_of(&client, SEND).await;
    assert_eq!(fetch(&client, "c", 1).await, []);
    run(&client, "commit").await;
    assert_eq!(drain(&client, "c", 1).await, [third]);
}

/// Sends three batches apart, and returns their ids and a moment between the second and the third.
async fn three_batches(client: &Client) -> (Vec<Vec<i64>>, String) {
    let send = "select array_agg(postrider.send('a', '{}')) from generate_series(1, 3)";
    let first = ids_of(client, send).await;
    tick(client).await;
    let second = ids_of(client, send).await;
    let moment: String =
        client.query_one("select clock_timestamp()::text", &[]).await.unwrap().get(0);
    let third = ids_of(client, send).await;
    (vec![first, second, third], moment)
}

#[tokio::test]
async fn a_consumer_starts_where_it_is_told() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('first')").await;
    let (sent, moment) = three_batches(&client).await;
    let after = |start: &str| match start {
        "beginning" => sent.concat(),
        "now" => vec![],
        "first" => sent.concat()[1..].to_vec(),
        "second" => sent.concat()[4..].to_vec(),
        "third" => sent.concat()[7..].to_vec(),
        _ => sent[2].clone(),
    };
    // Before and after everything has its tick.
    for round in ["untimed", "timed"] {
        for ordering in ["commit", "transaction"] {
            let mut created = HashMap::new();
            for (name, start) in [
                ("beginning", "beginning".to_owned()),
                ("now", "now".to_owned()),
                ("first", sent[0][1].to_string()),
                ("second", sent[1][1].to_string()),
                ("third", sent[2][1].to_string()),
                ("moment", moment.clone()),
            ] {
                let consumer = format!("{round}-{ordering}-{name}");
                let sql = "select postrider.create_consumer($1, p_start => $2, p_ordering => $3)";
                client.execute(sql, &[&consumer, &start, &ordering]).await.unwrap();
                created.insert(consumer, name);
            }
            if round == "timed" {
                for (consumer, name) in &created {
                    assert_eq!(drain(&client, consumer, 2).await, after(name), "{consumer}");
                }
            }
        }
    }
    // Those that were made before, when only the first batch was in a tick.
    for ordering in ["commit", "transaction"] {
        for name in ["beginning", "now", "first", "second", "third", "moment"] {
            let consumer = format!("untimed-{ordering}-{name}");
            assert_eq!(drain(&client, &consumer, 2).await, after(name), "{consumer}");
        }
    }
    // All of them go on with what comes.
    let next = id_of(&client, SEND).await;
    for ordering in ["commit", "transaction"] {
        for (round, name) in [("timed", "now"), ("untimed", "now"), ("untimed", "third")] {
            let consumer = format!("{round}-{ordering}-{name}");
            assert_eq!(drain(&client, &consumer, 2).await, [next], "{consumer}");
        }
    }
}

#[tokio::test]
async fn starting_at_a_time_leaves_out_no_open_transaction() {
    let shop = Shop::open_to_consumers().await;
    let (client, open) = (shop.client().await, shop.client().await);
    let moment: String =
        client.query_one("select clock_timestamp()::text", &[]).await.unwrap().get(0);
    run(&open, "begin; select pg_current_xact_id()").await;
    let sent = id_of(&client, SEND).await;
    let late = id_of(&open, SEND).await;
    for ordering in ["commit", "transaction"] {
        let sql = "select postrider.create_consumer($1, p_start => $2, p_ordering => $1)";
        client.execute(sql, &[&ordering, &moment]).await.unwrap();
    }
    run(&open, "commit").await;
    let mut seen = drain(&client, "commit", 10).await;
    seen.sort_unstable();
    assert_eq!(seen, [sent, late]);
    assert_eq!(drain(&client, "transaction", 10).await, [late, sent]);
}

#[tokio::test]
async fn starting_now_leaves_out_nothing_that_commits_later() {
    let shop = Shop::open_to_consumers().await;
    let (client, open) = (shop.client().await, shop.client().await);
    let before = id_of(&client, SEND).await;
    run(&open, "begin").await;
    let late = id_of(&open, SEND).await;
    for ordering in ["commit", "transaction"] {
        // The transaction that makes it sends, too, before and after; and transactions with higher ids
        // end meanwhile.
        run(&client, "begin").await;
        let own = id_of(&client, SEND).await;
        shop.execute(SEND).await;
        let create = format!(
            "select postrider.create_consumer('{ordering}', p_start => 'now',
                p_ordering => '{ordering}')"
        );
        run(&client, &create).await;
        let also_own = id_of(&client, SEND).await;
        run(&client, "commit").await;
        run(&open, "savepoint s").await;
        if ordering == "transaction" {
            run(&open, "commit").await;
        }
        let seen = drain(&client, ordering, 10).await;
        assert!(seen.contains(&own) && seen.contains(&also_own), "{ordering}: {seen:?}");
        assert!(!seen.contains(&before), "{ordering}: {seen:?}");
        assert_eq!(seen.contains(&late), ordering == "transaction", "{ordering}: {seen:?}");
    }
    assert!(drain(&client, "commit", 10).await.contains(&late));
}

#[tokio::test]
async fn dispatchers_make_ticks_and_wake_who_listens() {
    let shop = Shop::open_to_consumers().await;
    let dispatcher = shop.serve().await;
    let client = shop.client().await;
    let (listener, mut connection) = tokio_postgres::connect(&shop.url(), NoTls).await.unwrap();
    let (rung, mut rings) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) =
            std::future::poll_fn(|context| connection.poll_message(context)).await
        {
            if let AsyncMessage::Notification(notification) = message {
                let _ = rung.send(notification.channel().to_owned());
            }
        }
    });
    for (name, ordering) in [("c", "commit"), ("t", "transaction")] {
        run(
            &client,
            &format!("select postrider.create_consumer('{name}', p_ordering => '{ordering}')"),
        )
        .await;
        run(&listener, &format!("listen \"postrider:{name}\"")).await;
    }
    for _ in 0..3 {
        let sent = id_of(&client, SEND).await;
        let mut woken = vec![];
        for _ in 0..2 {
            woken.push(tokio::time::timeout(LONG, rings.recv()).await.unwrap().unwrap());
        }
        woken.sort();
        assert_eq!(woken, ["postrider:c", "postrider:t"]);
        for name in ["c", "t"] {
            run(&client, "begin").await;
            // Whoever wants the order of transactions waits for what the dispatcher has open, too.
            let wait = if name == "t" { "1 minute" } else { "0 seconds" };
            let batch = fetch_with(&client, &format!("'{name}', 10, '{wait}'")).await;
            assert_eq!(ids(&batch), [sent], "{name}");
            acknowledge(&client, name, batch[0].position).await;
            run(&client, "commit").await;
        }
    }
    // What nobody subscribes to is there for consumers, too.
    run(&client, "select postrider.create_event_type('nobody.subscribes')").await;
    let sent = id_of(&client, "select postrider.publish('nobody.subscribes', '{}')").await;
    tokio::time::timeout(LONG, rings.recv()).await.unwrap().unwrap();
    assert_eq!(ids(&fetch(&client, "c", 10).await), [sent]);
    drop(dispatcher);
}

#[tokio::test]
async fn a_tick_of_any_shape_is_read_in_order() {
    let shop = Shop::open_to_consumers().await;
    let (client, bulk, open) = (shop.client().await, shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    let many = |count: usize| {
        format!("select postrider.send_batch('a', array_fill('{{}}'::jsonb, array[{count}]))")
    };
    let mut wanted = Vec::new();
    // Few in a wide range: a transaction that sends at its beginning and at its end, while another one
    // that is not committed sends in between.
    run(&bulk, "begin").await;
    let mut late = ids_of(&bulk, &many(3000)).await;
    run(&open, "begin").await;
    let first = id_of(&open, SEND).await;
    late.extend(ids_of(&bulk, &many(3000)).await);
    let last = id_of(&open, SEND).await;
    run(&open, "commit").await;
    wanted.extend([first, last]);
    assert_eq!(drain(&client, "c", 100).await, [first, last]);
    let is_sparse: bool = shop.ask("select is_sparse from postrider.tick").await;
    assert!(is_sparse);
    // Stragglers below and above what is new.
    run(&open, "begin").await;
    let above_or_below = id_of(&open, SEND).await;
    let between = id_of(&client, SEND).await;
    assert_eq!(drain(&client, "c", 100).await, [between]);
    let new = id_of(&client, SEND).await;
    let above = id_of(&open, SEND).await;
    run(&open, "commit").await;
    run(&bulk, "commit").await;
    let mut tail = vec![above_or_below, new, above];
    tail.extend(&late);
    tail.sort_unstable();
    assert_eq!(drain(&client, "c", 1000).await, tail);
    // More than a tick looks at.
    let large = ids_of(&client, &many(9000)).await;
    assert_eq!(drain(&client, "c", 700).await, large);
    wanted.push(between);
    wanted.extend(tail);
    wanted.extend(large);
    for limit in [97, 333, 10_000] {
        run(&client, "select postrider.reset_consumer('c')").await;
        assert_eq!(drain(&client, "c", limit).await, wanted, "{limit}");
    }
}

/// Nothing is new for two consumers. A fetch would make a tick where no dispatcher lives.
async fn check_nothing_new(client: &Client) {
    let sql =
        "select count(*) from unnest(array['c', 'd']) n (name), postrider.peek_messages(n.name)";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// What is new for two consumers: the same, in the same order.
async fn read_by_both(client: &Client) -> Vec<i64> {
    let mut read = Vec::new();
    for consumer in ["c", "d"] {
        run(client, "begin").await;
        let batch = fetch(client, consumer, 100).await;
        if let Some(last) = batch.last() {
            acknowledge(client, consumer, last.position).await;
        }
        run(client, "commit").await;
        read.push(ids(&batch));
    }
    assert_eq!(read[0], read[1]);
    read.remove(0)
}

/// A tick in a transaction that stays open holds up that transaction, and counts for nothing if it comes later.
#[tokio::test]
async fn whoever_holds_up_ticks_is_passed() {
    let shop = Shop::open_to_consumers().await;
    let (client, hung, second) = (shop.client().await, shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c'), postrider.create_consumer('d')").await;
    let send = async || id_of(&client, SEND).await;
    let first = send().await;
    tick(&client).await.unwrap();
    assert_eq!(read_by_both(&client).await, [first]);

    for end in ["commit", "rollback"] {
        let mut sent = vec![send().await];
        run(&hung, "begin").await;
        tick(&hung).await.unwrap();
        check_nothing_new(&client).await;
        // What it writes later is behind its tick, which thought to have seen it.
        let own = id_of(&hung, SEND).await;
        sent.push(send().await);
        tick(&client).await.unwrap();
        assert_eq!(read_by_both(&client).await, sent, "{end}");
        run(&hung, end).await;
        check_nothing_new(&client).await;
        let mut next = vec![send().await];
        if end == "commit" {
            next.insert(0, own);
        }
        tick(&client).await.unwrap();
        assert_eq!(read_by_both(&client).await, next, "{end}");
    }

    // Two of them, one of which has passed the other: the one that comes last does not count.
    for (earlier, later) in [(&hung, &second), (&second, &hung)] {
        let mut sent = vec![send().await];
        run(&hung, "begin").await;
        tick(&hung).await.unwrap();
        sent.push(send().await);
        run(&second, "begin").await;
        tick(&second).await.unwrap();
        sent.push(send().await);
        tick(&client).await.unwrap();
        assert_eq!(read_by_both(&client).await, sent);
        run(earlier, "commit").await;
        check_nothing_new(&client).await;
        run(later, "commit").await;
        check_nothing_new(&client).await;
        let next = send().await;
        tick(&client).await.unwrap();
        assert_eq!(read_by_both(&client).await, [next]);
    }
    // One that begins now finds the same order.
    run(&client, "select postrider.create_consumer('later')").await;
    let all: Vec<i64> =
        ids_of(&client, "select array_agg(id order by id) from postrider.message").await;
    let mut later = drain(&client, "later", 3).await;
    later.sort_unstable();
    assert_eq!(later, all);
}

/// Whoever reads in the transaction of its own tick would read it again, should that tick be passed meanwhile: in
/// the one that was made past it.
#[tokio::test]
async fn nobody_reads_a_tick_of_its_own_transaction() {
    let shop = Shop::open_to_consumers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    run(&client, "select postrider.create_consumer('choosy', p_filter => '{\"n\": 7}')").await;
    let first = id_of(&client, SEND).await;
    run(&client, "begin").await;
    assert!(tick(&client).await.is_some());
    assert_eq!(fetch(&client, "c", 10).await, []);
    // It would pass what it does not want.
    assert_eq!(fetch(&client, "choosy", 10).await, []);
    let second = id_of(&other, SEND).await;
    assert!(tick(&other).await.is_some(), "the other one is passed");
    let batch = fetch(&client, "c", 10).await;
    assert_eq!(ids(&batch), [first, second]);
    acknowledge(&client, "c", batch[1].position).await;
    run(&client, "commit").await;
    let third = id_of(&client, "select postrider.send('a', '{\"n\": 7}')").await;
    assert_eq!(drain(&client, "c", 10).await, [third]);
    assert_eq!(drain(&client, "choosy", 10).await, [third]);
}

#[tokio::test]
async fn who_begins_at_a_message_begins_in_a_tick_that_counts() {
    let shop = Shop::open_to_consumers().await;
    let (client, hung) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    let send = async || id_of(&client, SEND).await;
    send().await;
    tick(&client).await.unwrap();
    send().await;
    let start = send().await;
    run(&hung, "begin").await;
    tick(&hung).await.unwrap();
    let last = send().await;
    tick(&client).await.unwrap();
    run(&hung, "commit").await;
    let create = format!("select postrider.create_consumer('from', p_start => '{start}')");
    run(&client, &create).await;
    assert_eq!(drain(&client, "from", 3).await, [start, last]);
}

/// Whatever a re-base writes, it is there before a tick looks at what there is.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_builds_a_tick_on_what_a_rebase_takes_away() {
    let shop = Shop::open_to_consumers().await;
    let (client, rebase) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c')").await;
    id_of(&client, SEND).await;
    tick(&client).await.unwrap();
    id_of(&client, SEND).await;
    run(&rebase, "begin; lock table postrider.tick in share row exclusive mode").await;
    let pid = pid_of(&client).await;
    let ticking = tokio::spawn(async move { tick(&client).await });
    until_blocked(&shop, pid).await;
    run(
        &rebase,
        "update postrider.tick set id = id + 1000, snapshot = pg_current_snapshot(); commit",
    )
    .await;
    ticking.await.unwrap();
    let is_chain = "select bool_and(t.base_xmax = pg_snapshot_xmax(f.snapshot))
        from postrider.tick t
        join postrider.tick f on f.id = (select max(o.id) from postrider.tick o where o.id < t.id)";
    assert!(shop.ask::<Option<bool>>(is_chain).await.unwrap_or(true));
    assert!(shop.ask::<bool>("select min(t.id) > 1000 from postrider.tick t").await);
}

/// Until it shows which ticks count nobody reads on, and whoever comes next sees to that.
#[tokio::test]
async fn what_a_dead_passer_left_open_is_settled() {
    let shop = Shop::open_to_consumers().await;
    let (client, hung) = (shop.client().await, shop.client().await);
    run(&client, "select postrider.create_consumer('c'), postrider.create_consumer('d')").await;
    let first = id_of(&client, SEND).await;
    run(&hung, "begin").await;
    tick(&hung).await.unwrap();
    // It has said that it passes, and is gone.
    run(&client, "select nextval('postrider.tick_epoch')").await;
    run(&hung, "commit").await;
    // Without a dispatcher a fetch that finds nothing makes a tick, an empty one if need be.
    assert_eq!(fetch(&client, "c", 1).await, []);
    assert_eq!(read_by_both(&client).await, [first]);
    let kept = "select array_agg(t.message_count order by t.id) from postrider.tick t";
    assert_eq!(shop.ask::<Vec<i32>>(kept).await, [1, 0]);
}

/// Whatever the order in which transactions with ticks end, everybody reads everything once and in one order.
#[tokio::test(flavor = "multi_thread")]
async fn racing_and_hanging_ticks_make_one_order() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('c'), postrider.create_consumer('d')").await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut tasks = Vec::new();
    for n in 0..5 {
        let session = shop.client().await;
        let mut dice = fastrand::Rng::with_seed(seed.wrapping_add(n));
        tasks.push(tokio::spawn(async move {
            for _ in 0..40 {
                run(&session, "begin").await;
                let is_sending = dice.bool();
                let sql = if is_sending { SEND } else { "select postrider.tick()" };
                run(&session, sql).await;
                for _ in 0..dice.u8(0..8) {
                    run(&session, "select").await;
                    tokio::task::yield_now().await;
                }
                if !is_sending && n == 0 {
                    // Long enough to be passed.
                    run(&session, "select pg_sleep(0.1)").await;
                }
                run(&session, if dice.u8(..5) == 0 { "rollback" } else { "commit" }).await;
            }
        }));
    }
    let mut orders = [Vec::new(), Vec::new()];
    while tasks.iter().any(|task| !task.is_finished()) {
        for (consumer, order) in ["c", "d"].into_iter().zip(&mut orders) {
            order.extend(drain(&client, consumer, 3).await);
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    for (consumer, order) in ["c", "d"].into_iter().zip(&mut orders) {
        order.extend(drain(&client, consumer, 100).await);
    }
    assert_eq!(orders[0], orders[1]);
    let all: Vec<i64> =
        ids_of(&client, "select array_agg(id order by id) from postrider.message").await;
    orders[0].sort_unstable();
    assert_eq!(orders[0], all);
}
