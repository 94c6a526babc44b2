//! A log that comes from another cluster is brought into this one's transaction ids: a large one, and one
//! with consumers in the middle of it.

use std::time::Instant;

use crate::shop::{
    Shop, changing_the_log,
    consuming::{acknowledge, drain, fetch, tick},
    producing::id_of,
};
use postrider::store::lease;
use tokio_postgres::Client;

const SESSION: &str = include_str!("../../../sql/queries/dispatcher_session.sql");
const FINISHED: i64 = 100_000;
const UNFINISHED: i64 = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_log_is_rebased_within_a_dispatchers_limits() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    shop.send_many("sink", FINISHED as usize).await;
    let dispatcher = shop.serve().await;
    let count = "select coalesce(sum(octet_length(d.offsets) / 2), 0) from postrider.done d";
    shop.until(&format!("select ({count}) = {FINISHED}")).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(crate::shop::serving::LONG).await.unwrap().success());
    shop.send_many("sink", UNFINISHED as usize).await;
    // As if the counter of this cluster stood far behind.
    let ahead = "update postrider.message set xid = ((xid::text)::bigint + 1000000000)::text::xid8";
    shop.execute(&changing_the_log(ahead)).await;

    let client = shop.client().await;
    client.batch_execute(SESSION).await.unwrap();
    assert!(lease::is_foreign(&client).await.unwrap());
    let began = Instant::now();
    let unfinished = lease::rebase(&client).await;
    println!("re-based {} messages in {:?}", FINISHED + UNFINISHED, began.elapsed());
    assert_eq!(unfinished.unwrap(), Some(UNFINISHED));
    assert!(began.elapsed() < crate::shop::serving::LONG / 2, "{:?}", began.elapsed());
    assert!(!lease::is_foreign(&client).await.unwrap());
    assert_eq!(lease::rebase(&client).await.unwrap(), None, "once is enough");

    let _dispatcher = shop.serve().await;
    shop.until(&format!("select ({count}) >= {}", FINISHED + UNFINISHED)).await;
    assert_eq!(shop.ask::<i64>(&format!("select ({count})::bigint")).await, FINISHED + UNFINISHED);
}

/// All that a consumer gets, whichever of its partitions has something.
async fn drain_all(client: &Client, consumer: &str) -> Vec<i64> {
    let mut ids = Vec::new();
    loop {
        let more = drain(client, consumer, 3).await;
        if more.is_empty() {
            return ids;
        }
        ids.extend(more);
    }
}

