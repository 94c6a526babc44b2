//! A delivery in memory: one message on its way to one target.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use crate::{
    chains::Link,
    id::{EndpointId, Lane, MessageId, Priority, Shard, Target},
    message::{Content, LogMessage, Payload, Terms},
    timestamp::Timestamp,
    waiting::DueDelivery,
};

/// A message that was read, shared by its deliveries.
#[derive(Debug)]
pub struct Message {
    pub id: MessageId,
    pub terms: Terms,
    pub content: Content,
    pub has_many_targets: bool,
    open: AtomicU32,
}

/// Where a delivery came from, which is where its end is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Read from the log, in this segment of this lane.
    Log { lane: Lane, segment: u64 },
    /// A row of `postrider.deferred`, which stays until the delivery ends.
    Deferred,
}

/// One delivery, which is a token: it is moved from hand to hand, and whoever has it last says what became of it (see
/// [`Settlement`](super::settlement::Settlement)).
#[derive(Debug)]
#[must_use]
pub struct Delivery {
    pub message: Arc<Message>,
    pub target: Target,
    pub endpoint: EndpointId,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub source: Source,
    /// When a waiting delivery was claimed: others go by that for a while only.
    pub claimed_at: Option<Instant>,
    /// The epoch of its shard when it was read: results of another epoch are nobody's.
    pub epoch: i64,
}

impl Message {
    pub fn new(row: LogMessage) -> Arc<Message> {
        let target_count = row.targets.as_slice().len() as u32;
        Arc::new(Message {
            id: row.id,
            terms: row.terms,
            content: row.content,
            has_many_targets: target_count > 1,
            open: AtomicU32::new(target_count),
        })
    }

    /// Notes that one delivery is over; whether it was the last of those that were read with it.
    pub fn close_one(&self) -> bool {
        self.open.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

impl Delivery {
    pub fn due(row: DueDelivery, epoch: i64) -> Delivery {
        let message = Message {
            id: row.id,
            terms: row.terms,
            content: row.content,
            has_many_targets: row.has_many_targets,
            open: AtomicU32::new(1),
        };
        Delivery {
            message: Arc::new(message),
            target: row.target,
            endpoint: row.endpoint,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            source: Source::Deferred,
            claimed_at: None,
            epoch,
        }
    }

    /// What names it: each of its message's deliveries has a target of its own.
    pub fn place(&self) -> (MessageId, Target) {
        (self.message.id, self.target)
    }

    pub fn shard(&self) -> Shard {
        self.message.id.lane().shard()
    }

    pub fn priority(&self) -> Priority {
        self.message.terms.priority
    }

    /// Its place in the chain of its ordering key.
    pub fn link(&self) -> Option<Link> {
        let key = Arc::clone(self.message.terms.ordering_key.as_ref()?);
        Some(Link { key, id: self.message.id, endpoint: self.endpoint })
    }

    /// KiB that are in memory only while it is sent: its payload, unless that came along with the message.
    pub fn weight(&self) -> usize {
        match self.message.content.payload {
            Payload::Stored { bytes } => bytes as usize / 1024 + 1,
            _ => 0,
        }
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.message.terms.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Until when it must not be attempted, if that is not over.
    pub fn scheduled_after(&self, now: Timestamp) -> Option<Timestamp> {
        self.message.terms.scheduled_at.filter(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::tests::{read, sent, unkeyed, waiting};

    #[test]
    fn the_last_delivery_of_a_message_that_is_over_says_so() {
        for count in 1..5 {
            let targets: Vec<Target> = (1..=count).map(Target).collect();
            let deliveries = read(sent(unkeyed(1), &targets));
            assert_eq!(deliveries[0].message.has_many_targets, count > 1);
            let is_last = deliveries.iter().map(|delivery| delivery.message.close_one());
            let expected = (1..=count).map(|number| number == count);
            assert!(is_last.eq(expected), "{count}");
        }
        // One that waits is alone in memory, whatever other targets its message has.
        let row = DueDelivery { has_many_targets: true, ..unkeyed(1) };
        assert!(Delivery::due(row, 1).message.close_one());
    }

    #[test]
    fn a_payload_weighs_something_when_it_is_fetched() {
        let weight = |payload| {
            let mut row = unkeyed(1);
            row.content.payload = payload;
            Delivery::due(row, 1).weight()
        };
        let here = || Payload::Here(vec![0; 5_000].into());
        assert_eq!([here(), Payload::Gone].map(weight), [0, 0]);
        for (bytes, kib) in [(0, 1), (1_023, 1), (1_024, 2), (1 << 20, 1_025)] {
            assert_eq!(weight(Payload::Stored { bytes }), kib, "{bytes}");
        }
    }

    #[test]
    fn a_delivery_expires_at_its_moment_and_may_be_attempted_from_its_moment_on() {
        let mut row = unkeyed(1);
        (row.terms.scheduled_at, row.terms.expires_at) = (Some(Timestamp(10)), Some(Timestamp(20)));
        let delivery = Delivery::due(row, 1);
        for (now, scheduled_after, is_expired) in [
            (9, Some(Timestamp(10)), false),
            (10, None, false),
            (19, None, false),
            (20, None, true),
        ] {
            assert_eq!(delivery.scheduled_after(Timestamp(now)), scheduled_after, "{now}");
            assert_eq!(delivery.is_expired(Timestamp(now)), is_expired, "{now}");
        }
    }

    #[test]
    fn only_what_has_an_ordering_key_is_in_a_chain() {
        let place = |row: &DueDelivery| (row.id, row.target);
        let row = waiting(7);
        let keyed = Delivery::due(row.clone(), 1);
        assert_eq!(keyed.place(), place(&row));
        let link = Link { key: "key".into(), id: row.id, endpoint: row.endpoint };
        assert_eq!(keyed.link(), Some(link));
        assert_eq!(Delivery::due(unkeyed(7), 1).link(), None);
    }
}
