//! What tests of consumers need.

use tokio_postgres::Client;

use super::Shop;

/// A message as it was fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    pub position: i64,
    pub id: i64,
    pub tick: Option<i64>,
}

impl Shop {
    /// A server with the schema installed, the endpoint `a`, the event types `order.placed`,
    /// `order.paid` and `order_paid`, and ticks as often as they are asked for.
    pub async fn open_to_consumers() -> Shop {
        let shop = Shop::open_to_producers().await;
        shop.execute(
            "select postrider.set_setting('tick_interval_ms', '0');
            select postrider.create_event_type(name)
            from unnest(array['order.placed', 'order.paid', 'order_paid']) name",
        )
        .await;
        shop
    }
}

/// Makes a tick, if there is one to be made.
pub async fn tick(client: &Client) -> Option<i64> {
    client.query_one("select postrider.tick()", &[]).await.unwrap().get(0)
}

pub async fn fetch_with(client: &Client, arguments: &str) -> Vec<Fetched> {
    let sql =
        format!("select position, message_id, tick from postrider.fetch_messages({arguments})");
    let rows = client.query(&sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    rows.iter()
        .map(|row| Fetched { position: row.get(0), id: row.get(1), tick: row.get(2) })
        .collect()
}

/// The next messages of a consumer, in the transaction that is open or in one of its own.
pub async fn fetch(client: &Client, consumer: &str, limit: usize) -> Vec<Fetched> {
    fetch_with(client, &format!("'{consumer}', {limit}")).await
}

pub async fn acknowledge(client: &Client, consumer: &str, position: i64) {
    let sql = "select postrider.acknowledge($1, $2)";
    client.execute(sql, &[&consumer, &position]).await.unwrap();
}

/// Ticks, fetches and acknowledges until nothing comes any more: the ids, in order.
pub async fn drain(client: &Client, consumer: &str, limit: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    loop {
        let made = tick(client).await;
        client.batch_execute("begin").await.unwrap();
        let batch = fetch(client, consumer, limit).await;
        if let Some(last) = batch.last() {
            acknowledge(client, consumer, last.position).await;
        }
        client.batch_execute("commit").await.unwrap();
        ids.extend(batch.iter().map(|message| message.id));
        if batch.is_empty() && made.is_none() {
            return ids;
        }
    }
}

pub fn ids(batch: &[Fetched]) -> Vec<i64> {
    batch.iter().map(|message| message.id).collect()
}
