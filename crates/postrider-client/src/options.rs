//! What a message may have besides its payload.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use uuid::Uuid;

/// What a message may have besides its payload. All of it is checked by the database.
///
/// Moments are [`SystemTime`], which chrono, time and jiff all convert to, so that this crate chooses
/// none of them for you. Waits are [`Duration`]s that the database's clock counts: a clock of your own
/// that is wrong does no harm to them.
///
/// ```
/// use std::time::Duration;
/// use postrider_client::Options;
/// use serde_json::json;
///
/// let options = Options::new()
///     .priority(5)
///     .scheduled_in(Duration::from_secs(60))
///     .expires_in(Duration::from_secs(3600))
///     .idempotency_key("order 1 placed")
///     .header("x-tenant", "acme")
///     .metadata(json!({ "user": 7 }));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    pub(crate) priority: u8,
    scheduled: Option<Moment>,
    expires: Option<Moment>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) correlation_id: Option<Uuid>,
    pub(crate) ordering_key: Option<String>,
    pub(crate) headers: Option<BTreeMap<String, String>>,
    pub(crate) metadata: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    At(SystemTime),
    In(Duration),
}

impl Options {
    /// Priority 0, and nothing else.
    pub fn new() -> Self {
        Self::default()
    }

    /// 0 to 10, higher first; 0 unless set.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Not attempted before this moment (to the microsecond).
    #[must_use]
    pub fn scheduled_at(mut self, at: SystemTime) -> Self {
        self.scheduled = Some(Moment::At(at));
        self
    }

    /// Not attempted before so much time has passed since the call.
    #[must_use]
    pub fn scheduled_in(mut self, wait: Duration) -> Self {
        self.scheduled = Some(Moment::In(wait));
        self
    }

    /// Never attempted at this moment or later. Has to be in the future, and after `scheduled_at`.
    #[must_use]
    pub fn expires_at(mut self, at: SystemTime) -> Self {
        self.expires = Some(Moment::At(at));
        self
    }

    /// Never attempted when so much time has passed since the call.
    #[must_use]
    pub fn expires_in(mut self, wait: Duration) -> Self {
        self.expires = Some(Moment::In(wait));
        self
    }

    /// 1 to 255 characters. While a message has this key, another one with the same key and payload
    /// for the same destination is not written, and one with another payload is refused.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Kept with the message and sent along, to find it in logs.
    #[must_use]
    pub fn correlation_id(mut self, id: Uuid) -> Self {
        self.correlation_id = Some(id);
        self
    }

    /// 1 to 255 characters. Messages of one key reach an endpoint strictly one after the other.
    #[must_use]
    pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
        self.ordering_key = Some(key.into());
        self
    }

    /// A header of the request, over that of the endpoint. The last value for a name holds.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.get_or_insert_default().insert(name.into(), value.into());
        self
    }

    /// Headers, one by one as by [`Options::header`].
    #[must_use]
    pub fn headers<N, V>(mut self, headers: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.headers.get_or_insert_default().extend(headers);
        self
    }

    /// A JSON object of yours: kept with the message, never sent.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    /// Scheduled at, scheduled in, expires at and expires in, in microseconds.
    pub(crate) fn times(&self) -> [Option<i64>; 4] {
        let [at, wait] = split(self.scheduled);
        let [expires_at, expires_in] = split(self.expires);
        [at, wait, expires_at, expires_in]
    }
}

fn split(moment: Option<Moment>) -> [Option<i64>; 2] {
    match moment {
        None => [None, None],
        Some(Moment::At(at)) => [Some(since_epoch(at)), None],
        Some(Moment::In(wait)) => [None, Some(microseconds(wait))],
    }
}

/// Microseconds from the Unix epoch; what lies beyond the range is its end, which PostgreSQL refuses.
fn since_epoch(at: SystemTime) -> i64 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => microseconds(after),
        Err(before) => -microseconds(before.duration()),
    }
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_microseconds_from_the_epoch() {
        let epoch = SystemTime::UNIX_EPOCH;
        let second = Duration::from_secs(1);
        let cases = [
            (Options::new(), [None; 4]),
            (Options::new().scheduled_at(epoch + second), [Some(1_000_000), None, None, None]),
            (Options::new().scheduled_in(second), [None, Some(1_000_000), None, None]),
            (Options::new().expires_at(epoch - second), [None, None, Some(-1_000_000), None]),
            (Options::new().expires_in(Duration::MAX), [None, None, None, Some(i64::MAX)]),
            (
                Options::new().scheduled_at(epoch).scheduled_in(second),
                [None, Some(1_000_000), None, None],
            ),
        ];
        for (options, expected) in cases {
            assert_eq!(options.times(), expected, "{options:?}");
        }
    }
}
