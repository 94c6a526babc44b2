//! How results are shown: tables for people, JSON for programs.

use std::{
    env,
    io::{self, ErrorKind, IsTerminal, Write},
};

use clap::ValueEnum;
use crossterm::terminal;
use serde_json::{Value, json};
use time::OffsetDateTime;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Failure, age, hint, table, tone};

/// How long a line may be where nothing says it.
const LINE_WIDTH: usize = 100;
/// Nobody can read less.
const LINE_WIDTH_MIN: usize = 20;
/// How much of a line's content is shown at least.
const CONTENT_WIDTH: usize = 20;
/// Columns with times that people want to know exactly.
const EXACT: [&str; 4] = ["from_ts", "to_ts", "from_at", "to_at"];

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// One JSON value
    Json,
    /// A JSON value on a line of its own for each row
    Jsonl,
}

/// Where and how results are shown.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    format: Format,
    is_terminal: bool,
    is_coloured: bool,
    colour: clap::ColorChoice,
    width: usize,
    now: OffsetDateTime,
    /// Whether what was shown before is to be written over.
    is_watched: bool,
}

impl Output {
    /// For whoever reads standard output.
    pub fn new(format: Format, colour: clap::ColorChoice) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self {
            format,
            is_terminal,
            is_coloured: tone::is_coloured(colour, &io::stdout()),
            colour,
            width: line_width(is_terminal, env::var("COLUMNS").ok().as_deref()),
            now: OffsetDateTime::now_utc(),
            is_watched: false,
        }
    }

    /// The same at a later time, in place of what is on the screen.
    pub fn again(&self) -> Self {
        Self { is_watched: true, ..Self::new(self.format, self.colour) }
    }

    /// When to colour, as it was asked for.
    pub fn colour(&self) -> clap::ColorChoice {
        self.colour
    }

    /// Whether results are for programs.
    pub fn is_json(&self) -> bool {
        self.format != Format::Table
    }

    /// How many characters a line may have.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Shows objects as a table of some of their fields, or says `nothing`.
    pub fn list(&self, rows: &[Value], columns: &[&str], nothing: &str) {
        match self.format {
            Format::Json => self.value(&Value::from(rows)),
            Format::Jsonl => rows.iter().for_each(|row| self.print(&row.to_string())),
            Format::Table if rows.is_empty() => self.print(nothing),
            Format::Table => self.print(&self.table(rows, columns)),
        }
    }

    /// Shows one object, field by field.
    pub fn object(&self, object: &Value) {
        if self.is_json() { self.value(object) } else { self.print(&self.fields(object)) }
    }

    /// An object as text, a field a line; what is too long goes on below itself.
    pub fn fields(&self, object: &Value) -> String {
        let fields: Vec<_> = object.as_object().into_iter().flatten().collect();
        let margin = fields.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        let room = self.width.saturating_sub(margin + 2);
        let indent = format!("\n{:margin$}  ", "");
        let field = |(name, value): &(&String, &Value)| {
            let text = field(value, self.now);
            let pieces =
                if text.width() > room { table::fold(&text, room) } else { vec![text.clone()] };
            let pieces: Vec<_> =
                pieces.iter().map(|piece| self.painted(name, &text, piece)).collect();
            format!("{name:margin$}  {}", pieces.join(&indent))
        };
        fields.iter().map(field).collect::<Vec<_>>().join("\n")
    }

    /// Says what was done: in a sentence, or as the object.
    pub fn done(&self, object: &Value, sentence: &str) {
        if self.is_json() { self.value(object) } else { self.print(sentence) }
    }

    /// Shows a result that has its own form for people.
    pub fn report(&self, object: &Value, text: impl FnOnce() -> String) {
        match (self.format, object) {
            (Format::Table, _) => self.print(&text()),
            (Format::Jsonl, Value::Array(rows)) => {
                rows.iter().for_each(|row| self.print(&row.to_string()));
            }
            _ => self.value(object),
        }
    }

    /// Shows one of many results on a line of its own: this JSON as it is, or the fields and as much of
    /// the content as fits.
    pub fn line(&self, json: &str, fields: &[String], content: &str) {
        if self.is_json() {
            return self.print(json);
        }
        self.print(&line(fields, content, self.width));
    }

    /// A table as text.
    pub fn table(&self, rows: &[Value], columns: &[&str]) -> String {
        let row =
            |row: &Value| columns.iter().map(|name| cell(name, &row[*name], self.now)).collect();
        let rows: Vec<Vec<Option<String>>> = rows.iter().map(row).collect();
        let paint = |column: &str, cell: &str, piece: &str| self.painted(column, cell, piece);
        let mut layout = table::lay_out(columns, &rows, self.width, &paint);
        if self.is_coloured {
            layout.lines[..layout.header_count]
                .iter_mut()
                .for_each(|line| *line = tone::strong(line));
        }
        let mut text = layout.lines.join("\n");
        if !layout.left_out.is_empty() {
            let note = format!(
                "Without {}, for which {} characters are not enough: --output json shows all.",
                layout.left_out.join(", "),
                self.width
            );
            text = format!("{text}\n{}", table::fold(&note, self.width).join("\n"));
        }
        text
    }

    /// A sentence in lines that fit.
    pub fn folded(&self, text: &str) -> String {
        table::fold(&clean(text), self.width).join("\n")
    }

    /// A heading over a part of a result.
    pub fn heading(&self, text: &str) -> String {
        if self.is_coloured { tone::strong(text) } else { text.to_owned() }
    }

    fn painted(&self, column: &str, cell: &str, piece: &str) -> String {
        if self.is_coloured { tone::paint(column, cell, piece) } else { piece.to_owned() }
    }

    /// Says on standard error why the command failed.
    pub fn failure(&self, failure: &Failure) {
        let text = hint::in_our_words(failure.text());
        // Nothing can be done for a reader who has gone.
        let _ = if self.is_json() {
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
        self.print(text.trim_end());
    }

    fn value(&self, value: &Value) {
        let is_for_people = self.is_terminal && self.format == Format::Json;
        let text = if is_for_people { format!("{value:#}") } else { value.to_string() };
        self.print(&text);
    }

    fn print(&self, text: &str) {
        if self.is_watched && self.is_terminal && self.format == Format::Table {
            // From the top, line by line over what stands there, and nothing below.
            let lines: Vec<_> = text.lines().map(|line| format!("{line}\x1b[K")).collect();
            let head = format!("{}  (Ctrl-C ends this)", age::exact(self.now));
            print(&format!("\x1b[H{head}\x1b[K\n{}\x1b[J", lines.join("\n")));
        } else {
            print(text);
        }
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

/// How long a line may be: as wide as the terminal, as the variable COLUMNS says, or as most can read.
fn line_width(is_terminal: bool, columns: Option<&str>) -> usize {
    let of_terminal = || terminal::size().ok().map(|(width, _)| usize::from(width));
    let width = if is_terminal { of_terminal().filter(|&width| width > 0) } else { None };
    let width = width.or_else(|| columns?.trim().parse().ok().filter(|&width| width > 0));
    width.unwrap_or(LINE_WIDTH).max(LINE_WIDTH_MIN)
}

/// What does not fit is cut off the content, but for a beginning.
fn line(fields: &[String], content: &str, width: usize) -> String {
    let mut text = fields.iter().map(|field| clean(field)).collect::<Vec<_>>().join("  ");
    text.push_str("  ");
    let content = clean(content);
    let room = width.saturating_sub(text.width()).max(CONTENT_WIDTH);
    if content.width() <= room {
        return text + &content;
    }
    let mut taken = 0;
    let fits = |character: &char| {
        taken += character.width().unwrap_or_default();
        taken < room
    };
    text.extend(content.chars().take_while(fits));
    text.push('…');
    text
}

/// What a cell of a table says, on one line and without control characters: what a receiver answered must not be
/// able to speak to our terminal. Nothing, where there is nothing.
fn cell(column: &str, value: &Value, now: OffsetDateTime) -> Option<String> {
    match value {
        Value::String(text) => match age::parse(text) {
            Some(then) if EXACT.contains(&column) => Some(age::exact(then)),
            Some(then) => Some(age::describe(then, now)),
            None => Some(clean(text)),
        },
        Value::Array(values) => Some(values.iter().map(plain).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}={}", clean(name), plain(value));
            Some(members.iter().map(member).collect::<Vec<_>>().join(" "))
        }
        other => Some(plain(other)),
    }
    .filter(|text| !text.is_empty() && !value.is_null())
}

/// What a field says that has a line of its own: a time as it is, and how long ago that was.
fn field(value: &Value, now: OffsetDateTime) -> String {
    match value.as_str().and_then(age::parse) {
        Some(then) => format!("{} ({})", age::exact(then), age::describe(then, now)),
        None => plain(value),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => clean(text),
        other => clean(&other.to_string()),
    }
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

/// Text on several lines, without other control characters.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(width: usize, is_coloured: bool) -> Output {
        let now = age::parse("2026-11-26T12:00:00Z").unwrap();
        let colour = clap::ColorChoice::Auto;
        Output {
            format: Format::Table,
            is_terminal: false,
            is_coloured,
            colour,
            width,
            now,
            is_watched: false,
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [json!({"name": "a", "waiting_count": 5}), json!({"name": "länger"})];
        let table = output(100, false).table(&rows, &["name", "waiting_count"]);
        assert_eq!(table, "NAME    WAITING COUNT\na       5\nlänger  -");
    }

    #[test]
    fn cells_are_for_people() {
        let rows = [json!({
            "name": "a", "created_at": "2026-11-26T11:57:00.5+00:00", "from_ts": "2026-11-26T11:57:00.5+00:00",
            "config": {"url": "http://a.test/", "tries": 5, "nested": {"on": true}}, "list": [1, "b"],
            "enabled": true, "rate": null, "empty": {}
        })];
        let columns =
            ["name", "created_at", "from_ts", "config", "list", "enabled", "rate", "empty"];
        let expected = [
            "NAME  CREATED AT  FROM TS               CONFIG                                         LIST  ENABLED",
            "a     2 m ago     2026-11-26 11:57:00Z  nested={\"on\":true} tries=5 url=http://a.test/  1, b  yes",
        ];
        assert_eq!(output(120, false).table(&rows, &columns).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_has_no_room_is_named() {
        let rows = [json!({"name": "a", "status": "failed", "url": "http://shop.example/hooks"})];
        let table = output(40, false).table(&rows, &["name", "url", "status"]);
        assert!(table.starts_with("NAME  URL                        STATUS\n"), "{table}");
        let table = output(30, false).table(&rows, &["name", "url", "status"]);
        let expected = "NAME  STATUS\na     failed\nWithout url, for which 30\ncharacters are not enough:\n--output json shows all.";
        assert_eq!(table, expected);
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        let rows = [json!({"name": "a", "status": "failed"})];
        let table = |is_coloured| output(40, is_coloured).table(&rows, &["name", "status"]);
        assert_eq!(table(false), "NAME  STATUS\na     failed");
        assert_eq!(table(true), "\u{1b}[1mNAME  STATUS\u{1b}[0m\na     \u{1b}[31mfailed\u{1b}[0m");
    }

    #[test]
    fn a_field_has_its_time_and_its_age() {
        let object = json!({"at": "2026-11-26T11:57:00+00:00", "text": "one two three four"});
        let expected = "at    2026-11-26 11:57:00Z (3 m ago)\ntext  one two three four";
        assert_eq!(output(40, false).fields(&object), expected);
        let folded = output(20, false).fields(&json!({"text": "one two three four"}));
        assert_eq!(folded, "text  one two three\n      four");
    }

    #[test]
    fn lines_are_as_wide_as_something_says() {
        for (columns, expected) in [
            (None, 100),
            (Some("140"), 140),
            (Some("40"), 40),
            (Some("0"), 100),
            (Some("1"), 20),
            (Some("wide"), 100),
        ] {
            assert_eq!(line_width(false, columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn a_line_is_cut_at_its_end() {
        let fields = ["7".to_owned(), "a\tb".to_owned()];
        assert_eq!(line(&fields, "short\u{1b}", 40), "7  a\\tb  short\\u{1b}");
        assert_eq!(line(&fields, &"ä".repeat(40), 30), format!("7  a\\tb  {}…", "ä".repeat(20)));
        assert_eq!(line(&fields, &"ä".repeat(40), 10), format!("7  a\\tb  {}…", "ä".repeat(19)));
        assert_eq!(line(&fields, &"送".repeat(40), 31), format!("7  a\\tb  {}…", "送".repeat(10)));
    }

    #[test]
    fn an_answer_cannot_speak_to_the_terminal() {
        let now = OffsetDateTime::UNIX_EPOCH;
        let rude = "a\u{1b}[2Jb\nc";
        for value in [json!(rude), json!([rude]), json!({ "b": rude })] {
            let cell = cell("x", &value, now).unwrap();
            assert!(cell.ends_with("a\\u{1b}[2Jb c"), "{cell}");
            assert!(!plain(&value).contains('\u{1b}'));
        }
        assert!(!cell("x", &json!({ rude: 1 }), now).unwrap().contains('\u{1b}'));
    }
}
