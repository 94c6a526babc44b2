//! What the compiler cannot hold about the shape of the sources, held by reading them.
//!
//! Each rule is a function from the tracked files to its violations, so tests give it small trees.
//! The rules look at text, not at meaning: they catch what is written by mistake, not by intent.

mod areas;
pub mod count;
mod dependencies;
mod locks;
mod rust;
mod shape;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rust::Source;

use postrider_testkit::process;

/// The files of the repository: path from its root, with `/`, and content. Binary files are absent.
pub type Tree = BTreeMap<String, String>;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and where it belongs instead.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: &[Rule] = &[
    core_does_no_io,
    doors_open_one_way,
    sql_stands_in_sql_files,
    only_its_own_file_names_a_transport,
    only_the_ledger_flushes,
    only_the_carrier_names_its_client,
    migrations_call_no_function_of_ours,
    one_function_per_file,
    areas::the_tree_says_what_is_public,
    modules_begin_with_their_purpose,
    every_test_file_is_run,
    nothing_names_a_machine,
    queries_name_their_index,
    locks::every_lock_is_listed,
    test_hooks_stay_out_of_releases,
    the_simulation_stays_out_of_releases,
    shape::functions_are_short,
    shape::structs_of_the_engine_are_small,
    shape::the_dispatcher_has_no_circles,
];

const CORE: &str = "crates/postrider-core/";
/// The rooms that the program is made of, and where the doors of each lead.
const ROOMS: [(&str, &[&str]); 9] = [
    ("postrider-core", &[]),
    ("postrider-store", &["postrider-core"]),
    ("postrider-transport", &["postrider-core"]),
    ("postrider-engine", &["postrider-core", "postrider-store", "postrider-transport"]),
    ("postrider-fleet", &["postrider-core", "postrider-store"]),
    ("postrider-client", &[]),
    (
        "postrider",
        &[
            "postrider-core",
            "postrider-store",
            "postrider-transport",
            "postrider-engine",
            "postrider-fleet",
            "postrider-client",
        ],
    ),
    ("postrider-testkit", &[]),
    ("postrider-proofs", &["postrider-client", "postrider-testkit"]),
];
/// Where tests get their servers, receivers and long runs; what is released has none of it.
const FOR_TESTS: [&str; 2] = ["postrider-testkit", "postrider-proofs"];
/// What the program is made of, but for the core.
const PRODUCT: [&str; 5] = [
    "crates/postrider-store/src/",
    "crates/postrider-transport/src/",
    "crates/postrider-engine/src/",
    "crates/postrider-fleet/src/",
    "crates/postrider/src/",
];
const CLIENT: &str = "crates/postrider-client/src/";
const TRANSPORTS: &str = "crates/postrider-transport/src/";
const LEDGER: &str = "crates/postrider-store/src/ledger.rs";
const HOOKS: &str = "crates/postrider-engine/src/test_hooks.rs";
/// The feature is the engine's, and the program hands it on.
const HOOKS_DECLARED: [(&str, &str); 2] = [
    ("crates/postrider-engine/Cargo.toml", "test-hooks = []"),
    ("crates/postrider/Cargo.toml", "test-hooks = [\"postrider-engine/test-hooks\"]"),
];
const HOOKS_IN: &str = "#[cfg(any(debug_assertions, feature = \"test-hooks\"))]";
const HOOKS_OUT: &str = "#[cfg(not(any(debug_assertions, feature = \"test-hooks\")))]";
const RABBITMQ: &str = "crates/postrider-fleet/src/rabbitmq/";

/// Checks the repository at `root`: the files that git tracks or would, and what it is built of.
///
/// # Errors
///
/// When the files cannot be listed or read; violations are no error.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let mut found = check_tree(&read_tree(root)?);
    found.extend(dependencies::check(root)?);
    Ok(found)
}

/// What is counted in the repository at `root`.
///
/// # Errors
///
/// When the files cannot be listed or read.
pub fn count(root: &Path) -> Result<Vec<count::Count>> {
    Ok(count::count(&read_tree(root)?))
}

