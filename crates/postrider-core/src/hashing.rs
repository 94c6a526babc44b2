//! Hash maps whose order is one for the whole process.
//!
//! The maps of the standard library have an order of their own each, so that what is decided by going through one is
//! never decided again in the same way. Here chance has a say once, when the process begins: whoever sends may choose
//! what is hashed, and must not be able to choose what collides. A simulation says itself what the order is, and its
//! seed decides everything.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::OnceLock,
};

#[cfg(not(test))]
use std::hash::DefaultHasher;

/// Nobody chooses what tests hash, and simulated lives hash a lot: it costs them a tenth of what it costs to be safe.
#[cfg(test)]
use quick::QuickHasher as DefaultHasher;

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
    let mut hasher = DefaultHasher::default();
    hasher.write_u64(seed);
    hasher
}

#[cfg(test)]
mod quick {
    use std::hash::Hasher;

    /// The golden ratio's fraction: odd, and its bits are all over the place.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Multiplies and folds, a word at a time.
    #[derive(Debug, Clone, Default)]
    pub struct QuickHasher(u64);

    impl QuickHasher {
        fn add(&mut self, word: u64) {
            let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
            self.0 = (product >> 64) as u64 ^ product as u64;
        }
    }

    impl Hasher for QuickHasher {
        fn write(&mut self, bytes: &[u8]) {
            for part in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                self.add(u64::from_le_bytes(word) ^ (part.len() as u64) << 56);
            }
        }

        fn write_u32(&mut self, number: u32) {
            self.add(u64::from(number).wrapping_add(FACTOR));
        }

        fn write_u64(&mut self, number: u64) {
            self.add(number.wrapping_add(FACTOR));
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }
}
