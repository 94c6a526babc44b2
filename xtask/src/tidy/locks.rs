//! Every lock that is taken is in `sql/locks.txt`, and nothing else is.
//!
//! A lock is named by what is locked: `table NAME: MODE`, `row TABLE: MODE`, or `advisory CLASS`, where the
//! class is the first of two numbers and belongs to one purpose.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CLIENT, PRODUCT, Tree, Violation, files, is_word, numbered, production_sources, stem,
    violation, without_sql_comments,
};

const LIST: &str = "sql/locks.txt";
const MODES: [&str; 4] = ["update", "no key update", "share", "key share"];
/// Keys in the class of another purpose: one of a former version, which only a migration takes.
const STILL_SHARED: [&str; 1] = ["advisory 1886352244, 1000"];
/// What has to be said of each lock.
const FIELDS: [&str; 3] = ["in", "held", "waits"];

/// Compares the list with the sources, both ways.
pub(super) fn every_lock_is_listed(tree: &Tree) -> Vec<Violation> {
    let taken = taken(tree);
    if taken.is_empty() {
        return Vec::new();
    }
    let (listed, mut found) = listed(tree.get(LIST).map_or("", String::as_str));
    for ((lock, place), (path, line)) in &taken {
        if !listed.get(lock).is_some_and(|(_, places)| places.contains(place)) {
            let message = format!("`{lock}` in `{place}` is not in {LIST}");
            found.push(violation(path, *line, message));
        }
    }
    for (lock, (line, places)) in &listed {
        for place in places {
            if !taken.contains_key(&(lock.clone(), place.clone())) {
                let message = format!("`{place}` takes no `{lock}`");
                found.push(violation(LIST, *line, message));
            }
        }
    }
    let mut classes = BTreeSet::new();
    for (lock, (line, _)) in &listed {
        let Some(numbers) = lock.strip_prefix("advisory ") else { continue };
        let class = numbers.split(',').next().unwrap_or_default();
        if !STILL_SHARED.contains(&lock.as_str()) && !classes.insert(class.to_owned()) {
            let message = format!("two purposes share the advisory locks of class {class}");
            found.push(violation(LIST, *line, message));
        }
    }
    found
}

/// Each lock with the file that takes it, and where.
fn taken(tree: &Tree) -> BTreeMap<(String, String), (String, usize)> {
    let mut taken = BTreeMap::new();
    let mut note = |path: &str, first_line: usize, sql: &str| {
        for (lock, line) in locks_of(&without_sql_comments(sql)) {
            let place = (path.to_owned(), first_line + line);
            taken.entry((lock, stem(path))).or_insert(place);
        }
    };
    for folder in ["sql/", "crates/postrider-client/sql/"] {
        for (path, content) in
            files(tree, folder, ".sql").filter(|(path, _)| *path != "sql/schema.sql")
        {
            note(path, 1, content);
        }
    }
    for folder in [PRODUCT, CLIENT] {
        for (path, source) in production_sources(tree, folder) {
            for (line, text) in &source.strings {
                note(path, *line, text);
            }
        }
    }
    taken
}

