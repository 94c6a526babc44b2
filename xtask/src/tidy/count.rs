//! The numbers that say whether somebody can still reason about the engine.

use super::{Tree, production_sources, rust::Source, shape};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const CORE: &str = "crates/postrider-core/src/";
const TENURE: &str = "crates/postrider-core/src/tenure/";
const COMMANDS: &str = "crates/postrider-core/src/tenure/command.rs";
const DRIVER: &str = shape::ENGINE[0];
const TESTS: &str = "crates/postrider/tests/";

/// Something that is counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Count {
    pub what: &'static str,
    pub number: usize,
    /// Where it is that large, or what it is compared with.
    pub of: String,
}

/// Counts a tree.
pub fn count(tree: &Tree) -> Vec<Count> {
    let structs = shape::structs_of_the_engine(tree);
    let largest = structs.iter().max_by_key(|(_, block)| block.members.len());
    let (name, fields) =
        largest.map_or(("none", 0), |(_, block)| (block.name.as_str(), block.members.len()));
    let all = || structs.iter().flat_map(|(_, block)| &block.members);
    let dispatcher = structs.iter().find(|(_, block)| block.name == "Dispatcher");
    let own = || dispatcher.iter().flat_map(|(_, block)| &block.members);
    let is_flag = |name: &&String| name.starts_with("is_") || name.starts_with("has_");
    let is_moment = |name: &&String| name.ends_with("_at");
    let Modules { tested, all: modules, data } = modules_of_a_tenure(tree);
    let beside = format!("of {modules}; {data} more have no function");
    let [stops, files, returns] = road(tree);
    let count = |what, number, of: &str| Count { what, number, of: of.to_owned() };
    vec![
        count("fields of the largest struct of the engine", fields, name),
        count("fields of `Dispatcher`", own().count(), ""),
        count("flags (`is_…`, `has_…`) of `Dispatcher`", own().filter(is_flag).count(), ""),
        count("moments (`…_at`) of `Dispatcher`", own().filter(is_moment).count(), ""),
        count("flags in all structs of the engine", all().filter(is_flag).count(), ""),
        count("moments in all structs of the engine", all().filter(is_moment).count(), ""),
        count("events", events(tree), "variants of `Event`"),
        count("files of the dispatcher in a circle", circles(tree), ""),
        count("stops of a message", stops, "tests/road.rs records them"),
        count("files of these stops", files, ""),
        count("times that it leaves the dispatcher and comes back", returns, ""),
        count("modules of a tenure with unit tests", tested, &beside),
        count("`Instant::now()` in the core", clocks(tree), ""),
        count("lines of the driver", lines(tree, DRIVER), "without tests"),
        count("tests of the core", tests_in(tree, "crates/postrider-core/"), ""),
        count("integration tests", tests_in(tree, TESTS), "with real servers"),
    ]
}

fn is_production(path: &str) -> bool {
    let outside = ["/simulation", "/tests.rs", "/tests/"];
    path.ends_with(".rs") && !outside.iter().any(|part| path.contains(part))
}

/// The modules of a tenure.
struct Modules {
    /// Those that have a function, and how many of them have tests of their own.
    all: usize,
    tested: usize,
    /// Those without a function: types and names for others, in which nothing can go wrong.
    data: usize,
}

/// A module's own tests stand in it or in `tests.rs` beside it. What has no `#[test]` is none, be it called so: helpers of
/// other tests may stand there.
fn modules_of_a_tenure(tree: &Tree) -> Modules {
    let has_test = |text: &String| text.lines().any(|line| line.trim() == "#[test]");
    let beside = |path: &str| path.strip_suffix(".rs").map(|stem| format!("{stem}/tests.rs"));
    let mut modules = Modules { all: 0, tested: 0, data: 0 };
    for (path, source) in production_sources(tree, TENURE).filter(|(path, _)| is_production(path)) {
        if shape::has_no_function(&source) {
            modules.data += 1;
            continue;
        }
        let own = [tree.get(path), beside(path).and_then(|path| tree.get(&path))];
        modules.all += 1;
        modules.tested += usize::from(own.into_iter().flatten().any(has_test));
    }
    modules
}

fn events(tree: &Tree) -> usize {
    let source = tree.get(COMMANDS).map(|text| Source::read(text)).unwrap_or_default();
    let enums = shape::blocks(&source, "enum");
    enums.iter().find(|block| block.name == "Event").map_or(0, |block| block.members.len())
}

fn circles(tree: &Tree) -> usize {
    shape::the_dispatcher_has_no_circles(tree).len()
}

/// What ARCHITECTURE.md says, which a test compares with a message: stops, files, returns.
fn road(tree: &Tree) -> [usize; 3] {
    let text = tree.get(ARCHITECTURE).map_or("", String::as_str);
    let words: Vec<&str> = text.split_whitespace().collect();
    let before = |unit: &[&str]| {
        let at = words.windows(unit.len()).position(|words| words == unit)?;
        number(words[at.checked_sub(1)?])
    };
    let returns = before(&["times", "it", "leaves", "the", "dispatcher"]);
    [before(&["stops", "in"]), before(&["files,"]), returns].map(Option::unwrap_or_default)
}

fn number(word: &str) -> Option<usize> {
    const WORDS: [&str; 7] = ["zero", "one", "two", "three", "four", "five", "six"];
    let word = word.to_lowercase();
    word.parse().ok().or_else(|| WORDS.iter().position(|name| *name == word))
}

fn clocks(tree: &Tree) -> usize {
    let sources = production_sources(tree, CORE).filter(|(path, _)| is_production(path));
    sources
        .flat_map(|(_, source)| source.code)
        .map(|line| line.matches("Instant::now()").count())
        .sum()
}

fn lines(tree: &Tree, folder: &str) -> usize {
    let sources = production_sources(tree, folder).filter(|(path, _)| is_production(path));
    sources.map(|(_, source)| source.code.len()).sum()
}

fn tests_in(tree: &Tree, folder: &str) -> usize {
    let is_test = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("#[test]") || line.starts_with("#[tokio::test")
    };
    let files = tree.iter().filter(|(path, _)| path.starts_with(folder) && path.ends_with(".rs"));
    files.map(|(_, text)| text.lines().filter(is_test).count()).sum()
}
