//! `postrider policy`

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use postrider_core::policy::{OwnPolicy, Place, Policy as DeliveryPolicy, Simple};
use serde_json::{Value, json};

use super::{
    Context, Failure,
    input::{parse_message, usage},
    json_rows,
    output::Output,
};

const EXPLAIN_POLICY: &str = include_str!("../../../../sql/queries/policy/explain_policy.sql");

/// How many lines a chart has, each of eight steps.
const CHART_HEIGHT: u64 = 6;
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Show when failed deliveries are tried again
#[derive(Debug, clap::Args)]
pub struct Policy {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Explain(Explain),
}

/// Show the schedule of a retry policy, or the one that a message is on
///
/// A policy is checked and computed without a database: what a simple one leaves out has the settings'
/// defaults.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider policy explain '{\"max_retries\": 20, \"backoff\": \"linear\"}'
  postrider policy explain '{\"preset\": \"standard-webhooks\"}'
  postrider policy explain '{}' --for event-type
  postrider policy explain --message 1024")]
struct Explain {
    /// The policy, as JSON
    #[arg(required_unless_present = "message")]
    policy: Option<String>,
    /// Where it is to stand; says what a policy without keys means
    #[arg(long = "for", value_enum, default_value = "endpoint", value_name = "PLACE")]
    place: PolicyPlace,
    /// Show the schedules that a message's deliveries are on, and by which rule
    #[arg(
        long,
        value_name = "MESSAGE",
        conflicts_with_all = ["policy", "place"],
        value_parser = parse_message
    )]
    message: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyPlace {
    Endpoint,
    EventType,
    Subscription,
}

impl Policy {
    /// Whether it is about something that is stored.
    pub fn needs_database(&self) -> bool {
        let Action::Explain(explain) = &self.action;
        explain.message.is_some()
    }

    /// Explains a policy that was given.
    pub fn explain(&self, output: Output) -> Result<(), Failure> {
        let Action::Explain(Explain { policy, place, .. }) = &self.action;
        let text = policy.as_deref().unwrap_or_default();
        let value: Value = serde_json::from_str(text).map_err(|e| usage("the policy", &e))?;
        let place = match place {
            PolicyPlace::Endpoint => Place::Endpoint,
            PolicyPlace::EventType => Place::EventType,
            PolicyPlace::Subscription => Place::Subscription,
        };
        let own = OwnPolicy::parse(&value, place);
        let own = own.map_err(|error| Failure::Usage(error.to_string()))?;
        let policy = own.complete(&Simple::default());
        output.report(&as_json(&policy), || as_text(&policy, output));
        Ok(())
    }

    /// Explains the policies that a stored message's deliveries follow.
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let Action::Explain(Explain { message, .. }) = &self.action;
        let client = context.connect().await?.client;
        let mut rows = json_rows(&client, EXPLAIN_POLICY, &[message]).await?;
        for row in &mut rows {
            let wait = row["wait_ms"].as_u64().map(|wait| duration(Duration::from_millis(wait)));
            if !context.output.is_json() {
                row["wait"] = wait.into();
            }
        }
        let columns = ["endpoint_name", "rule", "attempt", "status", "wait", "expected_at"];
        context.output.list(&rows, &columns, "The message is for no endpoint that exists.");
        Ok(())
    }
}

/// The wait before an attempt, and the time since the first one: without jitter and with all of it.
struct Attempt {
    number: usize,
    waits: [Duration; 2],
    since_first: [Duration; 2],
}

fn attempts(policy: &DeliveryPolicy) -> Vec<Attempt> {
    let first = Attempt { number: 1, waits: Default::default(), since_first: Default::default() };
    let mut since_first = [Duration::ZERO; 2];
    let retries = (0..policy.max_retries()).map(|retry_count| {
        let waits = [0.0, 1.0].map(|dice| policy.wait(retry_count, dice));
        since_first = [since_first[0] + waits[0], since_first[1] + waits[1]];
        Attempt { number: retry_count as usize + 2, waits, since_first }
    });
    std::iter::once(first).chain(retries).collect()
}

fn as_json(policy: &DeliveryPolicy) -> Value {
    let milliseconds = |time: Duration| time.as_millis() as u64;
    let attempt = |attempt: &Attempt| {
        json!({
            "attempt": attempt.number,
            "wait_ms": milliseconds(attempt.waits[0]),
            "longest_wait_ms": milliseconds(attempt.waits[1]),
            "since_first_ms": milliseconds(attempt.since_first[0]),
            "latest_since_first_ms": milliseconds(attempt.since_first[1]),
        })
    };
    json!({
        "max_retries": policy.max_retries(),
        "jitter": policy.jitter(),
        "attempts": attempts(policy).iter().map(attempt).collect::<Vec<_>>(),
    })
}