/// The locks that a text takes, each with the number of line ends before it.
fn locks_of(sql: &str) -> Vec<(String, usize)> {
    let (text, lines) = collapse(sql);
    let mut found = Vec::new();
    for (at, _) in text.match_indices("advisory_") {
        let Some((_, arguments)) = text[at..].split_once('(') else { continue };
        let arguments = arguments.split(')').next().unwrap_or_default();
        let mut numbers = arguments.split(',').map(str::trim);
        let class = numbers.next().unwrap_or_default();
        if class.is_empty() {
            continue;
        }
        let is_number = |text: &&str| text.chars().all(|digit| digit.is_ascii_digit());
        let lock = match numbers.next().filter(is_number) {
            Some(key) => format!("advisory {class}, {key}"),
            None => format!("advisory {class}"),
        };
        found.push((lock, lines[at]));
    }
    for (at, start) in text.match_indices("lock table ") {
        let rest = &text[at + start.len()..];
        let rest = rest.strip_prefix("only ").unwrap_or(rest);
        if let Some((name, rest)) = rest.split_once(" in ")
            && let Some((mode, _)) = rest.split_once(" mode")
        {
            let name = name.strip_prefix("postrider.").unwrap_or(name);
            found.push((format!("table {name}: {mode}"), lines[at]));
        }
    }
    for (at, start) in text.match_indices("alter sequence ") {
        let name = text[at + start.len()..].split(' ').next().unwrap_or_default();
        let name = name.strip_prefix("postrider.").unwrap_or(name);
        found.push((format!("sequence {name}: share row exclusive"), lines[at]));
    }
    for (at, start) in text.match_indices("for ") {
        if text[..at].ends_with(is_word) {
            continue;
        }
        let rest = &text[at + start.len()..];
        let Some((mode, rest)) = MODES.iter().find_map(|mode| {
            let rest = rest.strip_prefix(mode)?;
            (!rest.starts_with(is_word)).then_some((mode, rest))
        }) else {
            continue;
        };
        let alias = rest.strip_prefix(" of ").map(|rest| rest.split(|c| !is_word(c)).next());
        let table = table_before(&text[..at], alias.flatten()).unwrap_or("?");
        found.push((format!("row {table}: {mode}"), lines[at]));
    }
    found
}

/// The last table that is read, or the one with this alias.
fn table_before<'a>(text: &'a str, alias: Option<&str>) -> Option<&'a str> {
    let tables = text.match_indices("postrider.").filter_map(|(at, start)| {
        let rest = &text[at + start.len()..];
        let end = rest.find(|c| !is_word(c))?;
        let is_read = ["from ", "join "].iter().any(|word| text[..at].ends_with(word));
        let named = rest[end..].trim_start().split(|c| !is_word(c)).next().unwrap_or_default();
        let is_wanted = alias.is_none_or(|alias| alias == named);
        (is_read && is_wanted && !rest[end..].starts_with('(')).then_some(&rest[..end])
    });
    tables.last()
}

/// The text in small letters with one space for any number of blanks, and for each byte its line.
fn collapse(sql: &str) -> (String, Vec<usize>) {
    let (mut text, mut lines, mut line) = (String::new(), Vec::new(), 0);
    for character in sql.chars() {
        line += usize::from(character == '\n');
        let character =
            if character.is_whitespace() { ' ' } else { character.to_ascii_lowercase() };
        if !(character == ' ' && text.ends_with(' ')) {
            text.push(character);
            lines.resize(text.len(), line);
        }
    }
    (text, lines)
}

/// Each lock of the list with its line and the files that take it.
type Listed = BTreeMap<String, (usize, BTreeSet<String>)>;

/// What the list says: each lock with its line and the files that take it.
fn listed(content: &str) -> (Listed, Vec<Violation>) {
    let mut listed: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let mut found = Vec::new();
    let mut last: Option<(String, usize, Vec<&str>)> = None;
    let close = |last: &mut Option<(String, usize, Vec<&str>)>, found: &mut Vec<Violation>| {
        let Some((lock, line, fields)) = last.take() else { return };
        if fields != FIELDS {
            let message = format!("`{lock}` needs the lines {}", FIELDS.join(", "));
            found.push(violation(LIST, line, message));
        }
    };
    for (number, line) in numbered(content) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(field) = line.strip_prefix("    ") else {
            close(&mut last, &mut found);
            if listed.insert(line.to_owned(), (number, BTreeSet::new())).is_some() {
                found.push(violation(LIST, number, format!("`{line}` is there twice")));
            }
            last = Some((line.to_owned(), number, Vec::new()));
            continue;
        };
        let (name, text) = field.trim().split_once(' ').unwrap_or((field.trim(), ""));
        if let Some((lock, _, fields)) = &mut last {
            fields.push(name);
            if name == "in"
                && let Some((_, places)) = listed.get_mut(lock)
            {
                places.extend(text.split_whitespace().map(str::to_owned));
            }
        }
    }
    close(&mut last, &mut found);
    (listed, found)
}
