//! How words of a status are coloured, where colours are wanted.

use std::io::IsTerminal;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// The columns whose words are coloured.
const COLOURED: [&str; 7] =
    ["status", "state", "circuit", "circuit_state", "health", "outcome", "level"];

const GOOD: [&str; 11] = [
    "healthy",
    "completed",
    "closed",
    "ok",
    "accepted",
    "succeeded",
    "active",
    "idle",
    "busy",
    "live",
    "delivered",
];
const UNDECIDED: [&str; 12] = [
    "degraded",
    "half_open",
    "retrying",
    "cancelling",
    "draining",
    "cordoned",
    "stale",
    "warning",
    "skipped",
    "expired",
    "cancelled",
    "paused",
];
const BAD: [&str; 10] = [
    "unhealthy",
    "failed",
    "open",
    "dead",
    "timeout",
    "rejected",
    "unavailable",
    "left",
    "error",
    "critical",
];

/// Whether what is written there is coloured: `choice` if it says so; otherwise on a terminal, unless NO_COLOR is
/// set or the terminal is dumb (and `CI` is not set), or where CLICOLOR_FORCE is set.
pub fn is_coloured(
    choice: clap::ColorChoice,
    stream: &(impl IsTerminal + anstream::stream::RawStream),
) -> bool {
    match choice {
        clap::ColorChoice::Always => true,
        clap::ColorChoice::Never => false,
        clap::ColorChoice::Auto => AutoStream::choice(stream) != ColorChoice::Never,
    }
}

/// A piece of a cell, coloured by what the whole cell says.
pub fn paint(column: &str, cell: &str, piece: &str) -> String {
    let colour = match cell {
        _ if !COLOURED.contains(&column) => return piece.to_owned(),
        good if GOOD.contains(&good) => AnsiColor::Green,
        undecided if UNDECIDED.contains(&undecided) => AnsiColor::Yellow,
        bad if BAD.contains(&bad) => AnsiColor::Red,
        _ => return piece.to_owned(),
    };
    let style = colour.on_default();
    format!("{style}{piece}{style:#}")
}

/// A heading.
pub fn strong(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_is_coloured_and_each_word_once() {
        assert_eq!(paint("status", "healthy", "healthy"), "\u{1b}[32mhealthy\u{1b}[0m");
        assert_eq!(paint("circuit", "open", "open"), "\u{1b}[31mopen\u{1b}[0m");
        assert_eq!(paint("name", "open", "open"), "open");
        assert_eq!(paint("status", "pending", "pending"), "pending");
        let words = [GOOD.as_slice(), &UNDECIDED, &BAD].concat();
        let distinct: std::collections::BTreeSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
    }
}
