//! How long ago something was, or in how long it will be: what people want to know of a time in a table.

use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// Nearer than this, clocks of two machines may disagree, and nobody minds.
const NOW_SECONDS: i64 = 1;
/// From here on a date says more.
const DATED_SECONDS: i64 = 100 * 86_400;

/// A time as the database writes it into JSON.
pub fn parse(text: &str) -> Option<OffsetDateTime> {
    // Cheap to refuse: most texts are none.
    let has_shape = text.len() >= 20 && text.as_bytes()[10] == b'T';
    if has_shape { OffsetDateTime::parse(text, &Rfc3339).ok() } else { None }
}

/// The time, as seen from `now`, such as `3 m ago`, `in 2 h`, `2026-05-01`.
pub fn describe(then: OffsetDateTime, now: OffsetDateTime) -> String {
    let seconds = (now - then).whole_seconds();
    let distance = match seconds.abs() {
        0..=NOW_SECONDS => return "now".to_owned(),
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3_600 => format!("{} m", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3_600),
        seconds @ ..DATED_SECONDS => format!("{} d", seconds / 86_400),
        _ => return date(then),
    };
    if seconds > 0 { format!("{distance} ago") } else { format!("in {distance}") }
}

/// The time itself, in UTC, to the second.
pub fn exact(then: OffsetDateTime) -> String {
    let shape = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]Z");
    to_utc(then).format(shape).unwrap_or_default()
}

/// The time itself, in UTC, to the millisecond.
pub fn to_the_millisecond(then: OffsetDateTime) -> String {
    let shape =
        format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:3]Z");
    to_utc(then).format(shape).unwrap_or_default()
}

fn date(then: OffsetDateTime) -> String {
    to_utc(then).format(format_description!("[year]-[month]-[day]")).unwrap_or_default()
}

fn to_utc(then: OffsetDateTime) -> OffsetDateTime {
    then.to_offset(time::UtcOffset::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let now = parse("2026-11-26T12:00:00.5+00:00").unwrap();
        for (then, expected) in [
            ("2026-11-26T12:00:00.4+00:00", "now"),
            ("2026-11-26T12:00:01+00:00", "now"),
            ("2026-11-26T11:59:01+00:00", "59 s ago"),
            ("2026-11-26T11:59:00+00:00", "1 m ago"),
            ("2026-11-26T13:57:00.123456+02:00", "3 m ago"),
            ("2026-11-26T10:59:00Z", "1 h ago"),
            ("2026-11-24T13:00:00+00:00", "47 h ago"),
            ("2026-11-24T12:00:00+00:00", "2 d ago"),
            ("2026-05-01T23:30:00-02:00", "2026-05-02"),
            ("2026-11-26T12:00:31+00:00", "in 30 s"),
            ("2026-11-26T14:00:30+00:00", "in 2 h"),
            ("2036-11-26T14:00:30+00:00", "2036-11-26"),
        ] {
            assert_eq!(describe(parse(then).unwrap(), now), expected, "{then}");
        }
        assert_eq!(
            exact(parse("2026-11-26T13:57:00.123456+02:00").unwrap()),
            "2026-11-26 11:57:00Z"
        );
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "2026-11-26",
            "HTTP 503: service not available",
            "2026-11-26T12:00:00 x",
            "ö".repeat(12).as_str(),
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
