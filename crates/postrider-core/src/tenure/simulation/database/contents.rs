//! What is on record, as it is compared with what PostgreSQL has.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Database, DeferredRow, Place};
use crate::id::MessageId;

/// The rows that say what becomes of deliveries. Not those that are compared by what is read of them: checkpoints and
/// claims.
#[derive(Debug, Default)]
pub struct Contents {
    /// Owner, epoch, and those whose claims nobody has recovered.
    pub shards: Vec<(Option<Uuid>, i64, Vec<Uuid>)>,
    pub deferred: BTreeMap<Place, DeferredRow>,
    pub done: BTreeSet<MessageId>,
    pub partly: BTreeSet<Place>,
    pub ended: BTreeSet<Place>,
    /// Whether the newest letter was redriven.
    pub letters: BTreeMap<Place, bool>,
    /// How many, of what has no letter: where it has, nobody counts them.
    pub attempts: BTreeMap<Place, u32>,
    pub cancellations: BTreeSet<Place>,
}

impl Database {
    pub fn contents(&self) -> Contents {
        let shard = |row: &super::ShardRow| (row.owner, row.epoch, row.unrecovered.clone());
        let attempts = self.attempts.iter().filter(|(place, _)| !self.letters.contains_key(place));
        Contents {
            shards: self.shards.iter().map(shard).collect(),
            deferred: self.deferred.clone(),
            done: self.done.iter().copied().collect(),
            partly: self.partly.iter().copied().collect(),
            ended: self.ended.iter().copied().collect(),
            letters: self.letters.clone(),
            attempts: attempts.map(|(place, count)| (*place, *count)).collect(),
            cancellations: self.cancellations.clone(),
        }
    }
}
