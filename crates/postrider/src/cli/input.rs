//! What users type and pipe in: payloads, JSON, times, ids of their own.
//!
//! Each parser's error names the rule and the bound; who calls it adds the name of the field. What
//! only the database can judge is left to it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
};

use serde::de::IgnoredAny;

use super::{Failure, past::parse_past};

/// The largest content of one message: as much as the setting `max_payload_size` can be.
const CONTENT_BYTES_MAX: u64 = 64 << 20;
/// The longest wait and the longest time to expiry. Longer ones are slips, and PostgreSQL's times end.
const DAYS_MAX: f64 = 36_500.0;
const SHAPE_OF_TIME: &str = "expected a time such as 30s, 10m, 2h, 1d";
const SHAPE_OF_MOMENT: &str =
    "expected a time with its offset such as 2030-05-01T09:00:00Z or 2030-05-01T09:00:00+02:00";
/// The longest idempotency or ordering key.
const KEY_LENGTH_MAX: usize = 255;

/// The argument of a command, or standard input if it is `-` or not there: one JSON value.
pub fn read_payload(argument: Option<&str>) -> Result<String, Failure> {
    let text = match argument {
        Some("-") | None => {
            if io::stdin().is_terminal() {
                eprintln!("Type the payload and end it with Ctrl-D:");
            }
            let bytes = read_bytes("-")?;
            String::from_utf8(bytes).map_err(|error| usage("the payload", &error))?
        }
        Some(payload) => payload.to_owned(),
    };
    check_json(&text).map_err(|error| usage("the payload", &error))?;
    Ok(text)
}

/// JSON as an option has it: itself, `@FILE`, or `-` for standard input.
pub fn read_json(option: &str, argument: &str) -> Result<String, Failure> {
    let path = if argument == "-" { Some("-") } else { argument.strip_prefix('@') };
    let text = match path {
        Some(path) => {
            String::from_utf8(read_bytes(path)?).map_err(|error| usage(option, &error))?
        }
        None => argument.to_owned(),
    };
    check_json(&text).map_err(|error| usage(option, &error))?;
    Ok(text)
}

/// A file, or standard input for `-`, as it is.
pub fn read_bytes(path: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let reader = open(path)?.take(CONTENT_BYTES_MAX + 1).read_to_end(&mut bytes);
    let length = reader.map_err(|error| usage(path, &error))?;
    if length as u64 > CONTENT_BYTES_MAX {
        let text = format!("{path}: must have at most {CONTENT_BYTES_MAX} bytes, has more");
        return Err(Failure::Usage(text));
    }
    Ok(bytes)
}

/// A file, or standard input for `-`.
pub fn open(path: &str) -> Result<Box<dyn BufRead>, Failure> {
    if path == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| usage(path, &error))?;
    Ok(Box::new(BufReader::new(file)))
}

/// What is wrong with something that was given to us.
pub fn usage(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{what}: {error}"))
}

/// Whether this is one JSON value. It stays text, because a parsed number loses digits.
pub fn check_json(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ())
}

/// A JSON value, for an argument.
pub fn parse_json(text: &str) -> Result<String, String> {
    check_json(text).map_err(|error| error.to_string())?;
    Ok(text.trim().to_owned())
}

/// A JSON object, for an argument.
pub fn parse_object(text: &str) -> Result<String, String> {
    let text = parse_json(text)?;
    if text.starts_with('{') { Ok(text) } else { Err("expected a JSON object".to_owned()) }
}

/// A JSON object or null, for an argument.
pub fn parse_object_or_null(text: &str) -> Result<String, String> {
    let is_null = parse_json(text)? == "null";
    if is_null { Ok("null".to_owned()) } else { parse_object(text) }
}

/// An idempotency or ordering key.
pub fn parse_key(text: &str) -> Result<String, String> {
    match text.chars().count() {
        1..=KEY_LENGTH_MAX => Ok(text.to_owned()),
        length => Err(format!("expected 1 to {KEY_LENGTH_MAX} characters, got {length}")),
    }
}

/// A message's id, also as receivers see it: `1024`, `msg_1024`.
pub fn parse_message(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix("msg_").unwrap_or(text);
    let id = digits.bytes().all(is_digit).then(|| digits.parse().ok()).flatten();
    id.filter(|id| *id > 0).ok_or_else(|| {
        format!(
            "expected a message's id, from 1 to {}, such as 1024 or msg_1024, got {text}",
            i64::MAX
        )
    })
}

/// `name=value`, with the name and the value of a header.
pub fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `90`, `90s`, `10m`, `2h`, `1d` in seconds.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3_600.0),
        Some((end, 'd')) => (&text[..end], 86_400.0),
        _ => (text, 1.0),
    };
    match number.parse::<f64>().map(|number| number * factor) {
        Ok(seconds) if seconds > 0.0 && seconds <= DAYS_MAX * 86_400.0 => Ok(seconds),
        Ok(seconds) if seconds.is_finite() => {
            Err(format!("expected more than 0 and at most {DAYS_MAX}d, got {text}"))
        }
        _ => Err(SHAPE_OF_TIME.to_owned()),
    }
}

