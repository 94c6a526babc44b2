//! How large functions and structs may be, and who may call whom in the dispatcher.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tree, Violation, contains_word, is_word, production_sources, rust::Source, violation};

/// Lines of a function, from its name to its closing brace.
const FUNCTION_LINES: usize = 70;
/// Fields of a struct of the engine.
const FIELDS: usize = 20;
const ENGINE: [&str; 2] = ["crates/postrider/src/engine/", "crates/postrider-core/src/tenure/"];
const DISPATCHER: &str = "crates/postrider-core/src/tenure/dispatcher";

/// What does not fit on a page is split where its meaning is.
pub(super) fn functions_are_short(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for folder in ["crates/", "xtask/"] {
        let sources = production_sources(tree, folder);
        for (path, source) in sources.filter(|(path, _)| path.contains("/src/")) {
            for function in functions(&source) {
                let length = function.end - function.start + 1;
                if length > FUNCTION_LINES {
                    let name = function.name;
                    let message =
                        format!("`{name}` has {length} lines, and may have {FUNCTION_LINES}");
                    found.push(violation(path, function.start, message));
                }
            }
        }
    }
    found
}

/// A struct with many fields is several things.
pub(super) fn structs_of_the_engine_are_small(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let sources = ENGINE.into_iter().flat_map(|folder| production_sources(tree, folder));
    for (path, source) in sources.filter(|(path, _)| !path.contains("/simulation")) {
        let mut lines = source.code.iter().enumerate();
        while let Some((start, line)) = lines.next() {
            if !(contains_word(line, "struct") && line.trim_end().ends_with('{')) {
                continue;
            }
            let body =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with('}'));
            let is_field = |line: &&String| {
                let is_own = line.starts_with("    ") && !line.starts_with("     ");
                is_own && line.contains(':')
            };
            let count = body.filter(is_field).count();
            if count > FIELDS {
                let message = format!("a struct with {count} fields, and {FIELDS} are enough");
                found.push(violation(path, start + 1, message));
            }
        }
    }
    found
}

/// The dispatcher's files call each other in one direction: what is a circle can only be understood as a whole.
pub(super) fn the_dispatcher_has_no_circles(tree: &Tree) -> Vec<Violation> {
    let sources: Vec<(&String, Source)> = production_sources(tree, DISPATCHER).collect();
    let mut homes: BTreeMap<String, &str> = BTreeMap::new();
    for (path, source) in &sources {
        for function in functions(source).filter(|function| function.is_method) {
            homes.insert(function.name, path.as_str());
        }
    }
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, source) in &sources {
        let called = source.code.iter().flat_map(|line| methods_called(line));
        let others = called.filter_map(|name| homes.get(name)).filter(|home| *home != path);
        calls.entry(path.as_str()).or_default().extend(others);
    }
    // Whoever calls nobody that is left is in no circle.
    loop {
        let left: BTreeSet<&str> = calls.keys().copied().collect();
        let before = calls.len();
        calls.retain(|_, others| others.iter().any(|other| left.contains(other)));
        if calls.len() == before {
            break;
        }
    }
    // Nor is who is called by nobody that is left.
    loop {
        let called: BTreeSet<&str> = calls.values().flatten().copied().collect();
        let before = calls.len();
        calls.retain(|path, _| called.contains(path));
        if calls.len() == before {
            break;
        }
    }
    let circle: Vec<&str> = calls.keys().copied().collect();
    let message = || format!("calls in a circle, among {}", circle.join(", "));
    circle.iter().map(|path| violation(path, 1, message())).collect()
}

struct Function {
    name: String,
    /// It stands in an `impl`.
    is_method: bool,
    start: usize,
    end: usize,
}

/// All functions with a body, as rustfmt lays them out.
fn functions(source: &Source) -> impl Iterator<Item = Function> {
    let code = &source.code;
    code.iter().enumerate().filter_map(move |(at, line)| {
        let indent = line.len() - line.trim_start().len();
        let (before, rest) = line.trim_start().split_once("fn ")?;
        let is_head = before.split_whitespace().all(|word| {
            ["const", "async", "unsafe", "extern"].contains(&word) || word.starts_with("pub")
        });
        let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
        if !is_head || name.is_empty() {
            return None;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let end = code[at..].iter().position(|line| line.trim_end() == closing)?;
        // A declaration ends before whatever closes behind it.
        let is_declaration = code[at..at + end].iter().any(|line| {
            line.trim_end().ends_with(';') && line.len() - line.trim_start().len() == indent
        });
        let is_method = indent == 4;
        (!is_declaration).then_some(Function { name, is_method, start: at + 1, end: at + end + 1 })
    })
}

/// The methods that a line calls on `self`.
fn methods_called(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("self.").filter_map(|(at, prefix)| {
        let rest = &line[at + prefix.len()..];
        let length = rest.find(|c| !is_word(c))?;
        rest[length..].starts_with('(').then_some(&rest[..length])
    })
}
