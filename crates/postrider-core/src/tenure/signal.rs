//! What notifications say.

use uuid::Uuid;

use crate::id::EndpointId;

/// Wakes the loop for something else than an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    Ring,
    Shards,
    Endpoints,
    Settings,
    Circuits,
    Deferred,
    /// The first consumer may have been made.
    Consumers,
    /// A job was made.
    Jobs,
    /// Something waits no more of this ordering key.
    Key(u32),
    /// Another dispatcher could use so many parts of these endpoints' concurrency.
    Asked(Uuid, Vec<(EndpointId, usize)>),
    /// Loans of this dispatcher have changed.
    Loans(Uuid),
    /// Nothing that concerns a dispatcher, or nonsense.
    Unknown,
}

impl Signal {
    /// What a notification on the channel says.
    pub fn read(payload: &str) -> Signal {
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
    use super::*;

    #[test]
    fn who_asks_for_places_is_understood() {
        let id = Uuid::from_u128(7);
        let asked = vec![(EndpointId(3), 12), (EndpointId(40), 1)];
        assert_eq!(Signal::read(&format!("places {id} 3:12 40:1")), Signal::Asked(id, asked));
        assert_eq!(Signal::read(&format!("loans {id}")), Signal::Loans(id));
        for nonsense in [
            "places",
            "places x 3:1",
            &format!("places {id} 3"),
            &format!("places {id} 3:0"),
            "loans 7",
        ] {
            assert_eq!(Signal::read(nonsense), Signal::Unknown, "{nonsense}");
        }
    }

    #[test]
    fn the_doorbell_is_rung_by_a_number_or_by_nothing() {
        for ring in ["0", "63", ""] {
            assert_eq!(Signal::read(ring), Signal::Ring, "{ring}");
        }
        for other in ["x", "-1", "1 2", "workers", "key", "key x"] {
            assert_eq!(Signal::read(other), Signal::Unknown, "{other}");
        }
    }
}