/// Fetches and acknowledges so many.
async fn read(client: &Client, consumer: &str, count: usize) {
    client.batch_execute("begin").await.unwrap();
    let batch = fetch(client, consumer, count).await;
    assert_eq!(batch.len(), count, "{consumer}");
    acknowledge(client, consumer, batch[count - 1].position).await;
    client.batch_execute("commit").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_go_on_where_they_were() {
    const COMMIT: [&str; 8] =
        ["begun", "inside", "all", "none", "split", "now", "from", "filtered"];
    const TRANSACTION: [&str; 4] = ["t_begun", "t_all", "t_none", "t_now"];
    let shop = Shop::open_to_consumers().await;
    let (client, early) = (shop.client().await, shop.client().await);
    let burn = "do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop;
        end $$";
    client.batch_execute(burn).await.unwrap();
    client
        .batch_execute(
            "select postrider.create_consumer(name)
            from unnest(array['begun', 'inside', 'all', 'none', 'idle']) name;
            select postrider.create_consumer('split', p_partitions => 3);
            select postrider.create_consumer('filtered', p_filter => '{\"n\": 2}');
            select postrider.create_consumer(name, p_ordering => 'transaction')
            from unnest(array['t_begun', 't_all', 't_none']) name",
        )
        .await
        .unwrap();
    let send = async |from: i64, to: i64| {
        for n in from..to {
            // Some transactions have several messages.
            let sql = format!(
                "select postrider.send('a', '{{\"n\": {}}}')
                from generate_series(1, 1 + {n} % 3)",
                n % 4
            );
            client.batch_execute(&sql).await.unwrap();
            if n % 5 == 0 {
                tick(&client).await;
            }
        }
    };

    // Some of it has ended, some has not.
    let dispatcher = shop.serve().await;
    early.batch_execute("begin").await.unwrap();
    let late = id_of(&early, "select postrider.send('a', '{\"n\": 1}')").await;
    send(0, 20).await;
    let ended = "select not exists (
        select from postrider.message m where not postrider.is_done(m.id))";
    shop.until(ended).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(crate::shop::serving::LONG).await.unwrap().success());
    send(20, 40).await;
    tick(&client).await;
    let middle = id_of(&client, "select id from postrider.message order by id offset 50 limit 1");
    let middle = middle.await;
    let starts = format!(
        "select postrider.create_consumer('from', p_start => '{middle}');
        select postrider.create_consumer('now', p_start => 'now');
        select postrider.create_consumer('t_now', p_start => 'now', p_ordering => 'transaction')"
    );
    client.batch_execute(&starts).await.unwrap();
    read(&client, "begun", 30).await;
    read(&client, "inside", 32).await;
    read(&client, "split", 5).await;
    read(&client, "split", 4).await;
    read(&client, "filtered", 3).await;
    early.batch_execute("commit").await.unwrap();
    read(&client, "t_begun", 31).await;
    send(40, 50).await;
    assert!(drain(&client, "all", 100).await.contains(&late));
    drain(&client, "t_all", 100).await;
    send(50, 53).await;
    drain(&client, "idle", 100).await;

    let dump = shop.dump_all("shop");
    let younger = Shop::open().await;
    younger.psql("shop", &[], &dump).succeed();
    let restored = younger.client().await;
    // The same for all that follows in both: what was not read at the time of the dump, and what comes.
    let lags = "select array_agg(c.message_count order by c.name, c.partition)
        from postrider.consumers c";
    let before = client.query_one(lags, &[]).await.unwrap().get::<_, Vec<i64>>(0);
    assert!(younger.ask::<bool>("select postrider.is_foreign()").await);
    let error = restored.query_one("select postrider.tick()", &[]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55000");
    // Somebody sends before any dispatcher has started.
    let native = id_of(&restored, "select postrider.send('a', '{\"n\": 2}')").await;

    let dispatcher = younger.serve().await;
    younger.until("select not postrider.is_foreign()").await;
    dispatcher.sigterm();
    dispatcher.wait(crate::shop::serving::LONG).await.unwrap();
    assert_eq!(restored.query_one(lags, &[]).await.unwrap().get::<_, Vec<i64>>(0), before);
    let new = id_of(&restored, "select postrider.send('a', '{\"n\": 2}')").await;
    assert_eq!(drain_all(&restored, "idle").await, [native, new]);
    for name in COMMIT.into_iter().chain(TRANSACTION) {
        let mut expected = drain_all(&client, name).await;
        expected.extend([native, new]);
        let lag: i64 = younger
            .ask(&format!(
                "select sum(c.lag_messages)::bigint from postrider.consumers c
                where c.name = '{name}'"
            ))
            .await;
        let mut found = drain_all(&restored, name).await;
        assert_eq!(lag, i64::try_from(found.len()).unwrap(), "{name}");
        if COMMIT.contains(&name) && name != "split" {
            assert!(found.is_sorted(), "{name}: {found:?}");
        }
        if TRANSACTION.contains(&name) {
            assert_eq!(found.last(), Some(&new), "{name}");
        }
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }

    // Who begins again gets all of it, and goes on as everybody does.
    for name in ["inside", "t_begun"] {
        let reset = format!("select postrider.reset_consumer('{name}', 'beginning')");
        restored.batch_execute(&reset).await.unwrap();
        let mut found = drain(&restored, name, 100).await;
        found.sort_unstable();
        let every: Vec<i64> =
            younger.ask("select array_agg(m.id order by m.id) from postrider.message m").await;
        assert_eq!(found, every, "{name}");
    }
}