/// Checks a tree by all rules.
pub fn check_tree(tree: &Tree) -> Vec<Violation> {
    let mut found: Vec<_> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    found.sort();
    found
}

fn read_tree(root: &Path) -> Result<Tree> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("could not run git")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git could not list the files:\n{said}");
    let paths = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut tree = Tree::new();
    for path in paths.split('\0').filter(|path| !path.is_empty()) {
        match std::fs::read(root.join(path)) {
            Ok(content) => {
                if let Ok(content) = String::from_utf8(content) {
                    tree.insert(path.to_owned(), content);
                }
            }
            // Deleted, but the deletion is not committed yet; or a link to a folder.
            Err(_) => continue,
        }
    }
    Ok(tree)
}

/// The tests of a crate are one crate, `tests/main.rs`: a file that it does not name is never compiled.
fn every_test_file_is_run(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for path in tree.keys() {
        let Some((folder, file)) = path.rsplit_once('/') else { continue };
        let Some(name) = file.strip_suffix(".rs").filter(|_| folder.ends_with("/tests")) else {
            continue;
        };
        let Some(main) = tree.get(&format!("{folder}/main.rs")) else { continue };
        if name != "main" && !main.lines().any(|line| line == format!("mod {name};")) {
            found.push(violation(path, 1, format!("`mod {name};` is missing in {folder}/main.rs")));
        }
    }
    found
}

/// What aborts a process on demand is in no release: its names stand in one file, which is compiled only with debug
/// assertions or the feature `test-hooks`, and nothing turns on either in a release.
fn test_hooks_stay_out_of_releases(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for folder in [CORE, CLIENT].into_iter().chain(PRODUCT) {
        for (path, source) in production_sources(tree, folder).filter(|(path, _)| *path != HOOKS) {
            let is_hook = |text: &str| text.contains(process::TEST_HOOK);
            for (line, _) in source.strings.iter().filter(|(_, text)| is_hook(text)) {
                found.push(violation(path, *line, format!("a test hook is named outside {HOOKS}")));
            }
        }
    }
    let product = PRODUCT.into_iter().flat_map(|folder| files(tree, folder, ".rs"));
    for (path, content) in product {
        let lines: Vec<_> = content.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            let before = |count: usize| index.checked_sub(count).map_or("", |at| lines[at]);
            let is_left_out = before(1) == HOOKS_IN
                || before(1) == "#[path = \"no_test_hooks.rs\"]" && before(2) == HOOKS_OUT;
            if line.ends_with("mod test_hooks;") && !is_left_out {
                let message = "test hooks are compiled without a condition, or with another one";
                found.push(violation(path, index + 1, message.to_owned()));
            }
        }
    }
    let manifests = tree.iter().filter(|(path, _)| {
        path.ends_with("Cargo.toml") || path.starts_with(".cargo/") && path.ends_with(".toml")
    });
    for (path, content) in manifests {
        for (number, line) in numbered(content) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let is_declared = HOOKS_DECLARED.contains(&(path.as_str(), line));
            if line.contains("debug-assertions") || line.contains("test-hooks") && !is_declared {
                found.push(violation(path, number, "a release may get test hooks".to_owned()));
            }
        }
    }
    found
}

/// A world in memory is compiled for tests only: those of the core, and those that see its database by a feature, which
/// nothing but a dev-dependency turns on.
fn the_simulation_stays_out_of_releases(tree: &Tree) -> Vec<Violation> {
    const CONDITION: &str = "#[cfg(any(test, feature = \"simulation\"))]";
    let mut found = Vec::new();
    for (path, content) in files(tree, CORE, ".rs") {
        let mut before = "";
        for (number, line) in numbered(content) {
            if line.ends_with("mod simulation;") && before != CONDITION {
                let message = "the simulation is compiled without a condition, or with another one";
                found.push(violation(path, number, message.to_owned()));
            }
            before = line;
        }
    }
    for (path, content) in tree.iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let mut section = "";
        for (number, line) in numbered(content) {
            if line.starts_with('[') {
                section = line;
            }
            if line.contains("simulation\"") && section != "[dev-dependencies]" {
                found.push(violation(path, number, "a release may get the simulation".to_owned()));
            }
        }
    }
    found
}

