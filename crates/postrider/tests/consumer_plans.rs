//! What consumers touch: pages, acknowledgements and ticks cost the same however full the log is.
//!
//! The statements are inside of functions, where `explain` does not show their plans. What it does show
//! is how many buffers a call touches, with all that it calls; and the statistics of a transaction say
//! whether a table was read from its beginning.

use crate::shop::{Shop, consuming::tick};
use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

/// Three months of the log, and helpers. `fill` writes transactions of so many messages that were
/// created so many months ago, and makes ticks or not; `place` puts a consumer before a tick.
const PREPARE: &str = "
    do $$
    declare
        month timestamptz := date_trunc('month', now() at time zone 'utc') at time zone 'utc';
    begin
        for k in 1..2 loop
            execute format(
                'create table postrider.message_past_%s partition of postrider.message
                for values from (%L) to (%L)',
                k, month - make_interval(months => k), month - make_interval(months => k - 1));
        end loop;
    end;
    $$;
    create procedure public.fill(
        transaction_count integer, message_count integer, months integer, makes_ticks boolean)
    language plpgsql as $$
    begin
        for k in 1..transaction_count loop
            insert into postrider.message (
                id, xid, created_at, lane, priority, targets, event_type, payload)
            select
                n.number << 10, n.xid,
                now() - make_interval(months => months), 0, 0, '{1}', 'order.placed',
                jsonb_build_object('text', repeat('x', 200))
            from (
                select
                    pg_current_xact_id() as xid, nextval('postrider.message_sequence') as number
                from generate_series(1, message_count)
            ) n;
            commit;
            if makes_ticks then
                perform postrider.tick();
                commit;
            end if;
        end loop;
    end;
    $$;
    create procedure public.place(consumer_name text, before_tick bigint) language sql as $$
        insert into postrider.consumer_position (
            consumer_id, partition, tick, xid, message_id, message_count)
        select
            c.id, 0,
            case when c.ordering = 'commit' then before_tick end,
            case when c.ordering = 'transaction' then (
                select t.base_xmax from postrider.tick t where t.id = before_tick
            ) end,
            0, 0
        from postrider.consumer c
        where c.name = consumer_name
    $$;
    select postrider.create_consumer('c');
    select postrider.create_consumer('t', p_ordering => 'transaction');
    select postrider.create_consumer('f', array['order.paid']);
    select postrider.create_consumer('p', p_partitions => 2);";

/// Puts a session in the worst place: its plans are made while tables are known to be empty.
async fn prepared() -> (Shop, Client) {
    let shop = Shop::open_to_consumers().await;
    // Whose plans are thrown away by its statistics makes them anew while buffers are counted.
    shop.execute("alter system set autovacuum = off").await;
    shop.execute("select pg_reload_conf()").await;
    shop.psql("shop", &[], PREPARE).succeed();
    shop.psql("shop", &[], "vacuum analyze").succeed();
    let early = shop.client().await;
    for consumer in ["c", "t", "f", "p"] {
        buffers(&early, &fetch(consumer, 100)).await;
    }
    tick(&early).await;
    (shop, early)
}

fn fetch(consumer: &str, limit: usize) -> String {
    format!("select count(*) from postrider.fetch_messages('{consumer}', {limit})")
}

