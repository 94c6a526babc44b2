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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::tests::{of_shard, read_one, unkeyed};

    /// One that came after the endpoints were asked for may be for one that was made since.
    #[test]
    fn what_is_new_is_not_taken_for_gone() {
        for seed in 0..100 {
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut orphans = Orphans::default();
            let (mut fresh, mut asked): (Vec<i64>, Vec<i64>) = Default::default();
            let numbers = |deliveries: Vec<Delivery>| -> Vec<i64> {
                deliveries.iter().map(|delivery| delivery.message.id.sequence_number()).collect()
            };
            for number in 1..40 {
                match dice.u8(..8) {
                    0..4 => {
                        orphans.add(read_one(of_shard(unkeyed(number), Shard(number as i16 % 2))));
                        fresh.push(number);
                    }
                    4 => {
                        orphans.ask();
                        asked.append(&mut fresh);
                    }
                    5 => assert_eq!(numbers(orphans.take_asked()), std::mem::take(&mut asked)),
                    6 => assert_eq!(numbers(orphans.take_fresh()), std::mem::take(&mut fresh)),
                    _ => {
                        orphans.forget(&[Shard(0)]);
                        fresh.retain(|number| number % 2 == 1);
                        asked.retain(|number| number % 2 == 1);
                    }
                }
                let all: Vec<i64> = fresh.iter().chain(&asked).copied().collect();
                let known = orphans.iter().map(|delivery| delivery.message.id.sequence_number());
                assert!(known.eq(all.iter().copied()), "seed {seed}");
                for shard in [0, 1] {
                    let has_any = all.iter().any(|number| number % 2 == i64::from(shard));
                    assert_eq!(orphans.has_any_of(Shard(shard)), has_any, "seed {seed}");
                }
            }
        }
    }
}