/// Decisions take the time and the dice as values: the core can be tested without either. A generator that is handed in is
/// a value: what makes one of chance is not. The simulation is compiled for tests only.
fn core_does_no_io(tree: &Tree) -> Vec<Violation> {
    const FORBIDDEN: &[&str] = &[
        "tokio",
        "SystemTime::now",
        "Instant::now",
        "rand",
        "Rng::new",
        "Rng::default",
        "new_v4",
        "getrandom",
        "fs",
        "File",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "UnixStream",
        "ToSocketAddrs",
        "std::env",
        "std::process",
        "std::thread",
        "std::io",
        "println!",
        "eprintln!",
    ];
    const CRATES: &[&str] = &["tokio", "rand", "getrandom", "hyper", "tokio-postgres"];
    let mut found = Vec::new();
    let folder = format!("{CORE}src/");
    let sources = production_sources(tree, &folder);
    for (path, source) in sources.filter(|(path, _)| !path.contains("/tenure/simulation")) {
        let is_drawn = |line: &usize| {
            let code = source.code[line - 1].replace("fastrand::Rng", "");
            contains_word(&code, "fastrand")
        };
        for line in source.lines_with("fastrand").into_iter().filter(is_drawn) {
            let message = "a number is drawn in the core, which takes its dice as a value";
            found.push(violation(path, line, message.to_owned()));
        }
        for word in FORBIDDEN {
            for line in source.lines_with(word) {
                let message = format!("`{word}` in the core, which decides and does no I/O");
                found.push(violation(path, line, message));
            }
        }
    }
    let manifest = format!("{CORE}Cargo.toml");
    let content = tree.get(&manifest).map_or("", String::as_str);
    let mut is_for_tests = false;
    for (number, line) in numbered(content) {
        if line.starts_with('[') {
            is_for_tests = line.contains("dev-dependencies");
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        // The first draws seeds by this feature, the second ids.
        let draws = name == "fastrand" && !line.contains("default-features = false")
            || name == "uuid" && line.contains("v4");
        if draws && !is_for_tests {
            let message = format!("the core depends on a `{name}` that draws numbers");
            found.push(violation(&manifest, number, message));
        }
        if CRATES.contains(&name) && !is_for_tests {
            let message = format!("the core depends on `{name}`, but does no I/O");
            found.push(violation(&manifest, number, message));
        }
    }
    found
}

/// Doors between the rooms open one way: the compiler holds them, as long as no manifest makes another one.
fn doors_open_one_way(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (room, doors) in ROOMS {
        let path = format!("crates/{room}/Cargo.toml");
        let Some(content) = tree.get(&path) else { continue };
        let (mut is_list, mut is_for_tests) = (false, false);
        for (number, line) in numbered(content) {
            if line.starts_with('[') {
                is_list = line.contains("dependencies");
                is_for_tests = line.starts_with("[dev-dependencies");
            }
            // A line of the list, or the head of a section of its own.
            let line = line.trim_start_matches("[dependencies.");
            let name = line.split(['=', '.', ' ', ']']).next().unwrap_or_default();
            let is_ours =
                name.starts_with("postrider") && !(is_for_tests && FOR_TESTS.contains(&name));
            // A transport does I/O with its destination and reports; what follows is not its business.
            let is_database = room == "postrider-transport" && name.starts_with("tokio-postgres");
            if is_list && (is_ours && !doors.contains(&name) || is_database) {
                let message = format!("no door leads from `{room}` to `{name}`");
                found.push(violation(&path, number, message));
            }
        }
    }
    found
}

/// SQL is reviewed, formatted and tested as SQL.
fn sql_stands_in_sql_files(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    // A crate that is published carries its statements itself.
    let product = PRODUCT.map(|folder| (folder, "sql/queries"));
    for (folder, place) in product.into_iter().chain([(CLIENT, "crates/postrider-client/sql")]) {
        for (path, source) in production_sources(tree, folder) {
            for (line, text) in source.strings.iter().filter(|(_, text)| is_sql(text)) {
                let start: String = text.trim().chars().take(40).collect();
                let message = format!("SQL in a string (`{start}`); it belongs in {place}");
                found.push(violation(path, *line, message));
            }
        }
    }
    found
}

/// A transport is one file and one line in the list: everything else is free of it.
fn only_its_own_file_names_a_transport(tree: &Tree) -> Vec<Violation> {
    let list = format!("{TRANSPORTS}protocol.rs");
    let Some(content) = tree.get(&list) else { return Vec::new() };
    let kinds = Source::read(content).words_before("::PROTOCOL");
    let mut found = Vec::new();
    for (path, source) in production_sources(tree, "crates/") {
        for kind in &kinds {
            let own = format!("{TRANSPORTS}{kind}");
            let is_own = path.strip_prefix(&own).is_some_and(|rest| rest.starts_with(['.', '/']));
            if is_own || *path == list {
                continue;
            }
            // Outside of their crate no path leads to it: its module is private.
            let mut lines = Vec::new();
            if path.starts_with(TRANSPORTS) {
                let paths = [format!("crate::{kind}"), format!("super::{kind}::")];
                lines.extend(paths.iter().flat_map(|path| source.lines_with(path)));
                lines.extend(source.lines_importing("crate", kind));
            }
            let names = source.strings.iter().filter(|(_, text)| text == kind);
            // `http` is also the scheme of an address.
            let is_scheme = |line: usize| contains_word(&source.code[line - 1], "scheme");
            lines.extend(names.map(|(line, _)| *line).filter(|line| !is_scheme(*line)));
            lines.sort_unstable();
            lines.dedup();
            for line in lines {
                let message = format!("the transport `{kind}` is named outside its own file");
                found.push(violation(path, line, message));
            }
        }
    }
    found
}

/// One place writes what became of a delivery, so one place has to be right about it.
fn only_the_ledger_flushes(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, source) in product_sources(tree) {
        if path == LEDGER {
            continue;
        }
        let is_flush =
            |text: &str| text.ends_with("/flush.sql") || text.contains("postrider.flush(");
        let strings = source.strings.iter().filter(|(_, text)| is_flush(text));
        for (line, _) in strings {
            let message = format!("the flush is called outside {LEDGER}");
            found.push(violation(path, *line, message));
        }
    }
    found
}

