//! How large functions and structs may be, and who may call whom in the dispatcher.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tree, Violation, contains_word, is_word, production_sources, rust::Source, violation};

/// Lines of a function, from its name to its closing brace.
const FUNCTION_LINES: usize = 70;
/// Fields of a struct of the engine.
const FIELDS: usize = 20;
pub(super) const ENGINE: [&str; 2] =
    ["crates/postrider-engine/src/", "crates/postrider-core/src/tenure/"];
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
    let too_large = |(path, block): (String, Block)| {
        let count = block.members.len();
        let message = format!("a struct with {count} fields, and {FIELDS} are enough");
        (count > FIELDS).then(|| violation(&path, block.start, message))
    };
    structs_of_the_engine(tree).into_iter().filter_map(too_large).collect()
}

/// The structs of the engine, with the file of each.
pub(super) fn structs_of_the_engine(tree: &Tree) -> Vec<(String, Block)> {
    let sources = ENGINE.into_iter().flat_map(|folder| production_sources(tree, folder));
    let sources = sources.filter(|(path, _)| !path.contains("/simulation"));
    let structs = |(path, source): (&String, Source)| -> Vec<(String, Block)> {
        blocks(&source, "struct").into_iter().map(|block| (path.clone(), block)).collect()
    };
    sources.flat_map(structs).collect()
}

/// A struct or an enum.
pub(super) struct Block {
    pub(super) name: String,
    pub(super) start: usize,
    /// The names of its fields or variants.
    pub(super) members: Vec<String>,
}

/// All structs or enums with named members, as rustfmt lays them out.
pub(super) fn blocks(source: &Source, keyword: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = source.code.iter().enumerate();
    while let Some((start, line)) = lines.next() {
        if !(contains_word(line, keyword) && line.trim_end().ends_with('{')) {
            continue;
        }
        let Some((_, rest)) = line.split_once(&format!("{keyword} ")) else { continue };
        let name = rest.chars().take_while(|c| is_word(*c)).collect();
        let body = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with('}'));
        let member = |line: &String| {
            let rest = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '))?;
            let rest = rest.rsplit_once("pub ").map_or(rest, |(_, rest)| rest);
            let rest = rest.strip_prefix("pub(super) ").unwrap_or(rest);
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            (!name.is_empty()).then_some(name)
        };
        let members = body.filter_map(member).collect();
        found.push(Block { name, start: start + 1, members });
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

/// A function.
struct Function {
    name: String,
    /// It stands in an `impl`.
    is_method: bool,
    start: usize,
    end: usize,
}

/// Whether a source does nothing: it has no function with a body.
pub(super) fn has_no_function(source: &Source) -> bool {
    functions(source).next().is_none()
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
