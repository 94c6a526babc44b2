//! Tokens that the database has verified lately, by hash, so that it is not asked by every request.
//!
//! What acts on the database is verified once more in its own transaction: here stands only who may see how this
//! process does, and who is worth reading a body of.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::token::Role;

/// So many tokens. They are those of programs; one that was pushed out is verified again.
const TOKENS_MAX: usize = 1_024;
/// How long a token holds without being verified again: a revoked one is noticed within that time.
pub const TRUSTED_FOR: Duration = Duration::from_secs(30);
/// For so long after it was verified, a token shows how this process does while the database cannot be asked.
const OUTAGE_MAX: Duration = Duration::from_secs(60 * 60);
/// How often the use of a token is noted.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// The sha256 of a whole token.
pub type Hash = [u8; 32];

/// The tokens.
#[derive(Debug, Default)]
pub struct Verified(Mutex<HashMap<Hash, Entry>>);

#[derive(Debug)]
struct Entry {
    role: Role,
    verified_at: Instant,
    trusted_until: Instant,
    noted_at: Option<Instant>,
}

impl Verified {
    /// The token's role, if it was verified lately.
    pub fn trusted(&self, hash: &Hash, now: Instant) -> Option<Role> {
        self.entries().get(hash).filter(|entry| now < entry.trusted_until).map(|entry| entry.role)
    }

    /// The database knows the token.
    pub fn keep(&self, hash: Hash, role: Role, now: Instant) {
        let mut entries = self.entries();
        if entries.len() >= TOKENS_MAX && !entries.contains_key(&hash) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.verified_at);
            if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
                entries.remove(&oldest);
            }
        }
        let noted_at = entries.get(&hash).and_then(|entry| entry.noted_at);
        let trusted_until = now + TRUSTED_FOR;
        entries.insert(hash, Entry { role, verified_at: now, trusted_until, noted_at });
    }

    /// The database does not know the token.
    pub fn forget(&self, hash: &Hash) {
        self.entries().remove(hash);
    }

    /// The database could not be asked: the role of a token that is trusted for some time more.
    pub fn outlasts(&self, hash: &Hash, now: Instant) -> Option<Role> {
        let mut entries = self.entries();
        let entry = entries.get_mut(hash).filter(|entry| now < entry.verified_at + OUTAGE_MAX)?;
        entry.trusted_until = now + TRUSTED_FOR;
        Some(entry.role)
    }

    /// Whether its use is to be noted. It counts as noted from now on.
    pub fn take_note(&self, hash: &Hash, now: Instant) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(hash) else { return false };
        let is_due = entry.noted_at.is_none_or(|noted_at| now >= noted_at + NOTED_EVERY);
        if is_due {
            entry.noted_at = Some(now);
        }
        is_due
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Hash, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: usize) -> Hash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash
    }

    #[test]
    fn a_token_is_trusted_for_a_while_and_in_an_outage_for_an_hour() {
        let (verified, began) = (Verified::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(verified.trusted(&hash(1), began), None);
        assert_eq!(verified.outlasts(&hash(1), began), None, "one that was never verified");
        verified.keep(hash(1), Role::Viewer, began);
        assert_eq!(verified.trusted(&hash(1), at(29)), Some(Role::Viewer));
        assert_eq!(verified.trusted(&hash(2), at(29)), None);
        assert_eq!(verified.trusted(&hash(1), at(30)), None);
        assert_eq!(verified.outlasts(&hash(1), at(31)), Some(Role::Viewer));
        // Nobody asks a frozen database again so soon.
        assert_eq!(verified.trusted(&hash(1), at(60)), Some(Role::Viewer));
        assert_eq!(verified.outlasts(&hash(1), at(3_600)), None);
        assert_eq!(verified.trusted(&hash(1), at(3_600)), None);
        verified.keep(hash(1), Role::Viewer, at(4_000));
        verified.forget(&hash(1));
        assert_eq!(verified.trusted(&hash(1), at(4_000)), None);
        assert_eq!(verified.outlasts(&hash(1), at(4_000)), None, "a revoked one");
    }

    #[test]
    fn tokens_have_a_bound_and_the_oldest_one_goes() {
        let (verified, began) = (Verified::default(), Instant::now());
        for number in 0..=TOKENS_MAX {
            let now = began + Duration::from_millis(number as u64);
            verified.keep(hash(number), Role::Viewer, now);
        }
        assert_eq!(verified.entries().len(), TOKENS_MAX);
        let now = began + Duration::from_secs(2);
        assert_eq!(verified.trusted(&hash(0), now), None);
        assert_eq!(verified.trusted(&hash(1), now), Some(Role::Viewer));
    }

    #[test]
    fn a_use_is_noted_once_a_minute_however_often_it_is_verified() {
        let (verified, began) = (Verified::default(), Instant::now());
        let noted: Vec<u64> = (0..150)
            .step_by(10)
            .filter(|seconds| {
                let now = began + Duration::from_secs(*seconds);
                verified.keep(hash(1), Role::Viewer, now);
                verified.take_note(&hash(1), now)
            })
            .collect();
        assert_eq!(noted, [0, 60, 120]);
        assert!(!verified.take_note(&hash(2), began), "one that is not known");
    }
}
