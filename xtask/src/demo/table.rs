//! What the demo adds up to, as a table.

use std::{fmt, time::Duration};

use postrider_testkit::ledger::{Latency, Report};

use super::{DESTINATIONS, EMAIL, projection::Reading};

/// The ledgers of the destinations and of all together, and what else is worth knowing.
pub struct Summary {
    /// One per destination.
    pub columns: Vec<Report>,
    pub total: Report,
    /// Orders that the warehouse refused at first.
    pub refused_count: usize,
    /// Whether each of those was accepted later, under the id under which it was refused.
    pub redriven_ids_match: bool,
    /// From the first order to the last.
    pub open_for: Duration,
    /// What each destination accepted in that time.
    pub delivered_while_open: Vec<usize>,
    /// From the kill to the takeover.
    pub takeover: Option<Duration>,
    pub order_count: i64,
    pub sent_by_long_transaction: usize,
    /// What the pull consumer did.
    pub reading: Reading,
    /// Whether it entered what committed, all of it, and each message once.
    pub each_was_entered_once: bool,
}

impl Summary {
    /// Whether every guarantee held, and everything happened that was to be shown.
    pub fn is_balanced(&self) -> bool {
        let mut reports = self.columns.iter().chain([&self.total]);
        reports.all(Report::is_balanced)
            && self.total.delivered_count == self.total.committed_count
            && self.total.dead_lettered_count == 0
            && self.refused_count > 0
            && self.redriven_ids_match
            && self.takeover.is_some()
            && self.each_was_entered_once
            && self.reading.rolled_back_count > 0
    }

    /// A line of the table: a name, the destinations, all together.
    fn row(
        &self,
        formatter: &mut fmt::Formatter<'_>,
        name: &str,
        value: impl Fn(&Report) -> String,
    ) -> fmt::Result {
        let values = self.columns.iter().chain([&self.total]).map(value);
        cells(formatter, name, values)
    }

    fn counts(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        type Count = fn(&Report) -> usize;
        let counts: [(&str, Count); 9] = [
            ("committed", |report| report.committed_count),
            ("delivered", |report| report.delivered_count),
            ("lost", |report| report.lost.len()),
            ("left in the dead letter queue", |report| report.dead_lettered_count),
            ("rolled back", |report| report.rolled_back_count),
            ("seen though never committed", |report| report.phantoms.len() + report.altered.len()),
            ("delivered again, with a cause", |report| {
                report.duplicates.len() - report.unexplained().count()
            }),
            ("delivered again, without a cause", |report| report.unexplained().count()),
            ("requests received", |report| report.request_count),
        ];
        for (name, count) in counts {
            self.row(formatter, name, |report| counted(count(report)))?;
        }
        Ok(())
    }

    /// Rates while the shop was open.
    fn rates(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.open_for.as_secs_f64();
        let rate = |count: usize| counted((count as f64 / seconds) as usize);
        self.row(formatter, "committed per second", |report| rate(report.committed_count))?;
        let all = self.delivered_while_open.iter().sum();
        let delivered = self.delivered_while_open.iter().chain([&all]);
        cells(formatter, "delivered per second", delivered.map(|&count| rate(count)))
    }

    fn latencies(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        type Quantile = fn(&Latency) -> Duration;
        let quantiles: [(&str, Quantile); 4] = [
            ("commit to delivery: half within", |latency| latency.median),
            ("  9 of 10 within", |latency| latency.p90),
            ("  99 of 100 within", |latency| latency.p99),
            ("  all within", |latency| latency.maximum),
        ];
        for (name, quantile) in quantiles {
            self.row(formatter, name, |report| {
                report.latency.as_ref().map_or_else(String::new, |latency| timed(quantile(latency)))
            })?;
        }
        Ok(())
    }

    fn story(&self) -> String {
        let email = &self.columns[EMAIL];
        let accepted_count = email.delivered_count + email.duplicates.len();
        let failed_count = email.request_count.saturating_sub(accepted_count);
        let explained_count = self.total.duplicates.len() - self.total.unexplained().count();
        let takeover = self.takeover.map_or_else(|| "never".to_owned(), timed);
        format!(
            "  {orders} orders committed, each with its messages.\n  \
             The {long} messages of the transaction that stayed open arrived after its commit; \
             nobody waited for it.\n  \
             email answered 503 to {failed} requests; each of those messages was retried.\n  \
             warehouse refused {refused} orders with 400: dead letters, redriven, and accepted under \
             the same ids: {are_same}.\n  \
             Dispatcher 1 was killed; dispatcher 2 owned all shards {takeover} later.\n  \
             {again} messages were delivered again: accepted, but not yet on record when it died.\n  \
             A pull consumer read {read} messages in {batches} batches; {undone} were rolled back and \
             came again; each message was entered exactly once: {is_once}.\n",
            orders = counted(self.order_count.unsigned_abs() as usize),
            long = self.sent_by_long_transaction,
            failed = counted(failed_count),
            refused = self.refused_count,
            are_same = if self.redriven_ids_match { "yes" } else { "NO" },
            again = counted(explained_count),
            read = counted(self.reading.entered.len()),
            batches = counted(self.reading.batch_count as usize),
            undone = counted(self.reading.rolled_back_count as usize),
            is_once = if self.each_was_entered_once { "yes" } else { "NO" },
        )
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "\nThe ledger: messages by destination")?;
        let names = DESTINATIONS.iter().chain(&["all"]).map(|name| (*name).to_owned());
        cells(formatter, "", names)?;
        self.counts(formatter)?;
        self.rates(formatter)?;
        self.latencies(formatter)?;
        write!(formatter, "\nWhat happened on the way\n{}", self.story())?;
        if self.is_balanced() {
            return writeln!(formatter, "\nThe ledger adds up.");
        }
        writeln!(formatter, "\nThe ledger DOES NOT ADD UP.\n\n{}", self.total)
    }
}

fn cells(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    values: impl IntoIterator<Item = String>,
) -> fmt::Result {
    write!(formatter, "  {name:<34}")?;
    for value in values {
        write!(formatter, "{value:>12}")?;
    }
    writeln!(formatter)
}

/// With a comma every three digits.
fn counted(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn timed(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people() {
        let counts = [0, 999, 1_000, 1_234_567].map(counted);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(timed(Duration::from_micros(4_240)), "4.2 ms");
        assert_eq!(timed(Duration::from_millis(7_250)), "7.2 s");
    }
}
