//! The RabbitMQ carrier, a dispatcher's side: it declares what there has to be, publishes executions to
//! the queues of their workers, and handles what expired there.
//!
//! Guarantees: nothing is dispatched while there is no connection, so executions stay requested; nothing
//! counts as published that the broker has not confirmed; a dead letter is acknowledged after what it
//! says is committed. Whatever gets lost in between comes back by the monitor, under a new fence, so that
//! a message that turns up later is refused.

mod address;
mod bell;
mod dead_letters;
mod envelope;
mod moment;
mod publisher;
mod publishing;
mod topology;

use std::{future::Future, time::Duration};

use lapin::Connection;
use postrider_store::{
    StoreError,
    fleet::{Access, OpenError},
    process::process_name,
};
use tokio::{sync::watch, task::JoinSet};

pub use self::address::{Address, AddressError, AmqpUrl, read_authorities};
use self::{dead_letters::Handler, publisher::Publisher};

/// What keeps the client out of the log, for it calls errors what we handle, and warn of if need be.
pub const QUIET: &str = "lapin=off";
/// How long the broker may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// AMQP's word for a close without a failure.
const SUCCESS: u16 = 200;

/// What went wrong with the broker.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// Its text says what its source says.
    #[error("{0}")]
    Amqp(lapin::Error),
    #[error("could not {0} within {1:?}")]
    Timeout(&'static str, Duration),
    #[error("the connection was closed")]
    Closed,
}

/// Why a connection to the broker is given up.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("asked to stop")]
    Stopped,
    #[error(transparent)]
    Database(#[from] StoreError),
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

impl From<lapin::Error> for BrokerError {
    fn from(error: lapin::Error) -> BrokerError {
        BrokerError::Amqp(error)
    }
}

impl From<lapin::Error> for End {
    fn from(error: lapin::Error) -> End {
        End::Broker(error.into())
    }
}

/// Why there is no connection to one of the two.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the database cannot be used")]
    Database(#[from] OpenError),
    #[error("RabbitMQ cannot be used")]
    Broker(#[from] BrokerError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Database(error.into())
    }
}

/// Starts publishing and handling dead letters. Each has a connection of its own to the broker, which
/// reads nothing, acknowledgements included, from one that publishes during an alarm.
pub fn start(
    tasks: &mut JoinSet<()>,
    access: Access,
    address: Address,
    is_asked_to_stop: watch::Receiver<bool>,
) {
    let (known, settings) = watch::channel(None);
    let handler = Handler::new(access.clone(), address.clone(), settings, is_asked_to_stop.clone());
    let publisher = Publisher::new(access, address, known, is_asked_to_stop, process_name());
    tasks.spawn(publisher.run());
    tasks.spawn(handler.run());
}

/// Waits for an answer of the broker, and not for ever.
async fn answer<T>(
    action: &'static str,
    asked: impl Future<Output = Result<T, lapin::Error>>,
) -> Result<T, BrokerError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
        Ok(answered) => Ok(answered?),
        Err(_) => Err(BrokerError::Timeout(action, ANSWER_TIMEOUT)),
    }
}

/// Closes a connection as it should be. One that does not answer any more is left to its heartbeats.
async fn close(connection: &Connection) {
    let closing = connection.close(SUCCESS, "stopped".into());
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
}