/// What a broker's client can do and cannot is the business of one folder.
fn only_the_carrier_names_its_client(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, source) in product_sources(tree) {
        if path.starts_with(RABBITMQ) {
            continue;
        }
        for line in source.lines_with("lapin") {
            found.push(violation(path, line, format!("`lapin` is named outside {RABBITMQ}")));
        }
    }
    found
}

/// A migration has to mean the same for ever; a function is another one after every release.
fn migrations_call_no_function_of_ours(tree: &Tree) -> Vec<Violation> {
    let functions: Vec<_> =
        files(tree, "sql/functions/", ".sql").map(|(path, _)| stem(path)).collect();
    let mut found = Vec::new();
    for (path, content) in files(tree, "sql/migrations/", ".sql") {
        for (number, line) in numbered(&without_sql_comments(content)) {
            for function in &functions {
                if contains_word(line, &format!("postrider.{function}"))
                    && line.contains(&format!("{function}("))
                {
                    let message = format!("a migration calls `{function}`, which is re-installed");
                    found.push(violation(path, number, message));
                }
            }
        }
    }
    found
}

/// A function is found by its name.
fn one_function_per_file(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, content) in files(tree, "sql/functions/", ".sql") {
        let content = without_sql_comments(content);
        let mut names = Vec::new();
        for (number, line) in numbered(&content) {
            let line = line.to_lowercase();
            let Some(rest) = ["create or replace function ", "create or replace procedure "]
                .iter()
                .find_map(|start| line.trim_start().strip_prefix(start))
            else {
                continue;
            };
            names.push((number, rest.split('(').next().unwrap_or_default().trim().to_owned()));
        }
        let expected = format!("postrider.{}", stem(path));
        if names.is_empty() {
            found.push(violation(
                path,
                1,
                format!("`create or replace function {expected}` is missing"),
            ));
        }
        for (position, (line, name)) in names.iter().enumerate() {
            if position > 0 {
                let message = format!("`{name}` is a second function in this file");
                found.push(violation(path, *line, message));
            } else if *name != expected {
                let message = format!("the file holds `{name}`, not `{expected}`");
                found.push(violation(path, *line, message));
            }
        }
    }
    found
}

