//! A large log that comes from another cluster is brought into this one's transaction ids.

mod shop;

use std::time::Instant;

use postrider::store::lease;
use shop::Shop;

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
    assert!(dispatcher.wait(shop::serving::LONG).await.unwrap().success());
    shop.send_many("sink", UNFINISHED as usize).await;
    // As if the counter of this cluster stood far behind.
    let ahead = "update postrider.message set xid = ((xid::text)::bigint + 1000000000)::text::xid8";
    shop.execute(ahead).await;

    let client = shop.client().await;
    client.batch_execute(SESSION).await.unwrap();
    assert!(lease::is_foreign(&client).await.unwrap());
    let began = Instant::now();
    let unfinished = lease::rebase(&client).await;
    println!("re-based {} messages in {:?}", FINISHED + UNFINISHED, began.elapsed());
    assert_eq!(unfinished.unwrap(), Some(UNFINISHED));
    assert!(began.elapsed() < shop::serving::LONG / 2, "{:?}", began.elapsed());
    assert!(!lease::is_foreign(&client).await.unwrap());
    assert_eq!(lease::rebase(&client).await.unwrap(), None, "once is enough");

    let _dispatcher = shop.serve().await;
    shop.until(&format!("select ({count}) >= {}", FINISHED + UNFINISHED)).await;
    assert_eq!(shop.ask::<i64>(&format!("select ({count})::bigint")).await, FINISHED + UNFINISHED);
}
