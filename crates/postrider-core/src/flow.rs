//! How much an endpoint takes.

use crate::rate::Rate;

/// What may be in flight to an endpoint, and in memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Messages in flight at a time.
    pub concurrency: usize,
    pub rate: Option<Rate>,
    /// Messages in memory that wait for a place in flight; `None`: a few times the concurrency.
    pub max_in_memory: Option<usize>,
    /// It has a `max_queue_size`, which the database looks after.
    pub is_limited: bool,
}
