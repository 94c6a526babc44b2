//! How results are shown: tables on a terminal, aligned columns in a pipe, JSON for programs.

use std::io::{self, ErrorKind, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use serde_json::{Value, json};

use super::Failure;

/// How long a line may be where there is no terminal that says it.
const LINE_WIDTH: usize = 120;
/// How much of a line's content is shown at least.
const CONTENT_WIDTH: usize = 20;

/// Where and how results are shown.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    is_terminal: bool,
}

impl Output {
    /// JSON, or text for whoever reads standard output.
    pub fn new(json: bool) -> Self {
        Self { json, is_terminal: io::stdout().is_terminal() }
    }

    /// Whether results are for programs.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// How many characters a line may have.
    pub fn width(&self) -> usize {
        Table::new().width().map_or(80, usize::from)
    }

    /// Shows objects as a table of some of their fields, or says `nothing`.
    pub fn list(&self, rows: &[Value], columns: &[&str], nothing: &str) {
        if self.json {
            self.value(&Value::from(rows));
        } else if rows.is_empty() {
            print(nothing);
        } else {
            print(&self.table(rows, columns));
        }
    }

    /// Shows one object, field by field.
    pub fn object(&self, object: &Value) {
        if self.json { self.value(object) } else { print(&self.fields(object)) }
    }

    /// An object as text, a field a line.
    pub fn fields(&self, object: &Value) -> String {
        let fields: Vec<_> = object.as_object().into_iter().flatten().collect();
        let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let line = |(name, value): &(&String, &Value)| format!("{name:width$}  {}", cell(value));
        fields.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Says what was done: in a sentence, or as the object.
    pub fn done(&self, object: &Value, sentence: &str) {
        if self.json { self.value(object) } else { print(sentence) }
    }

    /// Shows a result that has its own form for people.
    pub fn report(&self, object: &Value, text: impl FnOnce() -> String) {
        if self.json { self.value(object) } else { print(&text()) }
    }

    /// Shows one of many results on a line of its own: this JSON as it is, or the fields and as much of
    /// the content as fits.
    pub fn line(&self, json: &str, fields: &[String], content: &str) {
        if self.json {
            return print(json);
        }
        let width = Table::new().width().map_or(LINE_WIDTH, usize::from);
        print(&line(fields, content, width));
    }

    /// A table as text.
    pub fn table(&self, rows: &[Value], columns: &[&str]) -> String {
        let header = columns.iter().map(|column| column.replace('_', " "));
        let lines = rows.iter().map(|row| columns.iter().map(|column| cell(&row[*column])));
        if self.is_terminal {
            let mut table = Table::new();
            table.load_style(UTF8_FULL_CONDENSED);
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_header(header);
            for line in lines {
                table.add_row(line);
            }
            return table.to_string();
        }
        let mut lines: Vec<Vec<String>> = lines.map(Iterator::collect).collect();
        lines.insert(0, header.map(|name| name.to_uppercase()).collect());
        aligned(&lines)
    }

    /// Says on standard error why the command failed.
    pub fn failure(&self, failure: &Failure) {
        let text = failure.text();
        // Nothing can be done for a reader who has gone.
        let _ = if self.json {
            writeln!(io::stderr(), "{}", json!({ "error": text }))
        } else {
            writeln!(io::stderr(), "postrider: {text}")
        };
    }

    /// Says something on standard error that is not a result.
    pub fn notice(&self, text: &str) {
        let _ = writeln!(io::stderr(), "postrider: {text}");
    }

    /// Writes text as it is, for `--print`.
    pub fn raw(&self, text: &str) {
        print(text.trim_end());
    }

    fn value(&self, value: &Value) {
        let text = if self.is_terminal { format!("{value:#}") } else { value.to_string() };
        print(&text);
    }
}

/// Whoever reads us may stop at any time, as `head` does: that ends the process without a word.
fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "postrider: could not write the result: {error}");
            std::process::exit(1);
        }
    }
}

fn aligned(lines: &[Vec<String>]) -> String {
    let column_count = lines.first().map(Vec::len).unwrap_or_default();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<_> =
        (0..column_count).map(|column| width(column).unwrap_or_default()).collect();
    let text = |line: &Vec<String>| {
        let cells: Vec<_> =
            line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    lines.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// What does not fit is cut off the content, but for a beginning.
fn line(fields: &[String], content: &str, width: usize) -> String {
    let mut text = fields.iter().map(|field| clean(field)).collect::<Vec<_>>().join("  ");
    text.push_str("  ");
    let content = clean(content);
    let room = width.saturating_sub(text.chars().count()).max(CONTENT_WIDTH);
    if content.chars().count() <= room {
        return text + &content;
    }
    text.extend(content.chars().take(room - 1));
    text.push('…');
    text
}

/// A value on one line, without control characters: what a receiver answered must not be able to
/// speak to our terminal.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return "-".to_owned(),
        Value::Bool(true) => return "yes".to_owned(),
        Value::Bool(false) => return "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    clean(&text)
}

/// Text on one line, without control characters.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => clean.push(' '),
            character if character.is_control() => clean.extend(character.escape_default()),
            character => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_in_a_pipe() {
        let output = Output { json: false, is_terminal: false };
        let rows = [json!({"name": "a", "waiting_count": 5}), json!({"name": "länger"})];
        let table = output.table(&rows, &["name", "waiting_count"]);
        assert_eq!(table, "NAME    WAITING COUNT\na       5\nlänger  -");
    }

    #[test]
    fn a_line_is_cut_at_its_end() {
        let fields = ["7".to_owned(), "a\tb".to_owned()];
        assert_eq!(line(&fields, "short\u{1b}", 40), "7  a\\tb  short\\u{1b}");
        assert_eq!(line(&fields, &"ä".repeat(40), 30), format!("7  a\\tb  {}…", "ä".repeat(20)));
        assert_eq!(line(&fields, &"ä".repeat(40), 10), format!("7  a\\tb  {}…", "ä".repeat(19)));
    }

    #[test]
    fn an_answer_cannot_speak_to_the_terminal() {
        assert_eq!(cell(&json!("a\u{1b}[2Jb\nc")), "a\\u{1b}[2Jb c");
    }
}
