//! Whose part of an endpoint's concurrency is whose.
//!
//! Each shard stands for an equal part of what may be in flight to an endpoint, and its owner uses that part. An
//! owner that does not need it may lend it, for one endpoint, to another dispatcher. A loan is a row: it belongs
//! to the shard and not to its owner, so whoever takes the shard over is bound by it. It ends when the borrower
//! gives it back, or when the borrower's lease has run out. So each part is used by one dispatcher at a time, and
//! since parts are rounded up and everybody has one place, `n` dispatchers use at most `n − 1` places beyond the
//! endpoint's concurrency.

/// Some of the shards, each as a bit; there are at most 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts(pub u64);

/// What part of an endpoint is used by whom, as one dispatcher knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places {
    /// Of our shards, what others use.
    lent: Parts,
    /// What we may use of others' shards, or may have to give back.
    borrowed: Parts,
    /// Of that, what we use no more and have not given back yet.
    returning: Parts,
}

/// How many may be in flight with so many of all parts.
pub fn places_of(concurrency: usize, parts: usize, all: usize) -> usize {
    (concurrency * parts).div_ceil(all.max(1)).max(1)
}

/// How many parts it takes to have so many in flight.
pub fn parts_for(in_flight: usize, concurrency: usize, all: usize) -> usize {
    match in_flight {
        0 | 1 => 0,
        _ => ((in_flight - 1) * all / concurrency.max(1) + 1).min(all),
    }
}

impl Parts {
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn insert(&mut self, shard: i16) {
        self.0 |= 1 << shard;
    }

    pub fn shards(self) -> impl Iterator<Item = i16> {
        (0..64).filter(move |shard| self.0 >> shard & 1 == 1)
    }

    fn and(self, other: Parts) -> Parts {
        Parts(self.0 | other.0)
    }

    fn without(self, other: Parts) -> Parts {
        Parts(self.0 & !other.0)
    }

    fn first(self, count: usize) -> Parts {
        let mut first = Parts::default();
        self.shards().take(count).for_each(|shard| first.insert(shard));
        first
    }
}

impl Places {
    /// What we may use, when these shards are ours.
    pub fn usable(&self, owned: Parts) -> Parts {
        owned.without(self.lent).and(self.borrowed.without(self.returning))
    }

    /// Whether there is a loan at all.
    pub fn is_plain(&self) -> bool {
        self.lent.is_empty() && self.borrowed.is_empty()
    }

    pub fn has_borrowed(&self) -> bool {
        !self.borrowed.is_empty()
    }

    pub fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }

    /// Lends up to so many parts of those that are not needed; from now on they are not ours to use.
    pub fn lend(&mut self, owned: Parts, needed: usize, wanted: usize) -> Parts {
        let usable = self.usable(owned);
        let spare = usable.count().saturating_sub(needed).min(wanted);
        // What is borrowed is not ours to lend.
        let lent = owned.without(self.lent).without(self.borrowed).first(spare);
        self.lent = self.lent.and(lent);
        lent
    }

    /// From now on nothing new goes where we have borrowed.
    pub fn stop_borrowing(&mut self) {
        self.returning = self.borrowed;
    }

    /// What of that can be given back, while so many parts are needed for what is in flight.
    pub fn returnable(&self, owned: Parts, needed: usize) -> Parts {
        // One that we have taken over ourselves is in both, and counts once.
        let others = self.usable(owned).without(self.returning);
        let kept = needed.saturating_sub(others.count());
        self.returning.first(self.returning.count().saturating_sub(kept))
    }

    /// All loans as they were read after what we lent and gave back was written.
    pub fn learn(&mut self, lent: Parts, borrowed: Parts) {
        self.lent = lent;
        self.borrowed = borrowed;
        self.returning = Parts(self.returning.0 & borrowed.0);
    }
}

#[cfg(test)]
mod tests;
