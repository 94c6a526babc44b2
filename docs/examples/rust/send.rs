//! Places an order and tells others about it, in one transaction:
//!
//!     DATABASE_URL=postgres://… cargo run 1 lamp

use std::error::Error;
use std::time::Duration;

use postrider_client::{Error as PostriderError, MessageId, Options, Postrider};
use serde_json::json;
use tokio_postgres::{Client, NoTls};

type BoxError = Box<dyn Error + Send + Sync>;

async fn place(
    client: &mut Client,
    order: i64,
    item: &str,
) -> Result<(MessageId, MessageId), BoxError> {
    let payload = json!({ "order": order, "item": item });
    // Dropped before the commit, it is rolled back.
    let mut transaction = client.transaction().await?;
    let insert = "insert into orders (id, item) values ($1, $2) on conflict (id) do nothing";
    transaction.execute(insert, &[&order, &item]).await?;
    // Once for each order, however often this runs within 24 hours (idempotency_window).
    let key = format!("order {order}");
    let once = Options::new().idempotency_key(&key);
    // One endpoint.
    let sent = Postrider::send_with(&mut transaction, "warehouse", &payload, &once).await?;
    // All who subscribe to the event.
    let options = once
        .ordering_key(&key)
        .priority(5)
        .header("x-tenant", "acme")
        .expires_in(Duration::from_secs(3600));
    let published =
        Postrider::publish_with(&mut transaction, "order.placed", &payload, &options).await?;
    transaction.commit().await?;
    Ok((sent, published))
}

pub async fn run(url: &str, order: i64, item: &str) -> Result<String, BoxError> {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let error = match place(&mut client, order, item).await {
        Ok((sent, published)) => {
            return Ok(format!("order {order} placed, messages {sent} and {published}"));
        }
        Err(error) => error,
    };
    Err(match error.downcast_ref() {
        Some(PostriderError::QueueFull(_)) => "too many messages wait; try again later".into(),
        Some(PostriderError::IdempotencyConflict(_)) => {
            format!("order {order} was placed with another item").into()
        }
        _ => error,
    })
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let [_, order, item] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: orders ORDER ITEM".into());
    };
    println!("{}", run(&std::env::var("DATABASE_URL")?, order.parse()?, item).await?);
    Ok(())
}
