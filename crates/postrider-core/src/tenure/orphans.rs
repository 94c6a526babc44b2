//! Deliveries for targets that are not known, or not yet.

use super::delivery::Delivery;
use crate::id::Shard;

#[derive(Debug, Default)]
pub struct Orphans {
    /// What came since the endpoints were asked for that are being loaded.
    fresh: Vec<Delivery>,
    /// What was there then.
    asked: Vec<Delivery>,
}

impl Orphans {
    pub fn add(&mut self, delivery: Delivery) {
        self.fresh.push(delivery);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Delivery> {
        self.fresh.iter().chain(&self.asked)
    }

    pub fn has_any_of(&self, shard: Shard) -> bool {
        self.iter().any(|delivery| delivery.shard() == shard)
    }

    /// The endpoints are asked for: what is there now has none if none of them is its own.
    pub fn ask(&mut self) {
        self.asked.append(&mut self.fresh);
    }

    /// What was there when the endpoints were asked for that are known now.
    pub fn take_asked(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.asked)
    }

    /// What came since.
    pub fn take_fresh(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.fresh)
    }

    /// Nothing of these shards is ours any more.
    pub fn forget(&mut self, lost: &[Shard]) {
        let is_kept = |delivery: &Delivery| !lost.contains(&delivery.shard());
        self.fresh.retain(is_kept);
        self.asked.retain(is_kept);
    }
}
