//! The table of results.

use std::fmt;

/// What a line has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The ratio, at least.
    AtLeast(f64),
    /// The ratio, above.
    Above(f64),
    /// The ratio, at most.
    AtMost(f64),
    /// The measured value, below so many milliseconds.
    BelowMs(f64),
    /// The measured value, at least so many a second.
    AtLeastPerSecond(f64),
    /// The measured value, at most so many buffers.
    AtMostBuffers(f64),
    /// Nothing: for information.
    None,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Line {
    pub what: String,
    pub measured: String,
    pub comparison: String,
    /// What the target is about: a ratio, milliseconds, a rate, or buffers.
    pub value: f64,
    pub target: Target,
}

/// All lines, and where they were measured.
#[derive(Debug)]
pub struct Report {
    /// Name and value.
    machine: Vec<(String, String)>,
    pub lines: Vec<Line>,
}

const HEADINGS: [&str; 6] = ["what", "measured", "comparison", "ratio", "target", "verdict"];

impl Target {
    fn verdict(self, value: f64) -> &'static str {
        let is_met = match self {
            Self::AtLeast(bound) => value >= bound,
            Self::Above(bound) => value > bound,
            Self::AtLeastPerSecond(bound) => value >= bound,
            Self::AtMost(bound) | Self::AtMostBuffers(bound) => value <= bound,
            Self::BelowMs(bound) => value < bound,
            Self::None => return "",
        };
        if is_met { "met" } else { "missed" }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(formatter, "≥ {bound}"),
            Self::Above(bound) => write!(formatter, "> {bound}"),
            Self::AtMost(bound) => write!(formatter, "≤ {bound}"),
            Self::BelowMs(bound) => write!(formatter, "< {bound} ms"),
            Self::AtLeastPerSecond(bound) => write!(formatter, "≥ {}", per_second(*bound)),
            Self::AtMostBuffers(bound) => write!(formatter, "≤ {bound}"),
            Self::None => formatter.write_str("–"),
        }
    }
}

impl Line {
    fn cells(&self) -> [String; 6] {
        let ratio = match self.target {
            Target::BelowMs(_) | Target::AtLeastPerSecond(_) | Target::AtMostBuffers(_) => {
                "–".to_owned()
            }
            _ if self.value.is_nan() => "–".to_owned(),
            _ => format!("{:.2}", self.value),
        };
        [
            self.what.clone(),
            self.measured.clone(),
            self.comparison.clone(),
            ratio,
            self.target.to_string(),
            self.target.verdict(self.value).to_owned(),
        ]
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.cells().join(" | ").trim_end_matches([' ', '|']))
    }
}

impl Report {
    pub fn new(machine: Vec<(String, String)>) -> Self {
        Self { machine, lines: Vec::new() }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.machine {
            text.push_str(&format!("{name}: {value}\n"));
        }
        let rows: Vec<[String; 6]> = std::iter::once(HEADINGS.map(str::to_owned))
            .chain(self.lines.iter().map(Line::cells))
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
        text.push('\n');
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// For docs/benchmarks.md.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.machine {
            text.push_str(&format!("- {name}: {value}\n"));
        }
        text.push_str(&format!("\n| {} |\n", HEADINGS.join(" | ")));
        text.push_str(&format!("|{}\n", "---|".repeat(HEADINGS.len())));
        for line in &self.lines {
            text.push_str(&format!("| {} |\n", line.cells().join(" | ")));
        }
        text
    }
}

/// A number with its thousands set apart.
pub fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits are ASCII"))
        .collect();
    groups.join(",")
}

/// A rate.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", count(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let cases = [(0.4, "0"), (999.0, "999"), (1000.0, "1,000"), (1_234_567.0, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn a_target_is_met_or_missed() {
        let cases = [
            (Target::AtLeast(0.75), 0.75, "met"),
            (Target::Above(1.0), 1.0, "missed"),
            (Target::AtMost(1.3), 1.31, "missed"),
            (Target::BelowMs(5.0), 4.9, "met"),
            (Target::AtLeastPerSecond(150_000.0), 149_999.0, "missed"),
            (Target::AtMostBuffers(50.0), 50.0, "met"),
            (Target::None, 0.0, ""),
        ];
        for (target, value, verdict) in cases {
            assert_eq!(target.verdict(value), verdict, "{target:?}");
        }
        assert_eq!(Target::AtLeast(f64::NAN).verdict(1.0), "missed");
    }
}
