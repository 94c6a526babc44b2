//! The road of a message in ARCHITECTURE.md, beside what one message leaves in the logs of the program and of the server.

use std::{collections::BTreeSet, fs, path::Path};

use postrider_testkit::{
    postgres::Options,
    process::{Dispatcher, workspace},
    receiver::{Behaviour, Receiver},
};
use serde_json::{Value, json};

use crate::{
    book::{Page, code_spans, squeeze, text_of},
    shop::{Shop, serving::LONG},
};

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "The road of a message";
/// So many a reader can follow.
const STOPS_MAX: usize = 25;

/// A stop: one of these functions of a file, or the statement or the function in a file of SQL.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stop {
    file: String,
    functions: Vec<String>,
}

/// Something that was logged, in the order of its log.
#[derive(Debug)]
struct Entry {
    /// In milliseconds, as the server's log has it.
    at: u64,
    log: Log,
    index: usize,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Program,
    Server,
}

#[derive(Debug)]
enum What {
    /// A stop that the program has noted: its file, and the function.
    Noted(String, String),
    /// The text of a statement, with single spaces.
    Statement(String),
}

impl Stop {
    fn is(&self, entry: &Entry) -> bool {
        match &entry.what {
            What::Noted(file, function) => *file == self.file && self.functions.contains(function),
            What::Statement(text) => match self.file.strip_prefix("sql/functions/") {
                Some(path) => {
                    let name = path.rsplit('/').next().unwrap().trim_end_matches(".sql");
                    text.contains(&format!("postrider.{name}("))
                }
                None => self.file.ends_with(".sql") && *text == squeeze(&text_of(&self.file)),
            },
        }
    }
}

// What is written -----------------------------------------------------------------------------------

/// The stops of the first table, and the numbers that the text before it gives.
fn written() -> (Vec<Stop>, Vec<usize>) {
    let page = Page::read(PAGE);
    let section = page.section(SECTION);
    let stops = section
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            let number = cells.next()?;
            let stop = cells.next()?;
            number.parse::<u32>().is_ok().then(|| stop_of(stop, page.text()))
        })
        .collect();
    let text = squeeze(section);
    let start = text.find(" makes ").expect("how many stops it makes");
    let numbers = text[start..]
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .take(4)
        .map(|digits| digits.parse().unwrap())
        .collect();
    (stops, numbers)
}

/// A cell such as "`a`, `b` in [`file`](path)" or "[`file.sql`](path)".
fn stop_of(cell: &str, page: &str) -> Stop {
    let (functions, place) = match cell.split_once(" in ") {
        Some((functions, place)) => (functions, place),
        None => ("", cell),
    };
    let named = code_spans(place).pop().expect("a file");
    // What was linked before is only named.
    let (_, link) = page
        .split_once(&format!("[`{named}`]("))
        .unwrap_or_else(|| panic!("{named} is linked nowhere"));
    let file = link.split(')').next().unwrap().to_owned();
    Stop { file, functions: code_spans(functions) }
}

// What was recorded ---------------------------------------------------------------------------------

/// The file of a module that notes a stop.
fn file_of(target: &str) -> String {
    let (package, module) = target.split_once("::").expect("a module");
    let path = format!("crates/{}/src/{}", package.replace('_', "-"), module.replace("::", "/"));
    [format!("{path}.rs"), format!("{path}/mod.rs")]
        .into_iter()
        .find(|path| workspace().join(path).exists())
        .unwrap_or_else(|| panic!("no file has {target}"))
}

/// Of moments that are written alike, up to the millisecond: a later one has a larger number.
fn milliseconds(day: &str, time: &str) -> u64 {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(['-', ':', '.']).map(|part| part.parse().unwrap()).collect()
    };
    let (day, time) = (numbers(day), numbers(time));
    let days = (day[0] * 12 + day[1]) * 31 + day[2];
    (((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2]) * 1_000 + time[3]
}

fn noted(lines: &[String]) -> Vec<Entry> {
    let stops = lines.iter().filter_map(|line| {
        let value: Value = serde_json::from_str(line).ok()?;
        let function = value["stop"].as_str()?.to_owned();
        let (day, time) = value["timestamp"].as_str()?.split_once('T')?;
        let at = milliseconds(day, time.get(..12)?);
        Some((at, What::Noted(file_of(value["target"].as_str()?), function)))
    });
    entries(stops, Log::Program)
}

fn statements(log: &str) -> Vec<Entry> {
    // What belongs to a line begins with a tabulator.
    let joined = log.replace("\n\t", " ");
    let statements = joined.lines().filter_map(|line| {
        let text = line.split_once("LOG:  ")?.1;
        let (kind, text) = text.split_once(": ")?;
        let is_statement = kind == "statement" || kind.starts_with("execute ");
        let mut words = line.split(' ');
        let (day, time) = (words.next()?, words.next()?);
        is_statement.then(|| (milliseconds(day, time), What::Statement(squeeze(text))))
    });
    entries(statements, Log::Server)
}

