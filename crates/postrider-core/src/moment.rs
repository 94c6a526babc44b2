//! Time as a value.

use std::time::Duration;

/// A moment in microseconds, by the clock that the caller goes by: the database's, or one of its own that never
/// goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    pub fn after(self, wait: Duration) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)))
    }

    /// What is to come, by a clock that says `now` and has been set back. What is not far ahead was said after that.
    pub fn set_back(self, by: Duration, now: Moment) -> Moment {
        let back = |by: Duration| i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        if self <= now.after(by / 2) {
            return self;
        }
        Moment(self.0.saturating_sub(back(by)))
    }
}

/// Microseconds since 1970 as RFC 3339 has them, in UTC: `2026-11-25T04:17:30.123456Z`.
pub fn rfc3339(microseconds: i64) -> String {
    let (seconds, rest) = (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000));
    format!("{}.{rest:06}Z", date_time(seconds))
}

/// Seconds since 1970 as a date and a time in UTC: `2026-11-25T04:17:30`.
pub fn date_time(seconds: i64) -> String {
    let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that the leap day is the last one of its year; an era has 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (951_868_800, "2000-03-01T00:00:00.000000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.000000Z"),
            (1_795_580_250, "2026-11-25T04:17:30.000000Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000), expected);
        }
        assert_eq!(rfc3339(123_456), "1970-01-01T00:00:00.123456Z");
    }

    /// Judged by another calendar.
    #[test]
    fn any_moment_is_that_of_an_http_date() {
        let mut seconds: u64 = 1;
        while seconds < 250_000_000_000 {
            let date = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
            let http = httpdate::HttpDate::from(date).to_string();
            let ours = rfc3339(seconds as i64 * 1_000_000);
            let (date, time) = ours.split_once('T').unwrap();
            let words: Vec<&str> = http.split(' ').collect();
            assert_eq!(date[..4], *words[3], "{http} {ours}");
            assert_eq!(date[8..10], *words[1], "{http} {ours}");
            assert_eq!(time[..8], *words[4], "{http} {ours}");
            seconds += seconds / 97 + 86_399;
        }
    }
}
