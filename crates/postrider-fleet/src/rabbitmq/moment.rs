//! Moments as RFC 3339 writes them, in UTC.

use postrider_core::moment::date_time;

/// A moment, from milliseconds since 1970; in whole seconds without a fraction. After 1970 only.
pub fn rfc3339(unix_ms: u64) -> String {
    let (seconds, milliseconds) = (unix_ms / 1_000, unix_ms % 1_000);
    let fraction = if milliseconds > 0 { format!(".{milliseconds:03}") } else { String::new() };
    format!("{}{fraction}Z", date_time(seconds as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (unix_ms, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(unix_ms), expected);
        }
    }
}
