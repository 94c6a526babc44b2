//! The doorbell: how a sender wakes a dispatcher that sleeps, without a row and without a lost ring.
//!
//! A sender takes the shared lock of its shard until its transaction ends; it fails only while the
//! shard's dispatcher sleeps on the exclusive lock, and then the sender notifies. A dispatcher that
//! gets all exclusive locks knows that no sender is in flight: one more tick, and it may sleep.

use super::dispatcher::Signal;
use crate::store::{StoreError, bounded::Bounded};
use postrider_core::id::{EndpointId, Shard};

/// The locks, on a connection whose session they belong to.
pub struct Doorbell {
    client: Bounded,
    /// Whether we would hear it; else nobody shall ring.
    pub is_audible: bool,
}

impl Doorbell {
    /// Listens for rings on the connection, if it can.
    pub async fn open(client: Bounded, is_listening: bool) -> Result<Doorbell, StoreError> {
        if is_listening {
            client
                .batch_execute(include_str!("../../../../sql/queries/listen.sql"))
                .await
                .map_err(StoreError::to("listen"))?;
        }
        Ok(Doorbell { client, is_audible: is_listening })
    }

    /// Locks the doorbells of all these shards, or none.
    pub async fn lock(&self, shards: &[Shard]) -> Result<bool, StoreError> {
        let shards: Vec<i32> = shards.iter().map(|shard| i32::from(shard.0)).collect();
        let sql = include_str!("../../../../sql/queries/doorbell_lock.sql");
        let row = self
            .client
            .query_one(sql, &[&shards])
            .await
            .map_err(StoreError::to("lock the doorbell"))?;
        let is_locked = row.get::<_, i64>("got") == shards.len() as i64;
        if !is_locked {
            self.unlock().await?;
        }
        Ok(is_locked)
    }

    pub async fn unlock(&self) -> Result<(), StoreError> {
        self.client
            .batch_execute(include_str!("../../../../sql/queries/doorbell_unlock.sql"))
            .await
            .map_err(StoreError::to("unlock the doorbell"))
    }
}

/// What a notification on the channel says.
pub fn signal(payload: &str) -> Signal {
    if let Some(Ok(mark)) = payload.strip_prefix("key ").map(str::parse) {
        return Signal::Key(mark);
    }
    if let Some(Ok(id)) = payload.strip_prefix("loans ").map(str::parse) {
        return Signal::Loans(id);
    }
    if let Some(asked) = payload.strip_prefix("places ").and_then(asked) {
        return asked;
    }
    match payload {
        "shards" => Signal::Shards,
        "endpoints" => Signal::Endpoints,
        "settings" => Signal::Settings,
        "circuits" => Signal::Circuits,
        "deferred" => Signal::Deferred,
        "consumers" => Signal::Consumers,
        "jobs" => Signal::Jobs,
        // A shard's number. Whose it is does not matter: a tick too many costs next to nothing.
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => Signal::Ring,
        _ => Signal::Unknown,
    }
}

/// Who asks for places, and how many parts of which endpoints.
fn asked(payload: &str) -> Option<Signal> {
    let (borrower, asked) = payload.split_once(' ')?;
    let asked = asked.split(' ').map(|asked| {
        let (endpoint, parts) = asked.split_once(':')?;
        let parts = parts.parse::<usize>().ok().filter(|parts| *parts > 0)?;
        Some((EndpointId(endpoint.parse().ok()?), parts))
    });
    Some(Signal::Asked(borrower.parse().ok()?, asked.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn who_asks_for_places_is_understood() {
        let id = Uuid::from_u128(7);
        let asked = vec![(EndpointId(3), 12), (EndpointId(40), 1)];
        assert_eq!(signal(&format!("places {id} 3:12 40:1")), Signal::Asked(id, asked));
        assert_eq!(signal(&format!("loans {id}")), Signal::Loans(id));
        for nonsense in [
            "places",
            "places x 3:1",
            &format!("places {id} 3"),
            &format!("places {id} 3:0"),
            "loans 7",
        ] {
            assert_eq!(signal(nonsense), Signal::Unknown, "{nonsense}");
        }
    }

    #[test]
    fn the_doorbell_is_rung_by_a_number_or_by_nothing() {
        for ring in ["0", "63", ""] {
            assert_eq!(signal(ring), Signal::Ring, "{ring}");
        }
        for other in ["x", "-1", "1 2", "workers", "key", "key x"] {
            assert_eq!(signal(other), Signal::Unknown, "{other}");
        }
    }
}