/// How long an execution may wait until it is started.
pub fn parse_ttl(text: &str) -> Result<f64, String> {
    parse_seconds_from(text, 1.0, "1 second")
}

/// How long an execution may run.
pub fn parse_timeout(text: &str) -> Result<f64, String> {
    parse_seconds_from(text, 0.001, "1 millisecond")
}

/// A time of an execution: at least `shortest`, and not longer than the database allows.
fn parse_seconds_from(text: &str, shortest: f64, name: &str) -> Result<f64, String> {
    const LONGEST: f64 = 30.0 * 86_400.0;
    let rule = || format!("must be between {name} and 30 days, got {text}");
    match parse_seconds(text) {
        Ok(seconds) if (shortest..=LONGEST).contains(&seconds) => Ok(seconds),
        Err(error) if error.starts_with(SHAPE_OF_TIME) => Err(error),
        Ok(_) | Err(_) => Err(rule()),
    }
}

/// A moment as RFC 3339 writes it; seconds may be left out. It stays text, which the database reads
/// alike. A time without its offset is refused: it would be one of the server's time zone.
pub fn parse_moment(text: &str) -> Result<String, String> {
    const SHAPE: &str = SHAPE_OF_MOMENT;
    if !text.is_ascii() || text.len() < 17 || !matches!(&text[10..11], "T" | "t" | " ") {
        return Err(SHAPE.to_owned());
    }
    let (date, rest) = (&text[..10], &text[11..]);
    let (time, offset) = rest.split_at(rest.find(['Z', 'z', '+', '-']).ok_or(SHAPE)?);
    let offset = if offset.eq_ignore_ascii_case("z") { "+00:00" } else { offset };
    let (seconds, fraction) = match time.get(5..) {
        Some("") => ("00", "0"),
        Some(seconds) => {
            let seconds = seconds.strip_prefix(':').ok_or(SHAPE)?;
            seconds.split_once('.').unwrap_or((seconds, "0"))
        }
        None => return Err(SHAPE.to_owned()),
    };
    let is_fraction = matches!(fraction.len(), 1..=9) && fraction.bytes().all(is_digit);
    let is_punctuated = date[4..5] == *"-"
        && date[7..8] == *"-"
        && time[2..3] == *":"
        && offset.len() == 6
        && offset[3..4] == *":";
    if !is_punctuated || !is_fraction {
        return Err(SHAPE.to_owned());
    }
    check_day(date)?;
    part("hour", &time[..2], 0, 23)?;
    part("minute", &time[3..5], 0, 59)?;
    part("second", seconds, 0, 59)?;
    part("hour of the offset", &offset[1..3], 0, 15)?;
    part("minute of the offset", &offset[4..], 0, 59)?;
    Ok(text.to_owned())
}

/// Whether there is such a day, written as `2030-05-01`.
pub fn check_day(date: &str) -> Result<(), String> {
    let year = part("year", &date[..4], 1, 9999)?;
    let month = part("month", &date[5..7], 1, 12)?;
    part("day", &date[8..], 1, days_in_month(year, month))?;
    Ok(())
}

/// A part of a moment, within its bounds.
fn part(name: &str, digits: &str, lowest: u32, highest: u32) -> Result<u32, String> {
    let is_number = digits.len() == if name == "year" { 4 } else { 2 };
    if !is_number || !digits.bytes().all(is_digit) {
        return Err(SHAPE_OF_MOMENT.to_owned());
    }
    match digits.parse() {
        Ok(number) if (lowest..=highest).contains(&number) => Ok(number),
        _ => Err(format!("the {name} must be between {lowest} and {highest}, got {digits}")),
    }
}

/// Where to begin in the log: `beginning`, `now`, a moment, or a message's id.
pub fn parse_start(text: &str) -> Result<String, String> {
    let is_id = matches!(text.len(), 1..=18) && text.bytes().all(is_digit);
    if is_id || ["beginning", "now"].contains(&text) {
        return Ok(text.to_owned());
    }
    let explain = |error| format!("expected beginning, now, a message's id or a time; {error}");
    parse_past(text).map_err(explain)
}