/// How many buffers a statement touches, in the transaction that is open or in one of its own.
async fn buffers(client: &Client, sql: &str) -> u64 {
    let explained = format!("explain (analyze, buffers, format json) {sql}");
    let rows = client.simple_query(&explained).await.unwrap_or_else(|e| panic!("{e:?}: {sql}"));
    let text = rows.iter().find_map(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let plan = serde_json::from_str::<Value>(text.unwrap()).unwrap()[0]["Plan"].clone();
    ["Shared Hit Blocks", "Shared Read Blocks"]
        .iter()
        .map(|name| plan[name].as_u64().unwrap())
        .sum()
}

/// How many of our large tables this session has read from their beginning, since it last told the
/// statistics: never within a transaction.
async fn scan_count(client: &Client) -> i64 {
    let sql = "select coalesce(sum(s.seq_scan), 0)::bigint
        from pg_stat_xact_user_tables s
        where s.schemaname = 'postrider'
        and s.relname ~ '^(message|tick|consumer_position)_'";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// How many messages come, how many buffers the call touches in a session that has done it before, and
/// how many sequential scans it makes.
async fn page(client: &Client, consumer: &str, limit: usize) -> (i64, u64, i64) {
    client.batch_execute("begin").await.unwrap();
    let count = client.query_one(&fetch(consumer, limit), &[]).await.unwrap().get(0);
    client.batch_execute("rollback; begin").await.unwrap();
    let before = scan_count(client).await;
    let touched = buffers(client, &fetch(consumer, limit)).await;
    let scanned = scan_count(client).await - before;
    client.batch_execute("rollback").await.unwrap();
    (count, touched, scanned)
}

/// The newest tick's id, and whether it is sparse.
async fn newest_tick(shop: &Shop) -> (i64, bool) {
    let sql = "select t.id, t.is_sparse from postrider.tick t order by t.id desc limit 1";
    let row = shop.client().await.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

async fn place(client: &Client, consumer: &str, before_tick: i64) {
    let sql = format!("call public.place('{consumer}', {before_tick})");
    client.batch_execute(&sql).await.unwrap();
}

/// What a page of 100 may touch at a place, for a consumer.
async fn check(sessions: [(&str, &Client); 2], cases: &[(&str, &str, i64, i64, u64)]) {
    let mut wrong = Vec::new();
    for (what, consumer, before_tick, count, limit) in cases {
        for (session, client) in sessions {
            place(client, consumer, *before_tick).await;
            let found = page(client, consumer, 100).await;
            println!("{what}, {consumer}, session {session}: {found:?}");
            if found.0 != *count || found.1 > *limit || found.2 != 0 {
                wrong.push(format!("{what}, {consumer}, session {session}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "(messages, buffers, sequential scans) {wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_costs_the_same_anywhere_in_the_log() {
    let (shop, early) = prepared().await;
    let script = "call public.fill(120, 1000, 2, false);";
    shop.psql("shop", &[], script).succeed();
    // More than it looks at, and not much more.
    let touched = buffers(&early, "select postrider.tick()").await;
    assert!(touched < 1500, "the first tick of 120,000 messages touches {touched} buffers");
    let script = "call public.fill(80, 1000, 1, true); call public.fill(500, 2, 0, true);";
    shop.psql("shop", &[], script).succeed();

    // Some that commit late, with lower ids than what is already in ticks.
    let late = shop.client().await;
    let write = "begin;
        insert into postrider.message (id, xid, lane, priority, targets, event_type, payload)
        select
            nextval('postrider.message_sequence') << 10, pg_current_xact_id(), 0, 0, '{1}',
            'order.placed', '{}'
        from generate_series(1, 3000)";
    late.batch_execute(write).await.unwrap();
    shop.psql("shop", &[], "call public.fill(50, 2, 0, true)").succeed();
    late.batch_execute("commit").await.unwrap();
    shop.psql("shop", &[], "call public.fill(20, 10, 0, true)").succeed();

    let fresh = shop.client().await;
    let last = newest_tick(&shop).await.0;
    assert_eq!(last, 1 + 80 + 500 + 50 + 20);
    let cases = [
        ("in a large tick", "c", 1, 100, 64),
        ("among ticks of 1,000", "c", 40, 100, 56),
        // Three of each are for the question whether the log is a copy. A look into the index, and one at the
        // message, for each tick.
        ("among ticks of 2", "c", 300, 100, 300),
        ("late messages", "c", 632, 100, 60),
        ("at the end", "c", last - 5, 60, 64),
        // It tries to make a tick, too, which looks at the last one twice.
        ("nothing", "c", last + 1, 0, 150),
        ("at the beginning", "t", 1, 100, 60),
        ("in the middle", "t", 40, 100, 60),
        ("among transactions of 2", "t", 300, 100, 60),
        ("at the end", "t", last - 5, 60, 60),
        ("among ticks of 1,000", "p", 40, 100, 120),
        ("in a large tick", "p", 1, 100, 120),
    ];
    check([("early", &early), ("fresh", &fresh)], &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_page_is_acknowledged_without_a_look_at_the_rest() {
    let (shop, early) = prepared().await;
    shop.psql("shop", &[], "call public.fill(100, 1000, 1, true)").succeed();
    for consumer in ["c", "t"] {
        // The first round makes the plans.
        for limits in [[u64::MAX; 2], [108, 58]] {
            place(&early, consumer, 50).await;
            early.batch_execute("begin").await.unwrap();
            let first = format!("select min(position) from postrider.fetch_messages('{consumer}')");
            let first: i64 = early.query_one(&first, &[]).await.unwrap().get(0);
            let part = format!("select postrider.acknowledge('{consumer}', {})", first + 50);
            let rest = format!("select postrider.acknowledge('{consumer}', {})", first + 99);
            let touched = [buffers(&early, &part).await, buffers(&early, &rest).await];
            early.batch_execute("rollback").await.unwrap();
            println!("{consumer}: {touched:?}");
            let is_bounded = touched.iter().zip(limits).all(|(touched, limit)| *touched <= limit);
            assert!(is_bounded, "{consumer}: {touched:?}");
        }
    }
}

/// Every tick beside one that is never finished is made past it, and a reader that is far behind has all of them
/// before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_does_not_look_at_each_tick_that_was_made_past_another() {
    const PASSING: i64 = 300;
    let (shop, early) = prepared().await;
    shop.psql("shop", &[], "call public.fill(100, 2, 0, true); call public.fill(1, 2, 0, false)")
        .succeed();
    let fresh = shop.client().await;
    let mut before = Vec::new();
    for client in [&early, &fresh] {
        place(client, "c", 20).await;
        before.push(page(client, "c", 100).await);
    }
    let open = shop.client().await;
    open.batch_execute("begin").await.unwrap();
    tick(&open).await.expect("there is something new");
    shop.psql("shop", &[], &format!("call public.fill({PASSING}, 2, 0, true)")).succeed();
    let passing = "select count(*) from postrider.tick t where t.passes_after is not null";
    assert_eq!(shop.ask::<i64>(passing).await, PASSING);
    for (client, before) in [&early, &fresh].into_iter().zip(before) {
        let found = page(client, "c", 100).await;
        println!("before {before:?}, with {PASSING} ticks past another {found:?}");
        assert_eq!((found.0, found.2), (100, 0));
        // A look or two into each partition, wherever ticks that leave something out are asked for.
        assert!(found.1 <= before.1 + 150, "{} buffers, and {} before", found.1, before.1);
    }
    // What is in the tick that was passed is in the first one past it.
    let passed = "select upper(r) - lower(r) from unnest(postrider.passed_ticks(20)) r";
    assert_eq!(shop.ask::<i64>(passed).await, 1, "one tick does not count");
    open.batch_execute("commit").await.unwrap();
    let all = "select count(*) from postrider.fetch_messages('c', 1000)";
    place(&early, "c", 20).await;
    let expected = 2 * (100 - 19 + 1 + PASSING);
    assert_eq!(early.query_one(all, &[]).await.unwrap().get::<_, i64>(0), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_progress_is_not_looked_at() {
    let (shop, early) = prepared().await;
    shop.psql("shop", &[], "call public.fill(20, 10, 0, true); call public.fill(1, 1, 0, false)")
        .succeed();
    // This makes the plans.
    tick(&early).await.unwrap();
    let bulk = shop.client().await;
    bulk.batch_execute("begin").await.unwrap();
    for _ in 0..5 {
        let write = "insert into postrider.message (
                id, xid, lane, priority, targets, event_type, payload)
            select
                nextval('postrider.message_sequence') << 10, pg_current_xact_id(), 0, 0, '{1}',
                'order.placed', '{}'
            from generate_series(1, 10000)";
        bulk.batch_execute(write).await.unwrap();
        shop.psql("shop", &[], "call public.fill(1, 2, 0, false)").succeed();
    }
    // Those two and two and so on lie far apart.
    let touched = buffers(&early, "select postrider.tick()").await;
    assert!(touched < 150, "a tick beside 50,000 messages in progress touches {touched} buffers");
    let (sparse, is_sparse) = newest_tick(&shop).await;
    assert!(is_sparse);
    shop.psql("shop", &[], "call public.fill(1, 2, 0, false)").succeed();
    let touched = buffers(&early, "select postrider.tick()").await;
    assert!(touched < 150, "and the next one {touched}");

    let fresh = shop.client().await;
    let cases = [("sparse", "c", sparse, 12, 70), ("behind it", "c", sparse + 1, 2, 50)];
    check([("early", &early), ("fresh", &fresh)], &cases).await;
    bulk.batch_execute("commit").await.unwrap();
    // What is committed later is no more to be looked at in what came before.
    check([("early", &early), ("fresh", &fresh)], &cases).await;
    tick(&early).await;
    let cases = [("the large one", "c", sparse + 2, 100, 60)];
    check([("early", &early), ("fresh", &fresh)], &cases).await;
}