fn as_text(policy: &DeliveryPolicy, output: Output) -> String {
    let attempts = attempts(policy);
    let mut columns = vec!["attempt", "wait", "since_first"];
    if policy.jitter() > 0.0 {
        columns = vec!["attempt", "wait", "longest_wait", "since_first", "latest_since_first"];
    }
    let row = |attempt: &Attempt| {
        json!({
            "attempt": attempt.number,
            "wait": duration(attempt.waits[0]),
            "longest_wait": duration(attempt.waits[1]),
            "since_first": duration(attempt.since_first[0]),
            "latest_since_first": duration(attempt.since_first[1]),
        })
    };
    let rows: Vec<Value> = attempts.iter().map(row).collect();
    let chart = chart(&policy.waits(), output.width());
    let parts = [output.table(&rows, &columns), chart, sentence(policy, &attempts)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn sentence(policy: &DeliveryPolicy, attempts: &[Attempt]) -> String {
    let [soonest, latest] = attempts.last().map(|last| last.since_first).unwrap_or_default();
    let time = match soonest == latest {
        true => duration(soonest),
        false => format!("{} to {}", duration(soonest), duration(latest)),
    };
    match policy.max_retries() {
        0 => "No retry: what fails is a dead letter at once.".to_owned(),
        1 => format!("1 retry after {time}; what fails then is a dead letter."),
        count => format!("{count} retries within {time}; what fails then is a dead letter."),
    }
}

/// The waits as columns, at most `width` characters wide. Empty where nothing waits.
fn chart(waits: &[Duration], width: usize) -> String {
    let longest = waits.iter().max().copied().unwrap_or_default();
    if longest.is_zero() {
        return String::new();
    }
    let label = duration(longest);
    let margin = label.chars().count().max(2);
    let room = width.saturating_sub(margin + 2).max(10);
    // Columns stand apart as long as there is room, and then for several retries.
    let gap = if waits.len() * 2 <= room { " " } else { "" };
    let share = waits.len().div_ceil(room);
    let tops: Vec<u128> = waits
        .chunks(share)
        .map(|waits| {
            let wait = waits.iter().max().copied().unwrap_or_default().as_micros();
            // Whatever waits is seen.
            (wait * u128::from(CHART_HEIGHT) * 8).div_ceil(longest.as_micros())
        })
        .collect();
    let mut lines: Vec<String> = (0..CHART_HEIGHT)
        .rev()
        .map(|line| {
            let name = match line {
                0 => "0s",
                line if line + 1 == CHART_HEIGHT => label.as_str(),
                _ => "",
            };
            let column = |top: &u128| match top.saturating_sub(u128::from(line) * 8).min(8) {
                0 => ' ',
                step => STEPS[step as usize - 1],
            };
            let columns: Vec<String> = tops.iter().map(|top| column(top).to_string()).collect();
            format!("{name:>margin$} │{}", columns.join(gap)).trim_end().to_owned()
        })
        .collect();
    lines.push(match share {
        1 => format!("{:margin$}  each column is the wait before a retry", ""),
        _ => format!("{:margin$}  each column is the longest wait before {share} retries", ""),
    });
    lines.join("\n")
}

/// A time in days, hours, minutes and seconds, without those that are zero.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let milliseconds = time.subsec_millis();
    let whole = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m")];
    let mut parts: Vec<String> = whole
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    match (seconds % 60, milliseconds) {
        (0, 0) if !parts.is_empty() => {}
        (seconds, 0) => parts.push(format!("{seconds}s")),
        (seconds, milliseconds) => {
            let fraction = format!("{milliseconds:03}");
            parts.push(format!("{seconds}.{}s", fraction.trim_end_matches('0')));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (milliseconds, text) in [
            (0, "0s"),
            (50, "0.05s"),
            (7_756, "7.756s"),
            (60_000, "1m"),
            (61_500, "1m 1.5s"),
            (86_400_000, "1d"),
            (272_105_000, "3d 3h 35m 5s"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn a_chart_shows_each_wait_within_its_width() {
        let seconds = |waits: &[u64]| -> Vec<Duration> {
            waits.iter().map(|wait| Duration::from_secs(*wait)).collect()
        };
        let drawn = chart(&seconds(&[0, 1, 24, 48]), 80);
        let expected = [
            "48s │      █",
            "    │      █",
            "    │      █",
            "    │    █ █",
            "    │    █ █",
            " 0s │  ▁ █ █",
            "     each column is the wait before a retry",
        ];
        assert_eq!(drawn.lines().collect::<Vec<_>>(), expected);
        for count in [1, 20, 33, 34, 70, 71, 999, 1_000] {
            let drawn = chart(&vec![Duration::from_secs(20); count], 76);
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(76), "{count}: {drawn}");
        }
        assert_eq!(chart(&seconds(&[0, 0]), 80), "");
        assert_eq!(chart(&[], 80), "");
    }
}
