//! When to speak of what goes wrong again and again.

use std::time::Duration;

use tokio::time::Instant;

/// How often trouble that lasts is logged.
const REMINDER: Duration = Duration::from_secs(60);

/// Trouble is logged when it begins, every minute while it lasts, and when it is over.
#[derive(Debug, Default)]
pub struct Trouble {
    logged_at: Option<Instant>,
}

impl Trouble {
    /// Whether to log it now.
    pub fn is_worth_logging(&mut self, now: Instant) -> bool {
        let is_due = self.logged_at.is_none_or(|at| now >= at + REMINDER);
        if is_due {
            self.logged_at = Some(now);
        }
        is_due
    }

    /// It is over; whether anybody has heard of it.
    pub fn end(&mut self) -> bool {
        self.logged_at.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_logged_once_a_minute_until_it_ends() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        assert!(trouble.is_worth_logging(now));
        assert!(!trouble.is_worth_logging(now + REMINDER / 2));
        assert!(trouble.is_worth_logging(now + REMINDER));
        assert!(trouble.end() && !trouble.end());
        assert!(trouble.is_worth_logging(now + REMINDER));
    }
}
