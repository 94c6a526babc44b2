//! A tenure: the dispatcher and the machines that it is made of.
//!
//! It is a value. It is told the time and what came in, and says what is to be done. Whoever drives it has the
//! connections, the tasks and the clock. What passes between the two is [`command`].

mod account;
mod chore;
mod claims;
mod clock;
pub mod command;
mod delivery;
mod dispatcher;
mod endpoints;
mod expiry;
mod figures;
mod flush;
mod followers;
mod hands;
mod lanes;
mod loans;
mod news;
mod orphans;
mod pending;
mod policies;
mod queue;
mod recorder;
mod settings;
mod settlement;
mod signal;
mod silence;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod tenancy;
#[cfg(test)]
mod tests;
mod upkeep;
mod watching;

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

pub use self::{
    clock::Clock,
    delivery::{Delivery, Message, Source},
    dispatcher::{Dispatcher, End, Goodbye, Identity, TICK_ROWS},
    endpoints::{Endpoints, Seated},
    flush::Gathered,
    lanes::TickGroup,
    news::News,
    settings::Settings,
    settlement::Settlement,
    signal::Signal,
    silence::Silence,
    tenancy::beat_interval,
};
use crate::id::{MessageId, Target};

/// How much a dispatcher takes in, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How long what is in flight may take when the process is asked to stop.
    pub shutdown_grace: Duration,
    /// Messages in memory that wait for a place in flight.
    pub max_buffered_messages: usize,
    /// How long a result waits for others before it is recorded.
    pub flush_interval: Duration,
    /// The longest pause between two looks at the log while we cannot sleep.
    pub poll_interval: Duration,
}

/// A tenure that is over, as far as the next one may know it.
#[derive(Debug, Clone)]
pub struct Tenure {
    pub id: Uuid,
    /// Deliveries that were in memory and certainly not attempted.
    pub spared: Arc<Vec<(MessageId, Target)>>,
}