/// An event type, or a pattern: `order.*`, `*`.
pub fn parse_event_pattern(text: &str) -> Result<String, String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_letter);
    let name = text.strip_suffix(".*").unwrap_or(text);
    if text == "*" || (text.len() <= 200 && name.split('.').all(is_part)) {
        return Ok(text.to_owned());
    }
    Err("expected an event type, or a pattern such as order.* or *".to_owned())
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn days_in_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_units_and_a_bound() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("1.5m", 90.0),
            ("2h", 7_200.0),
            ("1d", 86_400.0),
            ("36500d", 36_500.0 * 86_400.0),
        ] {
            assert_eq!(parse_seconds(text), Ok(seconds), "{text}");
        }
        for text in ["", "s", "-1s", "0", "1w", "inf", "nan", "1 m", "36501d", "1e300d", "1e300"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
        assert!(parse_seconds("36501d").unwrap_err().contains("at most 36500d"));
    }

    #[test]
    fn times_of_executions_have_the_bounds_of_the_database() {
        for text in ["1s", "0.5m", "30d"] {
            assert!(parse_ttl(text).is_ok() && parse_timeout(text).is_ok(), "{text}");
        }
        assert_eq!(parse_timeout("0.001"), Ok(0.001));
        for text in ["0", "0s", "0.5s", "-1s", "31d", "36501d"] {
            let rule = format!("must be between 1 second and 30 days, got {text}");
            assert_eq!(parse_ttl(text), Err(rule));
        }
        let rule = "must be between 1 millisecond and 30 days, got 0s";
        assert_eq!(parse_timeout("0s").unwrap_err(), rule);
        assert_eq!(parse_ttl("soon").unwrap_err(), SHAPE_OF_TIME);
    }

    #[test]
    fn moments_have_an_offset() {
        for text in [
            "2030-05-01T09:00:00Z",
            "2030-05-01t09:00:00z",
            "2030-05-01 09:00:00.123456+02:00",
            "2030-05-01T09:00Z",
            "2028-02-29T23:59:59-11:30",
            "2000-02-29T00:00:00Z",
        ] {
            assert_eq!(parse_moment(text).as_deref(), Ok(text));
        }
        let shape = "expected a time with its offset";
        for (text, wrong) in [
            ("", shape),
            ("tomorrow", shape),
            ("2030-05-01", shape),
            ("2030-05-01T09:00:00", shape),
            ("2030-05-01T09:00:00+02", shape),
            ("2030-05-01T09:00:00+2:00", shape),
            ("2030-05-01T09:00:00.Z", shape),
            ("2030-05-01T09:00:0Z", shape),
            ("2030-05-01T9:00:00.00Z", shape),
            ("2030-05-01T+9:00:00Z", shape),
            ("20300-05-01T09:00:00Z", shape),
            ("2030-05-0éT09:00:00Z", shape),
            ("2030-05-01TZ9:00:00Z", shape),
            ("2030-05-+1T09:00:00Z", shape),
            ("2030-02-29T09:00:00Z", "the day must be between 1 and 28, got 29"),
            ("2100-02-29T09:00:00Z", "the day must be between 1 and 28, got 29"),
            ("2030-13-01T09:00:00Z", "the month must be between 1 and 12, got 13"),
            ("2030-05-01T24:00:00Z", "the hour must be between 0 and 23, got 24"),
            (
                "2030-05-01T09:00:00+16:00",
                "the hour of the offset must be between 0 and 15, got 16",
            ),
        ] {
            let error = parse_moment(text).unwrap_err();
            assert!(error.starts_with(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn a_start_is_a_word_a_moment_or_an_id() {
        for text in ["now", "beginning", "0", "123456789012345678", "2030-05-01T09:00:00Z"] {
            assert_eq!(parse_start(text).as_deref(), Ok(text));
        }
        assert_eq!(parse_start("2030-05-01").as_deref(), Ok("2030-05-01T00:00:00Z"));
        for text in ["", "Now", "-1", "1234567890123456789", "2030-05-1"] {
            let error = parse_start(text).unwrap_err();
            assert!(error.starts_with("expected beginning, now, a message's id or"), "{error}");
        }
    }

    #[test]
    fn messages_have_two_names() {
        for (text, id) in [("1", 1), ("msg_1024", 1024), ("9223372036854775807", i64::MAX)] {
            assert_eq!(parse_message(text), Ok(id));
        }
        for text in
            ["", "0", "msg_", "msg_0", "-1", "+1", "MSG_1", "msg_msg_1", "9223372036854775808"]
        {
            assert!(
                parse_message(text).unwrap_err().starts_with("expected a message's id, from 1"),
                "{text}"
            );
        }
    }

    #[test]
    fn event_types_may_be_patterns() {
        for text in ["*", "order.*", "order.line-2.*", "order", "a_b.c"] {
            assert_eq!(parse_event_pattern(text).as_deref(), Ok(text));
        }
        for text in ["", ".*", "order.", "order.*.x", "o*", "order*", "ä", &"a".repeat(201)] {
            assert!(parse_event_pattern(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        assert_eq!(parse_object(" {\"n\": 1.10} ").as_deref(), Ok("{\"n\": 1.10}"));
        assert!(parse_object("[1]").is_err());
        assert!(parse_object("{").is_err());
        assert_eq!(parse_object_or_null(" null ").as_deref(), Ok("null"));
        assert_eq!(parse_object_or_null("{}").as_deref(), Ok("{}"));
        assert!(parse_object_or_null("5").is_err());
        assert_eq!(parse_key("ä").as_deref(), Ok("ä"));
        assert_eq!(parse_key("").unwrap_err(), "expected 1 to 255 characters, got 0");
        assert!(parse_key(&"ä".repeat(255)).is_ok());
        assert!(parse_key(&"ä".repeat(256)).is_err());
        assert_eq!(parse_header("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(parse_header("x-y = z"), Ok(("x-y".to_owned(), "z".to_owned())));
        assert!(parse_header("a").is_err());
    }
}