fn entries(found: impl Iterator<Item = (u64, What)>, log: Log) -> Vec<Entry> {
    found.enumerate().map(|(index, (at, what))| Entry { at, log, index, what }).collect()
}

/// The entries of these stops, each as late as the next one allows; or the stop that is missing.
fn trace<'a>(stops: &'a [Stop], entries: &'a [Entry]) -> Result<Vec<&'a Entry>, &'a Stop> {
    let mut found: Vec<&Entry> = Vec::new();
    for stop in stops.iter().rev() {
        let is_before = |entry: &&Entry| {
            found.iter().all(|later| match later.log == entry.log {
                true => entry.index < later.index,
                false => entry.at <= later.at,
            })
        };
        let last = entries.iter().filter(|entry| stop.is(entry)).filter(is_before);
        found.push(last.max_by_key(|entry| (entry.at, entry.index)).ok_or(stop)?);
    }
    found.reverse();
    Ok(found)
}

/// Functions that note a stop, by file.
fn noting(folder: &str) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(workspace().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            all.extend(noting(&path));
        } else if path.contains("/src/") && path.ends_with(".rs") {
            for part in text_of(&path).split("stop = \"").skip(1) {
                all.insert((path.clone(), part.split('"').next().unwrap().to_owned()));
            }
        }
    }
    all
}

/// A message that is delivered by its first attempt; both logs until its end is on record.
async fn record() -> Vec<Entry> {
    let options = Options::default().set("log_statement", "all").set("log_timezone", "UTC");
    let shop = Shop::open_to_receivers_with(options).await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), json!({})).await;
    let options = shop
        .serve_options()
        .variable("POSTRIDER_LOG_FORMAT", "json")
        .variable("POSTRIDER_LOG_LEVEL", "trace");
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    shop.execute("select postrider.send_with_options('hooks', '{}')").await;
    dispatcher.wait_for_log("results are on record", LONG).await.unwrap();
    let mut all = noted(&dispatcher.log_lines());
    all.extend(statements(&shop.postgres.log()));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_makes_the_stops_that_are_written_and_no_other_is_noted() {
    let (stops, numbers) = written();
    let entries = record().await;
    let found = trace(&stops, &entries).unwrap_or_else(|missing| {
        let noted: Vec<_> = entries.iter().filter(|entry| entry.log == Log::Program).collect();
        panic!("{missing:?} was not made at its place: {noted:#?}")
    });
    assert!(found.len() <= STOPS_MAX, "{} stops", found.len());

    let is_sql = |stop: &&Stop| Path::new(&stop.file).extension().unwrap() == "sql";
    let files: BTreeSet<&str> = stops.iter().map(|stop| stop.file.as_str()).collect();
    let sql = stops.iter().filter(is_sql).count();
    assert_eq!(
        numbers,
        [stops.len(), files.len(), files.len() - sql, sql],
        "said before the table"
    );

    let unwritten: Vec<_> = noting("crates")
        .into_iter()
        .filter(|(file, function)| {
            !stops.iter().any(|stop| stop.file == *file && stop.functions.contains(function))
        })
        .collect();
    assert!(unwritten.is_empty(), "noted, and no stop of {PAGE}: {unwritten:?}");
}

#[test]
fn a_stop_that_is_not_made_or_stands_at_another_place_is_found() {
    let entry = |at, log, index, what| Entry { at, log, index, what };
    let noted = |file: &str, name: &str| What::Noted(file.to_owned(), name.to_owned());
    let stop =
        |file: &str, name: &str| Stop { file: file.to_owned(), functions: vec![name.to_owned()] };
    let entries = [
        entry(5, Log::Program, 0, noted("a.rs", "look")),
        entry(6, Log::Server, 0, What::Statement("select postrider.flush($1)".to_owned())),
        entry(6, Log::Program, 1, noted("b.rs", "take")),
        entry(9, Log::Program, 2, noted("a.rs", "look")),
    ];
    let flush = || stop("sql/functions/dispatch/flush.sql", "");
    let right = [stop("a.rs", "look"), flush(), stop("b.rs", "take")];
    assert_eq!(trace(&right, &entries).unwrap()[0].at, 5);
    for wrong in [
        [stop("a.rs", "look"), flush(), stop("b.rs", "put")],
        [stop("b.rs", "take"), stop("a.rs", "look"), flush()],
        [flush(), flush(), stop("b.rs", "take")],
    ] {
        assert!(trace(&wrong, &entries).is_err(), "{wrong:?}");
    }
}
