//! The statements of a dump, and what of them stands in `sql/schema.sql`.
//!
//! The text is read as the server's lexer reads it, as far as it has to be known what is quoted: strings, names,
//! dollar quotes, comments, and bodies of functions that are `begin atomic … end`. Nothing is understood beyond that.

use std::collections::BTreeMap;
use std::ops::Range;

/// The columns of each view, by its name with its schema.
pub(super) type Columns = BTreeMap<String, String>;

/// The dump without session settings, comments, bodies of functions and queries of views, each statement in full. Lines
/// that belong together follow each other without a blank one.
pub(super) fn golden(dump: &str, columns: &Columns) -> String {
    let dump = without_commands(dump);
    let mut text = String::new();
    let mut last = String::new();
    for statement in statements(&dump) {
        let Some(statement) = shown(statement, columns) else { continue };
        if !(is_one_of_many(&last) && kind(&last) == kind(&statement)) {
            text.push('\n');
        }
        text.extend(statement.lines().flat_map(|line| [line.trim_end(), "\n"]));
        last = statement;
    }
    text
}

/// Without what psql is told, which has a random key.
fn without_commands(dump: &str) -> String {
    let is_command =
        |line: &&str| line.starts_with("\\restrict") || line.starts_with("\\unrestrict");
    dump.lines().filter(|line| !is_command(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The statements with their semicolons, without what stands between them.
fn statements(dump: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut start = None;
    let mut body = Body::default();
    for token in tokens(dump).filter(|token| !is_blank(&dump[token.clone()])) {
        let text = &dump[token.clone()];
        let first = *start.get_or_insert(token.start);
        body.take(text);
        if text == ";" && !body.is_open() {
            statements.push(&dump[first..token.end]);
            start = None;
        }
    }
    statements
}

/// What is shown of a statement, if it is.
fn shown(statement: &str, columns: &Columns) -> Option<String> {
    let words: Vec<&str> = statement.split_whitespace().take(5).collect();
    match words.as_slice() {
        ["SET", ..] | ["SELECT", ..] => None,
        ["CREATE", "FUNCTION" | "PROCEDURE", ..]
        | ["CREATE", "OR", "REPLACE", "FUNCTION" | "PROCEDURE", ..] => {
            Some(without_body(statement))
        }
        ["CREATE", "VIEW", name, ..] | ["CREATE", "OR", "REPLACE", "VIEW", name, ..] => {
            Some(with_columns(statement, columns.get(*name)))
        }
        _ => Some(statement.to_owned()),
    }
}

/// A function up to its body: `AS $$…$$`, `BEGIN ATOMIC … END` or `RETURN …`.
fn without_body(statement: &str) -> String {
    let outer = outer_words(statement);
    let begin =
        outer.iter().find(|word| ["AS", "BEGIN", "RETURN"].contains(&&statement[(*word).clone()]));
    let end = begin.map_or(statement.len() - 1, |word| word.start);
    format!("{};", statement[..end].trim_end())
}

/// A view with the names and types of its columns in the place of its query.
fn with_columns(statement: &str, columns: Option<&String>) -> String {
    let query = outer_words(statement).into_iter().find(|word| &statement[word.clone()] == "AS");
    match (query, columns) {
        (Some(query), Some(columns)) => {
            format!("{} (\n{columns}\n);", statement[..query.start].trim_end())
        }
        _ => statement.to_owned(),
    }
}

/// The words that stand in no brackets, and are not quoted.
fn outer_words(statement: &str) -> Vec<Range<usize>> {
    let mut depth = 0;
    let mut words = Vec::new();
    for token in tokens(statement) {
        match &statement[token.clone()] {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            text if depth == 0 && text.starts_with(is_letter) => words.push(token),
            _ => {}
        }
    }
    words
}

/// Whether a statement is one line: these stand in blocks.
fn is_one_of_many(statement: &str) -> bool {
    !statement.is_empty() && !statement.contains('\n')
}

/// What a statement does to what; who may do what is one kind.
fn kind(statement: &str) -> Vec<&str> {
    let is_many = is_one_of_many(statement);
    match statement.split_whitespace().take(2).collect::<Vec<_>>().as_slice() {
        _ if !is_many => Vec::new(),
        ["GRANT" | "REVOKE", _] => vec!["GRANT"],
        words => words.to_vec(),
    }
}

/// A body that has semicolons of its own: `BEGIN ATOMIC … END`, in which each `CASE` has an `END`, too.
#[derive(Default)]
struct Body {
    depth: usize,
    was_begin: bool,
}

impl Body {
    fn take(&mut self, text: &str) {
        match text {
            "ATOMIC" if self.was_begin && self.depth == 0 => self.depth = 1,
            "CASE" if self.depth > 0 => self.depth += 1,
            "END" if self.depth > 0 => self.depth -= 1,
            _ => {}
        }
        self.was_begin = text == "BEGIN";
    }

    fn is_open(&self) -> bool {
        self.depth > 0
    }
}

fn is_blank(token: &str) -> bool {
    token.starts_with("--") || token.starts_with("/*") || token.trim().is_empty()
}

/// The tokens of a text, one after the other, with blanks and comments.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = token(&text[at..])?;
        at += length;
        Some(at - length..at)
    })
}

/// The length of the token at the beginning of a text; none at its end. What is opened and not closed goes to the end.
fn token(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let length = match first {
        'E' | 'e' if text[1..].starts_with('\'') => 1 + escaped(&text[1..]),
        '\'' | '"' => quoted(text, first),
        '$' => dollar_quoted(text).unwrap_or(1),
        '-' if text.starts_with("--") => text.find('\n').unwrap_or(text.len()),
        '/' if text.starts_with("/*") => comment(text),
        _ if is_letter(first) => text
            .find(|c: char| !is_letter(c) && !c.is_ascii_digit() && c != '$')
            .unwrap_or(text.len()),
        _ if first.is_whitespace() => text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len()),
        _ => first.len_utf8(),
    };
    Some(length)
}

/// Of what a name begins with.
fn is_letter(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// A string or a name: the quote twice is one in it.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    loop {
        let Some(found) = text[at..].find(quote) else { return text.len() };
        at += found + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
}

/// A string behind `E`, in which a backslash escapes a quote, too.
fn escaped(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '\'' if characters.next_if(|(_, next)| *next == '\'').is_none() => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `$$…$$` or `$tag$…$tag$`. None for `$1`, and for a dollar that is no quote.
fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = &text[1..1 + text[1..].find('$')?];
    let is_tag = tag.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && !tag.starts_with(|c: char| c.is_ascii_digit());
    let quote = is_tag.then(|| &text[..tag.len() + 2])?;
    let inside = &text[quote.len()..];
    Some(inside.find(quote).map_or(text.len(), |end| quote.len() + end + quote.len()))
}

/// `/* … */`, which may have others in it.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let (step, now) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, depth + 1),
            [b'*', b'/', ..] => (2, depth - 1),
            _ => (1, depth),
        };
        (at, depth) = (at + step, now);
        if depth == 0 {
            return at;
        }
    }
    text.len()
}
