//! Old partitions are dropped when consumers have read them, and not before, unless the settings say so.

use crate::shop::{
    Shop, changing_the_log,
    consuming::{acknowledge, drain, fetch, ids, tick},
    producing::id_of,
    serving::LONG,
};
use serde_json::json;
use tokio_postgres::Client;

const SEND: &str = "select postrider.send('a', '{\"n\": 1}')";

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// Makes the partition of the log that holds what is so many months old.
async fn old_month(client: &Client, months_ago: i32) -> String {
    let sql = "select 'message' || to_char(d.at, '_YYYY_MM'), d.at::timestamptz::text,
            (d.at + interval '1 month')::timestamptz::text
        from (
            select date_trunc('month', now() at time zone 'UTC') - make_interval(months => $1) as at
        ) d";
    run(client, "set timezone = 'UTC'").await;
    let row = client.query_one(sql, &[&months_ago]).await.unwrap();
    let (name, from, to): (String, String, String) = (row.get(0), row.get(1), row.get(2));
    run(
        client,
        &format!(
            "create table postrider.{name} partition of postrider.message
            for values from ('{from}') to ('{to}')"
        ),
    )
    .await;
    name
}

/// As if these had been sent, and put into ticks, so many months earlier.
async fn age(client: &Client, months: i32, condition: &str) {
    run(
        client,
        &changing_the_log(&format!(
            "update postrider.message m set created_at = created_at - interval '{months} months'
            where {condition};
            update postrider.tick
            set from_at = from_at - interval '{months} months'
            where from_at > now() - interval '1 month'"
        )),
    )
    .await;
}

async fn cleanup(client: &Client) -> i32 {
    let sql = "select postrider.cleanup_old_archive_partitions()";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn until_finished(shop: &Shop) {
    shop.until(
        "select not exists (
            select from postrider.message m where m.xid >= postrider.done_before())",
    )
    .await;
}

async fn holders(client: &Client) -> Vec<String> {
    let sql = "select coalesce(array_agg(distinct h.consumer_name order by h.consumer_name), '{}')
        from postrider.retention_holders() h";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn send_all(client: &Client, count: usize) -> Vec<i64> {
    let mut sent = Vec::new();
    for _ in 0..count {
        sent.push(id_of(client, SEND).await);
    }
    sent
}

