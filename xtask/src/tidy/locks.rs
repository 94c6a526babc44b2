//! Every lock that a statement asks for is in `sql/locks.txt`, and nothing else is.
//!
//! A lock is named by what is locked: `table NAME: MODE`, `row TABLE: MODE`, or `advisory CLASS`, where the
//! class is the first of two numbers and belongs to one purpose. Who empties, drops, attaches or detaches a table asks
//! for a lock on it.
//!
//! What `update`, `delete` and `insert` lock by themselves is not looked for: nearly every function writes, and which
//! rows it meets does not stand in its text.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CLIENT, PRODUCT, Tree, Violation, files, is_word, numbered, production_sources, stem,
    violation, without_sql_comments,
};

const LIST: &str = "sql/locks.txt";
const MODES: [&str; 4] = ["update", "no key update", "share", "key share"];
/// What may stand between a verb and the tables that it is about.
const FILLERS: [&str; 4] = ["table", "if", "exists", "only"];
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
    for folder in PRODUCT.into_iter().chain([CLIENT]) {
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
            let name = without_schema(name);
            found.push((format!("table {name}: {mode}"), lines[at]));
        }
    }
    for (at, start) in text.match_indices("alter sequence ") {
        let name = without_schema(text[at + start.len()..].split(' ').next().unwrap_or_default());
        found.push((format!("sequence {name}: share row exclusive"), lines[at]));
    }
    found.extend(locks_of_verbs(&text).into_iter().map(|(lock, at)| (lock, lines[at])));
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

/// The locks that come with emptying, dropping, attaching and detaching a table, each with where that begins.
fn locks_of_verbs(text: &str) -> Vec<(String, usize)> {
    const EXCLUSIVE: &str = "access exclusive";
    let mut found = Vec::new();
    let mut note = |table: &str, mode: &str, at: usize| {
        found.push((format!("table {table}: {mode}"), at));
    };
    for verb in ["truncate ", "drop table "] {
        for (at, _) in text.match_indices(verb) {
            let rest = &text[at + verb.len()..];
            // What a trigger waits for, or a right, empties nothing.
            let is_named_only = ["on ", "or "].iter().any(|word| rest.starts_with(word));
            if !is_named_only && !text[..at].ends_with(is_word) {
                for table in tables_at(rest) {
                    note(table, EXCLUSIVE, at);
                }
            }
        }
    }
    for (verb, mode) in
        [("attach partition ", "share update exclusive"), ("detach partition ", EXCLUSIVE)]
    {
        for (at, _) in text.match_indices(verb) {
            let whole = text[..at].trim_end().rsplit(' ').next().unwrap_or_default();
            note(without_schema(whole), mode, at);
            for part in tables_at(&text[at + verb.len()..]).take(1) {
                note(part, EXCLUSIVE, at);
            }
        }
    }
    found
}

/// The tables that are named one after the other where a text begins, up to the end of the statement.
fn tables_at(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find([';', '\'']).unwrap_or(text.len());
    let tables = text[..end].split(',');
    let named =
        tables.filter_map(|table| table.split_whitespace().find(|word| !FILLERS.contains(word)));
    named.map(without_schema)
}

fn without_schema(name: &str) -> &str {
    name.strip_prefix("postrider.").unwrap_or(name)
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
