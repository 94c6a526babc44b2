//! What was taken and is not written down as taken yet, and when that is next written down.

use std::time::{Duration, Instant};

use super::{chore::Chore, delivery::Delivery, endpoints::Seated};
use crate::id::{MessageId, Shard};

/// A checkpoint that says no more than that things are finished is written so often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(500);
/// So often senders are told how full the log is.
const GATE_INTERVAL: Duration = Duration::from_millis(200);

/// A delivery, by where it goes once it is written down as taken.
#[derive(Debug)]
pub enum Placed {
    /// Into the endpoint's queue.
    Queue(Seated),
    /// Into the lag's own hands.
    Held(Delivery),
    /// Into the table of waiting deliveries, until it is due, or has room, or its turn.
    Aside(Delivery),
    /// Nowhere before all endpoints are known.
    Orphan(Delivery),
}

impl Placed {
    pub fn delivery(&self) -> &Delivery {
        match self {
            Placed::Queue(seated) => seated,
            Placed::Held(delivery) | Placed::Aside(delivery) | Placed::Orphan(delivery) => delivery,
        }
    }
}

#[derive(Debug)]
pub struct Claims {
    unclaimed: Vec<Placed>,
    /// What the checkpoint that is under way claims.
    claiming: Vec<Placed>,
    is_claiming: bool,
    /// Since when there is something to say in a checkpoint, or was when the last one was written.
    news_since: Option<Instant>,
    /// Tells senders how full the log is.
    gate: Chore,
}

impl Claims {
    pub fn new(now: Instant) -> Claims {
        Claims {
            unclaimed: Vec::new(),
            claiming: Vec::new(),
            is_claiming: false,
            news_since: None,
            gate: Chore::due(now),
        }
    }

    pub fn add(&mut self, placed: Placed) {
        self.unclaimed.push(placed);
    }

    /// How much is not written down, besides what is being written.
    pub fn waiting_count(&self) -> usize {
        self.unclaimed.len()
    }

    pub fn is_claiming(&self) -> bool {
        self.is_claiming
    }

    /// Nothing is to be claimed and nothing is being claimed.
    pub fn is_empty(&self) -> bool {
        !self.is_claiming && self.unclaimed.is_empty()
    }

    /// Whether something of the shard is to be claimed.
    pub fn has_any_of(&self, shard: Shard) -> bool {
        self.unclaimed.iter().any(|placed| placed.delivery().shard() == shard)
    }

    /// All of which it is not on record that it was taken.
    pub fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        self.unclaimed.iter().chain(&self.claiming).map(Placed::delivery)
    }

    /// Takes out what is not claimed any more.
    pub fn extract(&mut self, is_wanted: impl Fn(&Delivery) -> bool) -> Vec<Placed> {
        self.unclaimed.extract_if(.., |placed| is_wanted(placed.delivery())).collect()
    }

    // Checkpoints -----------------------------------------------------------------------------------

    /// There is something new to say, which may wait for more of it.
    pub fn note_news(&mut self, now: Instant) {
        self.news_since.get_or_insert(now);
    }

    /// There is something new to say at once.
    pub fn hurry(&mut self, now: Instant) {
        self.news_since = Some(now - CHECKPOINT_INTERVAL);
    }

    /// When a checkpoint is due that claims nothing.
    pub fn wake_at(&self) -> Option<Instant> {
        let at = self.news_since.map(|since| since + CHECKPOINT_INTERVAL);
        at.filter(|_| !self.is_claiming)
    }

    /// One checkpoint at a time: at once when it claims something.
    pub fn is_due(&self, now: Instant) -> bool {
        let is_time = self.wake_at().is_some_and(|at| now >= at);
        !self.is_claiming && (is_time || !self.unclaimed.is_empty())
    }

    /// There is nobody to write it for.
    pub fn pass(&mut self) {
        self.news_since = None;
    }

    /// Begins a checkpoint; the messages that it claims.
    pub fn begin(&mut self, now: Instant) -> Vec<MessageId> {
        self.is_claiming = true;
        self.news_since = (!self.unclaimed.is_empty()).then_some(now);
        self.claiming = std::mem::take(&mut self.unclaimed);
        self.claiming.iter().map(|placed| placed.delivery().message.id).collect()
    }

    /// Whether a checkpoint tells senders how full the log is.
    pub fn take_gate_turn(&mut self, now: Instant) -> bool {
        self.gate.take_turn(now, now + GATE_INTERVAL)
    }

    /// A checkpoint is written; what it has claimed.
    pub fn end(&mut self) -> Vec<Placed> {
        self.is_claiming = false;
        std::mem::take(&mut self.claiming)
    }

    /// Nothing was written: it is all claimed again.
    pub fn abandon(&mut self) {
        let claimed = self.end();
        self.unclaimed.extend(claimed);
    }
}

#[cfg(test)]
mod tests;
