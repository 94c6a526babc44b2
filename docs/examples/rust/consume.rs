//! Keeps a table up to date with what the consumer `projection` reads, until Ctrl-C or SIGTERM:
//!
//!     DATABASE_URL=postgres://… cargo run

use std::error::Error;

use postrider_client::{Consumer, Poison};
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Deserialize)]
struct Order {
    order: i64,
    item: String,
}

pub async fn project(
    url: &str,
    shutdown: impl Future<Output = ()>,
) -> Result<(), postrider_client::Error> {
    Consumer::builder("projection")
        .url(url)
        .batch_size(500)
        .poison(Poison::Park { after: 10 })
        .on_trouble(|trouble| eprintln!("projection: {trouble}"))
        .build()?
        .run_until(shutdown, async |transaction, batch| {
            let insert = "insert into item_sold (order_id, item) values ($1, $2)";
            let insert = transaction.prepare(insert).await?;
            for message in batch {
                if message.message_type() == Some("order.placed") {
                    let Order { order, item } = message.json()?;
                    transaction.execute(&insert, &[&order, &item]).await?;
                }
            }
            // The transaction commits what this has written together with the acknowledgement.
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        })
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    };
    Ok(project(&std::env::var("DATABASE_URL")?, shutdown).await?)
}
