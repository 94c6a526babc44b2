//! Moments that have been: as RFC 3339 writes them, as a day, or by how long ago they were.
//!
//! A day begins at midnight UTC: the same command says the same wherever it is run. `2h` counts from this
//! machine's clock.

use time::{Duration, OffsetDateTime, Time, format_description::well_known::Rfc3339};

use super::input::{check_day, parse_moment, parse_seconds};

const SHAPE: &str = "expected a time with its offset such as 2030-05-01T09:00:00Z, a day such as 2030-05-01, \
     today or yesterday (from midnight UTC), now, or how long ago it was, such as 90s, 10m, 2h or 3d";

/// A moment that has been, for an argument, as the database reads it.
pub fn parse_past(text: &str) -> Result<String, String> {
    past(text, OffsetDateTime::now_utc())
}

/// How many seconds ago a moment was, for an argument.
pub fn parse_since(text: &str) -> Result<f64, String> {
    since(text, OffsetDateTime::now_utc())
}

fn past(text: &str, now: OffsetDateTime) -> Result<String, String> {
    match relative(text, now)? {
        Some(moment) => moment.format(&Rfc3339).map_err(|error| format!("{SHAPE}: {error}")),
        None => parse_moment(text).map_err(|error| match error.starts_with("the ") {
            true => error,
            false => format!("{SHAPE}, got {text}"),
        }),
    }
}

fn since(text: &str, now: OffsetDateTime) -> Result<f64, String> {
    if let Ok(seconds) = parse_seconds(text) {
        return Ok(seconds);
    }
    let moment = OffsetDateTime::parse(&past(text, now)?.replace(' ', "T"), &Rfc3339);
    let moment = moment.map_err(|_| format!("{SHAPE}, to the second, got {text}"))?;
    let seconds = (now - moment).as_seconds_f64();
    if seconds < 0.0 {
        return Err(format!("expected a time that has been, got {text}"));
    }
    Ok(seconds)
}

/// What is said as a word, a day or a distance.
fn relative(text: &str, now: OffsetDateTime) -> Result<Option<OffsetDateTime>, String> {
    let today = now.replace_time(Time::MIDNIGHT);
    let moment = match text {
        "now" => now,
        "today" => today,
        "yesterday" => today - Duration::DAY,
        _ if is_day(text) => {
            check_day(text)?;
            let moment = OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339);
            moment.map_err(|_| SHAPE.to_owned())?
        }
        _ if text.ends_with(['s', 'm', 'h', 'd']) => {
            let seconds =
                parse_seconds(text).map_err(|error| match error.starts_with("expected more") {
                    true => error,
                    false => format!("{SHAPE}, got {text}"),
                })?;
            let moment = now.checked_sub(Duration::seconds_f64(seconds));
            moment.ok_or_else(|| format!("{text} ago is too long ago"))?
        }
        _ => return Ok(None),
    };
    Ok(Some(moment))
}

fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> OffsetDateTime {
        OffsetDateTime::parse("2028-03-01T00:30:15.25Z", &Rfc3339).unwrap()
    }

    #[test]
    fn moments_may_be_words_days_and_distances() {
        for (text, expected) in [
            ("now", "2028-03-01T00:30:15.25Z"),
            ("today", "2028-03-01T00:00:00Z"),
            ("yesterday", "2028-02-29T00:00:00Z"),
            ("2026-11-01", "2026-11-01T00:00:00Z"),
            ("90s", "2028-03-01T00:28:45.25Z"),
            ("45m", "2028-02-29T23:45:15.25Z"),
            ("2h", "2028-02-29T22:30:15.25Z"),
            ("1.5d", "2028-02-28T12:30:15.25Z"),
            ("2026-11-21T08:00Z", "2026-11-21T08:00Z"),
            ("2026-11-21 08:00:00.5+02:00", "2026-11-21 08:00:00.5+02:00"),
        ] {
            assert_eq!(past(text, now()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        let shape = "expected a time with its offset";
        for (text, wrong) in [
            ("", shape),
            ("Yesterday", shape),
            ("tomorrow", shape),
            ("2", shape),
            ("h", shape),
            ("2w", shape),
            ("two d", shape),
            ("2026-11-21T08:00", shape),
            ("2026-1-21", shape),
            ("2026-11-2é", shape),
            ("-2h", "expected more than 0 and at most 36500d"),
            ("40000d", "expected more than 0 and at most 36500d"),
            ("2026-02-29", "the day must be between 1 and 28, got 29"),
            ("2026-13-01", "the month must be between 1 and 12, got 13"),
            ("2026-13-01T08:00Z", "the month must be between 1 and 12, got 13"),
        ] {
            let error = past(text, now()).unwrap_err();
            assert!(error.starts_with(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn since_is_a_distance() {
        for (text, expected) in [
            ("90", 90.0),
            ("2h", 7_200.0),
            ("today", 1_815.25),
            ("2028-02-29T00:30:15.25Z", 86_400.0),
        ] {
            assert_eq!(since(text, now()), Ok(expected), "{text}");
        }
        assert!(
            since("2030-01-01", now()).unwrap_err().starts_with("expected a time that has been")
        );
        assert!(since("soon", now()).is_err());
    }
}