/// Who opens a file learns from its first line what it is for. `tests.rs` says so by its name.
fn modules_begin_with_their_purpose(tree: &Tree) -> Vec<Violation> {
    files(tree, "", ".rs")
        .filter(|(path, content)| !content.starts_with("//! ") && !path.ends_with("/tests.rs"))
        .map(|(path, _)| violation(path, 1, "the first line is not a `//!` comment".to_owned()))
        .collect()
}

/// The repository works on any machine.
fn nothing_names_a_machine(tree: &Tree) -> Vec<Violation> {
    // Written in pieces: this file is checked as well.
    const FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    const HOSTS: &[&str] = &[
        concat!("index.crates", ".io"),
        concat!("static.crates", ".io"),
        concat!("registry.npmjs", ".org"),
        concat!("pypi", ".org"),
        concat!("files.pythonhosted", ".org"),
        concat!("proxy.golang", ".org"),
        concat!("deb.debian", ".org"),
    ];
    let mut found = Vec::new();
    for (path, content) in tree.iter().filter(|(path, _)| !path.ends_with(".lock")) {
        for (number, line) in numbered(content) {
            for folder in FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
                let message = format!("a path of one machine: `{folder}`");
                found.push(violation(path, number, message));
            }
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                found.push(violation(path, number, format!("the host of a registry: `{host}`")));
            }
        }
    }
    found
}

/// A query that runs in a loop is read with its index in mind. A query that only calls functions is
/// looked at there; `-- Index: none, …` gives the reason for having none.
fn queries_name_their_index(tree: &Tree) -> Vec<Violation> {
    let migrations: String =
        files(tree, "sql/migrations/", ".sql").map(|(_, content)| content.as_str()).collect();
    let mut found = Vec::new();
    for (path, content) in files(tree, "sql/queries/", ".sql") {
        if !reads_a_table(&without_sql_comments(content)) {
            continue;
        }
        let Some((line, names)) = named_indexes(content) else {
            let message = "the query names no index (`-- Index: name.`)".to_owned();
            found.push(violation(path, 1, message));
            continue;
        };
        for name in names.iter().filter(|name| !is_index(&migrations, name)) {
            found.push(violation(path, line, format!("no migration creates the index `{name}`")));
        }
    }
    found
}

fn violation(path: &str, line: usize, message: String) -> Violation {
    Violation { path: path.to_owned(), line, message }
}

fn files<'a>(
    tree: &'a Tree,
    folder: &'a str,
    extension: &'a str,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    tree.iter().filter(move |(path, _)| path.starts_with(folder) && path.ends_with(extension))
}

/// The sources without test files and without the test modules at the end of others.
fn production_sources<'a>(
    tree: &'a Tree,
    folder: &'a str,
) -> impl Iterator<Item = (&'a String, Source)> {
    files(tree, folder, ".rs")
        .filter(|(path, _)| !path.ends_with("/tests.rs") && !path.contains("/tests/"))
        .map(|(path, content)| (path, Source::read(content).without_tests()))
}

