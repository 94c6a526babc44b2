//! Hash maps whose order is one for the whole process.
//!
//! The maps of the standard library have an order of their own each, so that what is decided by going through one is
//! never decided again in the same way. Here chance has a say once, when the process begins: whoever sends may choose
//! what is hashed, and must not be able to choose what collides. A simulation says itself what the order is, and its
//! seed decides everything.

use std::{
    hash::{BuildHasher, DefaultHasher, Hasher, RandomState},
    sync::OnceLock,
};

pub type HashMap<K, V> = std::collections::HashMap<K, V, Hashing>;
pub type HashSet<T> = std::collections::HashSet<T, Hashing>;

static BEGINNING: OnceLock<DefaultHasher> = OnceLock::new();

/// How all of them are hashed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hashing;

impl BuildHasher for Hashing {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        BEGINNING.get_or_init(|| beginning(RandomState::new().hash_one(0))).clone()
    }
}

/// Makes the order the same in every process that says so before it makes its first map. Whether it came in time.
#[cfg(test)]
pub(crate) fn fix(seed: u64) -> bool {
    BEGINNING.set(beginning(seed)).is_ok()
}

fn beginning(seed: u64) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(seed);
    hasher
}
