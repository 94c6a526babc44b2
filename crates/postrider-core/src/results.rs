//! What became of deliveries, as it is recorded.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    hashing::{HashMap, HashSet},
    id::{EndpointId, MessageId, Shard, Target},
    response::Response,
    timestamp::Timestamp,
};

/// What one flush records.
#[derive(Debug, Clone, Default)]
pub struct Results {
    pub done: Vec<MessageId>,
    /// Deliveries of messages that are not done yet.
    pub partly: HashMap<MessageId, Vec<Target>>,
    pub deferred: Vec<Deferred>,
    /// Deliveries that waited and need not any more.
    pub settled: Vec<(MessageId, Target)>,
    pub attempts: Vec<FailedAttempt>,
    pub dead: Vec<Dead>,
    pub expired: Vec<(MessageId, Target, EndpointId)>,
    /// Deliveries that were cancelled, which is on record, and are read now.
    pub read: Vec<(MessageId, Target)>,
    /// Messages with an idempotency key of which a delivery ended.
    pub keyed: Vec<MessageId>,
}

impl Results {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows it is about.
    pub fn len(&self) -> usize {
        self.done.len()
            + self.partly.len()
            + self.read.len()
            + self.keyed.len()
            + self.deferred.len()
            + self.settled.len()
            + self.attempts.len()
            + self.dead.len()
            + self.expired.len()
    }

    /// Drops what belongs to shards that are lost: their new owner decides.
    pub fn forget(&mut self, lost: &[Shard]) {
        self.retain(|id| !lost.contains(&id.lane().shard()));
    }

    /// Whether it is about several messages.
    pub fn is_divisible(&self) -> bool {
        let mut ids = self.ids();
        ids.next().is_some_and(|first| ids.any(|id| id != first))
    }

    /// The same in two parts, what belongs to one message in one of them; or in one, when it is about one
    /// message only.
    pub fn halves(mut self) -> Vec<Results> {
        if !self.is_divisible() {
            return vec![self];
        }
        let mut ids: Vec<MessageId> = self.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let middle = ids[ids.len() / 2];
        let mut later = self.clone();
        self.retain(|id| id < middle);
        later.retain(|id| id >= middle);
        vec![self, later]
    }

    fn ids(&self) -> impl Iterator<Item = MessageId> {
        let places = self.settled.iter().chain(&self.read).map(|(id, _)| *id);
        self.done
            .iter()
            .chain(&self.keyed)
            .chain(self.partly.keys())
            .copied()
            .chain(places)
            .chain(self.deferred.iter().map(|row| row.id))
            .chain(self.attempts.iter().map(|row| row.id))
            .chain(self.dead.iter().map(|row| row.id))
            .chain(self.expired.iter().map(|(id, ..)| *id))
    }

    fn retain(&mut self, is_kept: impl Fn(MessageId) -> bool) {
        self.done.retain(|id| is_kept(*id));
        self.partly.retain(|id, _| is_kept(*id));
        self.read.retain(|(id, _)| is_kept(*id));
        self.keyed.retain(|id| is_kept(*id));
        self.deferred.retain(|deferred| is_kept(deferred.id));
        self.settled.retain(|(id, _)| is_kept(*id));
        self.attempts.retain(|attempt| is_kept(attempt.id));
        self.dead.retain(|dead| is_kept(dead.id));
        self.expired.retain(|(id, ..)| is_kept(*id));
    }
}

/// A delivery that waits from now on.
#[derive(Debug, Clone)]
pub struct Deferred {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    /// Until when it waits; `None`: `wait_ms` from when it is recorded.
    pub run_at: Option<Timestamp>,
    pub wait_ms: i64,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub error: Option<String>,
    pub ordering_key: Option<Arc<str>>,
    /// It waits for another one of its ordering key, not for a time.
    pub is_blocked: bool,
    /// It waited before: its row changes, and is not made anew when somebody has taken it away.
    pub has_waited: bool,
}

impl Deferred {
    /// When its message was sent; of a first attempt that is scheduled for later, until when it waits. The
    /// same rule as in deferred_count.sql.
    pub fn pending_since(&self) -> Timestamp {
        let is_first = self.retry_count == 0 && !self.is_blocked;
        let later = self.run_at.filter(|_| is_first);
        later.map_or(self.created_at, |at| at.max(self.created_at))
    }
}

/// What came of a try to record results.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Shards that are lost. If there are any, nothing was written.
    pub lost: Vec<Shard>,
    /// Waiting deliveries whose rows somebody else has locked. If there are any, nothing was written.
    pub held: HashSet<(MessageId, Target)>,
}

#[derive(Debug, Clone)]
pub struct FailedAttempt {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    /// 1 for the first.
    pub number: u32,
    pub started_at: Timestamp,
    pub duration_ms: i32,
    pub outcome: &'static str,
    pub status: Option<i32>,
    pub error: Option<String>,
    pub correlation_id: Option<Uuid>,
    pub response: Option<Response>,
}

/// A delivery that is over without success.
#[derive(Debug, Clone)]
pub struct Dead {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    pub cause: &'static str,
    pub retry_count: u32,
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(numbers: std::ops::Range<i64>) -> Results {
        let ids = || numbers.clone().map(MessageId);
        Results {
            done: ids().collect(),
            partly: ids().map(|id| (id, vec![Target(1)])).collect(),
            settled: ids().map(|id| (id, Target(1))).collect(),
            expired: ids().map(|id| (id, Target(1), EndpointId(1))).collect(),
            read: ids().map(|id| (id, Target(1))).collect(),
            keyed: ids().collect(),
            ..Results::default()
        }
    }

    #[test]
    fn halves_are_everything_once_and_each_message_in_one() {
        for count in 1..9 {
            let whole = results(0..count);
            let halves = whole.clone().halves();
            assert_eq!(halves.len(), if count == 1 { 1 } else { 2 });
            assert_eq!(halves.iter().map(Results::len).sum::<usize>(), whole.len());
            let mut ids: Vec<MessageId> =
                halves.iter().flat_map(|half| half.done.clone()).collect();
            ids.sort_unstable();
            assert_eq!(ids, whole.done);
            for half in &halves {
                assert!(half.len() < whole.len() || count == 1);
                assert!(half.settled.iter().all(|(id, _)| half.done.contains(id)));
                assert!(half.partly.keys().all(|id| half.done.contains(id)));
            }
        }
    }
}
