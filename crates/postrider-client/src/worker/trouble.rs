//! What a worker has to say while it goes on.

use std::fmt;

use crate::Error;
use crate::consumer::trouble::describe;

/// What went wrong while a worker goes on: for your log. See
/// [`WorkerBuilder::on_trouble`](crate::WorkerBuilder::on_trouble).
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerTrouble {
    /// A connection could not be made or was lost, or the database refuses for now. It is tried again;
    /// the same is told again when it has worked in between.
    Database {
        /// Why.
        error: Error,
    },
    /// RabbitMQ could not be reached, or the connection was lost, or the worker's queue is not there yet. It
    /// is tried again; the same is told again when it has worked in between.
    Broker {
        /// Why.
        error: String,
    },
    /// A message in the worker's queue could not be read. It goes to the dead letter queue.
    Unreadable {
        /// Why.
        error: String,
    },
    /// The worker was taken for lost. What it was running was stopped, and it registers again.
    Lost {
        /// How many executions it was running.
        running_count: usize,
    },
    /// A handler has ended and its result does not count: the execution has ended otherwise (its deadline
    /// has passed, or it was cancelled), or others have it by now.
    NotCounted {
        /// The execution.
        execution: i64,
        /// What it was to do.
        action: String,
    },
    /// What a handler has returned could not be recorded. The execution ends by its deadline.
    NotRecorded {
        /// The execution.
        execution: i64,
        /// What it was to do.
        action: String,
        /// Why.
        error: Error,
    },
    /// A handler did not let go when it was to stop, because it does not await anything.
    Stuck {
        /// How many there are.
        handler_count: usize,
    },
}

impl fmt::Display for WorkerTrouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { error } => formatter.write_str(&describe(error)),
            Self::Broker { error } => write!(formatter, "RabbitMQ: {error}"),
            Self::Unreadable { error } => {
                write!(formatter, "a message goes to the dead letter queue unread: {error}")
            }
            Self::Lost { running_count } => write!(
                formatter,
                "the worker was taken for lost while it ran {running_count} executions"
            ),
            Self::NotCounted { execution, action } => write!(
                formatter,
                "the result of execution {execution} ({action}) does not count any more"
            ),
            Self::NotRecorded { execution, action, error } => write!(
                formatter,
                "the result of execution {execution} ({action}) could not be recorded: {}",
                describe(error)
            ),
            Self::Stuck { handler_count } => {
                write!(formatter, "{handler_count} handlers do not let go")
            }
        }
    }
}

/// What else a worker has to say: for your log. See
/// [`WorkerBuilder::on_event`](crate::WorkerBuilder::on_event).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent {
    /// The worker has its name, and takes executions from now on. Comes again when it was lost meanwhile.
    Registered {
        /// The id that belongs to the name: with RabbitMQ its queue is `worker.{id}.executions`.
        worker_id: i32,
    },
    /// All connections to the database work again.
    DatabaseRestored,
    /// The worker's queue in RabbitMQ is read again.
    BrokerRestored,
}

impl fmt::Display for WorkerEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { worker_id } => write!(formatter, "registered as worker {worker_id}"),
            Self::DatabaseRestored => formatter.write_str("the database answers again"),
            Self::BrokerRestored => formatter.write_str("RabbitMQ can be reached again"),
        }
    }
}
