//! Worker fleets: what a dispatcher does for executions.
//!
//! Every dispatcher watches over them ([`monitor`]); one that knows a RabbitMQ carries them to its
//! workers and handles what expires there ([`rabbitmq`]). All of it has connections of its own, so that
//! it and the deliveries of messages do not disturb each other. Any number of dispatchers may do the
//! same at once: what they do is compare-and-set in the database.

/// Looks whether something is due or lost.
mod monitor;
/// Carries executions to workers behind a broker.
pub mod rabbitmq;
/// How often trouble that lasts is told.
mod trouble;

use std::time::Duration;

use postrider_core::backoff::Backoff;
use postrider_store::{connect::Connector, fleet::Access};
use serde_json::Value;
use tokio::{sync::watch, task::JoinSet};
use tracing::warn;

use self::rabbitmq::Address;

/// How long a task waits at least and at most before it tries again what has failed.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// How long a stop may take, with a broker or a database that does not answer.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// What `pg_stat_activity` calls the connections. Sessions of tenures are called `postrider` and an id.
const APPLICATION_NAME: &str = "postrider-fleet";

/// Looks after executions until `is_asked_to_stop` turns true, and a little longer to finish. The schema has to be that of
/// this program with the options of these transports.
pub async fn run(
    connector: Connector,
    transport_options: Value,
    broker: Option<Address>,
    is_asked_to_stop: watch::Receiver<bool>,
) {
    let access = Access::new(connector.named(APPLICATION_NAME), transport_options);
    let mut tasks = JoinSet::new();
    // What it is at when told to stop is one statement, which ends or does not.
    let watching = monitor::run(access.clone(), broker.is_some());
    let is_asked = is_asked_to_stop.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = watching => {}
            () = asked(&is_asked) => {}
        }
    });
    if let Some(address) = broker {
        rabbitmq::start(&mut tasks, access, address, is_asked_to_stop.clone());
    }
    asked(&is_asked_to_stop).await;
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_LIMIT, ended).await.is_err() {
        warn!("looking after executions was broken off, for it did not come to its end in time");
    }
}

fn backoff() -> Backoff {
    Backoff::new(SHORTEST_BACKOFF, LONGEST_BACKOFF)
}

/// Waits until the process is asked to stop.
async fn asked(is_asked_to_stop: &watch::Receiver<bool>) {
    // Without a sender there is nothing left to wait for.
    let _ = is_asked_to_stop.clone().wait_for(|is_asked| *is_asked).await;
}

/// Waits so long, or until the process is asked to stop; says whether it is.
async fn pause(duration: Duration, is_asked_to_stop: &watch::Receiver<bool>) -> bool {
    tokio::time::timeout(duration, asked(is_asked_to_stop)).await.is_ok()
}