/// The same of all that the program is made of, but for the core.
fn product_sources(tree: &Tree) -> impl Iterator<Item = (&String, Source)> {
    PRODUCT.into_iter().flat_map(|folder| production_sources(tree, folder))
}

fn numbered(content: &str) -> impl Iterator<Item = (usize, &str)> {
    content.lines().enumerate().map(|(position, line)| (position + 1, line))
}

fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".sql").unwrap_or(name).to_owned()
}

/// Whether a string literal is a statement of SQL. Sentences that begin with the same words, such as
/// `create an endpoint first`, are not.
fn is_sql(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    // A capital letter begins a sentence, capitals throughout are old-fashioned SQL.
    if first != first.to_lowercase() && first != first.to_uppercase() {
        return false;
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let second = words.get(1).map_or("", String::as_str);
    let has = |word: &str| words.iter().any(|found| found == word);
    let is_object = |word: &str| {
        const OBJECTS: &[&str] = &[
            "aggregate",
            "database",
            "domain",
            "extension",
            "function",
            "index",
            "materialized",
            "or",
            "owned",
            "policy",
            "procedure",
            "role",
            "schema",
            "sequence",
            "system",
            "table",
            "temp",
            "temporary",
            "trigger",
            "type",
            "unique",
            "unlogged",
            "user",
            "view",
        ];
        OBJECTS.contains(&word)
    };
    match first.to_lowercase().as_str() {
        "select" => !second.is_empty(),
        "insert" => second == "into",
        "delete" => second == "from",
        "update" => has("set"),
        "with" => has("as") && has("select") || text.contains(" as ("),
        "create" | "alter" | "drop" => is_object(second),
        "truncate" | "listen" | "unlisten" | "notify" | "vacuum" | "analyze" => words.len() == 2,
        "copy" => has("stdin") || has("stdout"),
        "set" => has("=") || has("to") || second == "local",
        _ => false,
    }
}

/// Blanks `-- …` comments and keeps the lines.
fn without_sql_comments(content: &str) -> String {
    let code = |line: &str| line.split("--").next().unwrap_or_default().to_owned();
    content.lines().map(code).collect::<Vec<_>>().join("\n")
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether `word` stands in the text with no letter, digit or underscore on either side.
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        // A word that ends in a sign, such as `println!` or `store::`, needs no end.
        let is_open_end = !word.ends_with(is_word);
        !before.is_some_and(is_word) && (is_open_end || !after.is_some_and(is_word))
    })
}

/// Whether an absolute path into `folder` stands in the line; `site.example/…` is none.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|before| is_word(before) || "./-}$~*".contains(before))
    })
}

/// Whether a query reads a table or view of ours, and not only functions.
fn reads_a_table(sql: &str) -> bool {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.windows(2).any(|pair| {
        matches!(pair[0], "from" | "join" | "update" | "into" | "using")
            && pair[1].starts_with("postrider.")
            && !pair[1].contains('(')
    })
}

/// The names after `Index:` or `Indexes:` in a comment, and the line; none after `Index: none`.
fn named_indexes(content: &str) -> Option<(usize, Vec<String>)> {
    numbered(content).find_map(|(number, line)| {
        let (_, comment) = line.split_once("--")?;
        let (_, names) =
            comment.split_once("Index: ").or_else(|| comment.split_once("Indexes: "))?;
        if names.starts_with("none, ") {
            return Some((number, Vec::new()));
        }
        let names = names.split(['.', '(', ';']).next().unwrap_or_default().split(',');
        Some((number, names.map(|name| name.trim().to_owned()).collect()))
    })
}

/// Whether the migrations create the index, or the table whose primary key it is.
fn is_index(migrations: &str, name: &str) -> bool {
    let creates = |what: &str, name: &str| contains_word(migrations, &format!("{what} {name}"));
    match name.strip_suffix("_pkey") {
        Some(table) => creates("create table", &format!("postrider.{table}")),
        None => {
            creates("index", name)
                || creates("index if not exists", name)
                || creates("constraint", name)
        }
    }
}

#[cfg(test)]
mod tests;
