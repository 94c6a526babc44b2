//! What an HTTP answer means: a status code and a `Retry-After` become an [`Outcome`].
//!
//! The one place that knows status codes. Whoever sends HTTP for whatever reason asks here, so
//! that `Retry-After` is honoured on every path or on none.

use std::time::{Duration, SystemTime};

use crate::outcome::Outcome;

/// The shortest pause that a destination can ask for.
pub const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
/// The longest pause that a destination can ask for: a day.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(86_400);

/// What a final HTTP answer with this `status` means for the message.
///
/// `retry_after` is the value of the `Retry-After` header as it came, `now` the time of the answer;
/// both count only for 429 and 503. A status that HTTP does not know (below 200, above 599) and a
/// redirect, which is never followed, are unavailable.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use postrider_core::{classify::classify, outcome::Outcome};
///
/// let answer = classify(503, Some("120"), SystemTime::UNIX_EPOCH);
/// let pause = Duration::from_secs(120);
/// assert_eq!(answer, Outcome::Unavailable { retry_after: Some(pause) });
/// ```
pub fn classify(status: u16, retry_after: Option<&str>, now: SystemTime) -> Outcome {
    tracing::trace!(stop = "classify", status);
    match status {
        200..=299 => Outcome::Accepted,
        410 => Outcome::Gone,
        429 | 503 => Outcome::Unavailable {
            retry_after: retry_after.and_then(|value| parse_retry_after(value, now)),
        },
        408 | 425 => Outcome::Unavailable { retry_after: None },
        400..=499 => Outcome::Rejected,
        _ => Outcome::Unavailable { retry_after: None },
    }
}

/// How long a `Retry-After` value asks to wait, seen from `now`: [`RETRY_AFTER_MIN`] to
/// [`RETRY_AFTER_MAX`].
///
/// Takes what RFC 9110 section 10.2.3 allows, seconds or an HTTP date in any of its three forms,
/// and also fractions of a second, which some servers send; parts of a second are rounded up.
/// Anything else is `None`: the wait is then computed as if the header were absent.
pub fn parse_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = match parse_seconds(value) {
        Some(seconds) => Duration::from_secs(seconds),
        None => {
            let at = httpdate::parse_http_date(value).ok()?;
            round_up(at.duration_since(now).unwrap_or_default())
        }
    };
    Some(wait.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX))
}

/// Decimal digits with an optional fraction, rounded up; saturates instead of overflowing.
fn parse_seconds(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole = whole.parse::<u64>().unwrap_or(u64::MAX);
    let has_rest = fraction.bytes().any(|b| b != b'0');
    Some(whole.saturating_add(u64::from(has_rest)))
}

fn round_up(wait: Duration) -> Duration {
    Duration::from_secs(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the date that RFC 9110 uses.
    const NOW: u64 = 784_111_777;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn unavailable(seconds: impl Into<Option<u64>>) -> Outcome {
        Outcome::Unavailable { retry_after: seconds.into().map(Duration::from_secs) }
    }

    #[test]
    fn each_status_has_one_meaning() {
        for status in 0..=u16::from(u8::MAX) * 4 {
            let expected = match status {
                200..300 => Outcome::Accepted,
                410 => Outcome::Gone,
                408 | 425 | 429 => unavailable(None),
                400..500 => Outcome::Rejected,
                _ => unavailable(None),
            };
            assert_eq!(classify(status, None, now()), expected, "status {status}");
        }
    }

    #[test]
    fn retry_after_counts_for_429_and_503_only() {
        for status in 100..1000 {
            let pause = match classify(status, Some("7"), now()) {
                Outcome::Unavailable { retry_after } => retry_after,
                _ => None,
            };
            let expected = matches!(status, 429 | 503).then_some(Duration::from_secs(7));
            assert_eq!(pause, expected, "status {status}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_within_a_day() {
        let cases: &[(&str, Option<u64>)] = &[
            ("0", Some(1)),
            ("1", Some(1)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("0.2", Some(1)),
            ("1.5", Some(2)),
            ("1.0", Some(1)),
            ("2.000000000000000000000000000001", Some(3)),
            ("86400", Some(86_400)),
            ("86401", Some(86_400)),
            ("18446744073709551615.5", Some(86_400)),
            ("99999999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun Nov  6 08:50:07 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(1)),
            ("Sat, 01 Jan 1994 00:00:00 GMT", Some(1)),
            ("Wed, 06 Nov 2094 08:49:37 GMT", None), // a wrong day of the week is not a date
            ("Sat, 06 Nov 2094 08:49:37 GMT", Some(86_400)),
            ("", None),
            ("-5", None),
            ("+5", None),
            ("1e3", None),
            ("5s", None),
            (".5", None),
            ("5.", None),
            ("1.5.2", None),
            ("NaN", None),
            ("inf", None),
            ("٣", None),
            ("soon", None),
        ];
        for (value, expected) in cases {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(parse_retry_after(value, now()), expected, "{value:?}");
        }
    }

    #[test]
    fn a_date_is_rounded_up_to_the_second() {
        let now = now() + Duration::from_millis(300);
        let wait = parse_retry_after("Sun, 06 Nov 1994 08:49:39 GMT", now);
        assert_eq!(wait, Some(Duration::from_secs(2)));
    }
}