/// A log with an old partition of six messages that have ended, and two newer messages.
async fn open(consumers: &str) -> (Shop, Client, Vec<i64>, String) {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.set_setting('archive_retention_months', '120')").await;
    run(&client, consumers).await;
    let name = old_month(&client, 9).await;
    let mut sent = send_all(&client, 6).await;
    tick(&client).await;
    sent.extend(send_all(&client, 2).await);
    let dispatcher = shop.serve().await;
    until_finished(&shop).await;
    dispatcher.sigterm();
    dispatcher.wait(LONG).await.unwrap();
    tick(&client).await;
    age(&client, 9, &format!("id <= {}", sent[5])).await;
    run(&client, "select postrider.set_setting('archive_retention_months', '6')").await;
    (shop, client, sent, name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_stays_until_every_consumer_has_read_it() {
    let consumers = "select postrider.create_consumer('c');
        select postrider.create_consumer('t', p_ordering => 'transaction');
        select postrider.create_consumer('split', p_partitions => 2);
        select postrider.create_consumer('other', array['never.*'])";
    let (shop, client, sent, name) = open(consumers).await;
    // One that reads none of it does not keep it, and one that comes now does not either.
    run(&client, "select postrider.create_consumer('now', p_start => 'now')").await;
    assert_eq!(holders(&client).await, ["c", "split", "t"]);
    let details: String = shop
        .ask("select h.details from postrider.health_check() h where h.component = 'consumers'")
        .await;
    assert!(
        details
            .contains(&format!("consumer c has not read partition {name}, which would have been")),
        "{details}"
    );
    assert_eq!(cleanup(&client).await, 0);

    // All but the last message of it.
    run(&client, "begin").await;
    let batch = fetch(&client, "c", 100).await;
    assert_eq!(ids(&batch), sent);
    acknowledge(&client, "c", batch[4].position).await;
    run(&client, "commit").await;
    assert_eq!(holders(&client).await, ["c", "split", "t"]);
    run(&client, "begin").await;
    fetch(&client, "c", 1).await;
    acknowledge(&client, "c", batch[5].position).await;
    assert_eq!(holders(&shop.client().await).await, ["c", "split", "t"], "not before it commits");
    run(&client, "commit").await;
    assert_eq!(holders(&client).await, ["split", "t"]);

    drain(&client, "t", 100).await;
    assert_eq!(holders(&client).await, ["split"]);
    // One partition of two.
    run(&client, "begin").await;
    let sql = "select max(f.position) from postrider.fetch_messages('split', p_partition => 0) f";
    let last: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    acknowledge(&client, "split", last).await;
    run(&client, "commit").await;
    assert_eq!((holders(&client).await, cleanup(&client).await), (vec!["split".to_owned()], 0));
    drain(&client, "split", 100).await;
    assert_eq!(holders(&client).await, [""; 0]);
    assert!(cleanup(&client).await >= 1);
    assert!(
        !shop.ask::<bool>(&format!("select to_regclass('postrider.{name}') is not null")).await
    );
    let warned = "select count(*) from postrider.event_log e
        where e.event = 'consumer.messages_dropped'";
    assert_eq!(shop.ask::<i64>(warned).await, 0);
    // The rest comes as before.
    assert_eq!(drain(&client, "c", 100).await, sent[6..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_consumer_retention_it_goes_all_the_same() {
    let consumers = "select postrider.create_consumer('c');
        select postrider.create_consumer('t', p_ordering => 'transaction')";
    let (shop, client, sent, name) = open(consumers).await;
    run(&client, "select postrider.set_setting('consumer_retention', '3000')").await;
    assert_eq!(cleanup(&client).await, 0);
    run(&client, "select postrider.set_setting('consumer_retention', '30')").await;
    assert_eq!(holders(&client).await, [""; 0], "nobody holds what will go");
    assert!(cleanup(&client).await >= 1);
    let details: serde_json::Value = shop
        .ask("select e.details from postrider.event_log e where e.event = 'consumer.messages_dropped'")
        .await;
    assert_eq!(details, json!({ "by": "postgres", "consumers": ["c", "t"], "partition": name }));

    // What is left comes, to all in the same order, late joiners and those that begin again included.
    for name in ["c", "t"] {
        assert_eq!(drain(&client, name, 100).await, sent[6..], "{name}");
        run(&client, &format!("select postrider.reset_consumer('{name}', 'beginning')")).await;
        assert_eq!(drain(&client, name, 100).await, sent[6..], "{name}");
        assert_eq!(
            shop.refusal(&format!("select postrider.reset_consumer('{name}', '{}')", sent[2]))
                .await,
            "42704"
        );
        run(&client, &format!("select postrider.reset_consumer('{name}', '{}')", sent[7])).await;
        assert_eq!(drain(&client, name, 100).await, sent[7..], "{name}");
    }
    run(&client, "select postrider.create_consumer('late')").await;
    assert_eq!(drain(&client, "late", 100).await, sent[6..]);
}

/// A transaction that was in progress at the last tick, and never wrote, keeps nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_consumer_at_the_end_keeps_nothing() {
    let shop = Shop::open_to_consumers().await;
    let (client, long) = (shop.client().await, shop.client().await);
    run(
        &client,
        "select postrider.set_setting('archive_retention_months', '120');
        select postrider.create_consumer('c');
        select postrider.create_consumer('filtered', p_filter => '{\"n\": 7}')",
    )
    .await;
    old_month(&client, 9).await;
    run(&long, "begin; select pg_current_xact_id()").await;
    let sent = send_all(&client, 3).await;
    tick(&client).await;
    for name in ["c", "filtered"] {
        drain(&client, name, 100).await;
    }
    run(&long, SEND).await;
    run(&long, "commit").await;
    let dispatcher = shop.serve().await;
    until_finished(&shop).await;
    drop(dispatcher);
    run(&client, "select postrider.set_setting('archive_retention_months', '6')").await;
    age(&client, 9, &format!("id <= {}", sent[2])).await;
    assert_eq!(holders(&client).await, [""; 0]);
    // Its own message is in no tick that was read, and old all of a sudden.
    age(&client, 9, &format!("id > {}", sent[2])).await;
    assert_eq!(holders(&client).await, ["c"]);
    assert_eq!(cleanup(&client).await, 0);
}

/// The next ticks of a consumer are gone, or all of them are.
#[tokio::test]
async fn a_consumer_whose_ticks_are_gone_goes_on_with_the_next() {
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(&client, "select postrider.create_consumer('c')").await;
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.extend(send_all(&client, 2).await);
        tick(&client).await;
    }
    run(&client, "begin").await;
    let batch = fetch(&client, "c", 1).await;
    acknowledge(&client, "c", batch[0].position).await;
    run(&client, "commit").await;
    // Their numbers are far apart.
    run(
        &client,
        &format!(
            "delete from postrider.message where id <= {};
            delete from postrider.tick where id <= 3;
            update postrider.tick set id = id + 1000000;
            select setval('postrider.tick_sequence', 1000005)",
            sent[5]
        ),
    )
    .await;
    let lag: i64 =
        shop.ask("select c.lag_messages from postrider.consumers c where c.name = 'c'").await;
    assert_eq!(lag, 4);
    assert_eq!(ids(&fetch(&client, "c", 100).await), sent[6..], "at the first attempt");
    assert_eq!(drain(&client, "c", 100).await, sent[6..]);

    run(&client, "delete from postrider.message; delete from postrider.tick").await;
    assert_eq!(fetch(&client, "c", 100).await, []);
    let new = send_all(&client, 2).await;
    assert_eq!(tick(&client).await, Some(1_000_006));
    assert_eq!(ids(&fetch(&client, "c", 100).await), new);
}

/// What a consumer and its members do in a while: it begins anew, fails, reads all, looks in vain, and leases.
async fn work(client: &Client) {
    run(client, "select postrider.reset_consumer('c'), postrider.reset_consumer('t')").await;
    for partition in [0, 0, 1, 1] {
        run(client, &format!("select postrider.begin_batch('c', {partition}, 5)")).await;
    }
    for name in ["c", "t"] {
        drain(client, name, 5).await;
    }
    // A look is noted every ten seconds.
    let later =
        "update postrider.consumer_position set fetched_at = fetched_at - interval '1 minute'";
    run(client, later).await;
    for name in ["c", "t"] {
        assert_eq!(fetch(client, name, 1).await, []);
    }
    let member = "00000000-0000-0000-0000-000000000001";
    for _ in 0..3 {
        run(client, &format!("select postrider.lease_partitions('c', '{member}', '1 hour')")).await;
    }
    run(client, &format!("select postrider.release_partitions('c', '{member}')")).await;
    run(client, &format!("select postrider.lease_partitions('c', '{member}', '1 hour')")).await;
    // One that is never seen again.
    run(client, "select postrider.lease_partitions('c', gen_random_uuid())").await;
    let later = format!(
        "update postrider.consumer_lease set lease_until = lease_until - interval '1 hour'
        where member <> '{member}'"
    );
    run(client, &later).await;
}

/// No dispatcher runs: consumers make their ticks themselves, and senders are refused when the log is full.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_dispatcher_what_consumers_write_stays_level() {
    const ROUNDS: usize = 6;
    const SENT: i64 = 20;
    let shop = Shop::open_to_consumers().await;
    let client = shop.client().await;
    run(
        &client,
        "select postrider.set_setting('max_queue_size', '40');
        select postrider.create_consumer('c', p_partitions => 2);
        select postrider.create_consumer('t', p_ordering => 'transaction')",
    )
    .await;
    let count = "select array[
            (select count(*) from postrider.message),
            (select count(*) from postrider.tick),
            (select count(*) from postrider.consumer_position),
            (select count(*) from postrider.consumer_attempt),
            (select count(*) from postrider.consumer_lease)]";
    let mut seen: Vec<Vec<i64>> = Vec::new();
    for _ in 0..ROUNDS {
        for _ in 0..SENT {
            if let Err(error) = client.batch_execute(SEND).await {
                assert_eq!(error.code().map(|code| code.code()), Some("53400"), "{error:?}");
            }
            tick(&client).await;
        }
        work(&client).await;
        seen.push(shop.ask(count).await);
    }
    assert!(seen[0][0] >= SENT && seen[1][0] > seen[0][0], "{seen:?}");
    // The log is full from the third round on.
    assert!(seen[3..].iter().all(|sizes| sizes[..2] == seen[2][..2]), "{seen:?}");
    for sizes in &seen {
        assert!(sizes[1] <= 2 * sizes[0], "ticks without messages: {seen:?}");
        // One for each partition, and one for each member: who leases, and who came last.
        assert_eq!(sizes[2..], [3, 2, 2], "{seen:?}");
    }
}
