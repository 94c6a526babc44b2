//! Publishing a batch: all of it is on its way before the first confirmation is awaited.

use futures_util::future::join_all;
use lapin::{Channel, Confirmation, options::BasicPublishOptions};
use postrider_store::fleet::Dispatched;

use super::{
    BrokerError, envelope,
    topology::{EXCHANGE, routing_key},
};

/// What became of a batch. What is in neither list the broker has refused: it comes back by the monitor.
#[derive(Debug, Default)]
pub struct Published {
    /// The broker has them.
    pub confirmed: Vec<Dispatched>,
    /// There was no queue for them.
    pub returned: Vec<Dispatched>,
    pub refused_count: usize,
    /// How many there were.
    pub count: usize,
    /// It is the second time for these.
    pub is_repeated: bool,
    /// Why nothing is known about the others.
    pub error: Option<BrokerError>,
}

/// Publishes all of them and waits until the broker has answered for each.
pub async fn publish(channel: Channel, batch: Vec<Dispatched>, is_repeated: bool) -> Published {
    let (channel, count) = (&channel, batch.len());
    let publications = batch.into_iter().map(|execution| async move {
        let confirmed = publish_one(channel, &execution).await;
        (execution, confirmed)
    });
    let mut published = Published { count, is_repeated, ..Published::default() };
    for (execution, confirmed) in join_all(publications).await {
        match confirmed {
            Ok(Confirmation::Ack(None)) => published.confirmed.push(execution),
            Ok(Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_))) => {
                published.returned.push(execution);
            }
            Ok(Confirmation::Nack(None) | Confirmation::NotRequested) => {
                published.refused_count += 1;
            }
            Err(error) => published.error = Some(error.into()),
        }
    }
    published
}

async fn publish_one(
    channel: &Channel,
    execution: &Dispatched,
) -> Result<Confirmation, lapin::Error> {
    let (body, properties) = envelope::write(execution);
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let key = routing_key(execution.worker_id);
    channel.basic_publish(EXCHANGE.into(), key.into(), options, &body, properties).await?.await
}
