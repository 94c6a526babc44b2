//! What the keeper of a lease says of it.

use std::time::Instant;

use super::dispatcher::End;
use crate::lease::Heartbeat;

/// What the keeper tells its dispatcher.
#[derive(Debug)]
pub enum News {
    Renewed {
        asked: Instant,
        answered: Instant,
        heartbeat: Box<Heartbeat>,
    },
    /// The tenure is over.
    Over(End),
}
