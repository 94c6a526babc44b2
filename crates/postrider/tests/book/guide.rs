//! A page as somebody works through it, from its first line to its last: SQL in one session, commands in a shell, and
//! programs in terminals of their own.
//!
//! Beside the blocks of [`super`]:
//!
//! - `sh` has to work; the next one has its exported variables. `sh fails` has to end with another code than 0.
//! - `sh terminal NAME` goes on until the page ends or uses that terminal again: then it is told to stop.
//! - `text` behind `sh` is all that it prints; behind `sh terminal NAME`, and in a block `text terminal NAME` anywhere, it
//!   is what such a terminal shows next, whatever stands between those lines. `…` stands for anything.
//! - `sql soon` and `sh soon` are tried until they show what stands behind them.
//!
//! The ports 9000 to 9002 are others here. `psql`, `createdb` and `postrider` find the server by `PGPORT` and `PGUSER`; host
//! and database are for the page to say.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postrider_testkit::postgres::{Options, PrivatePostgres};
use postrider_testkit::{port, process};

use super::{Example, Page, Reader};
use crate::shop::serving::LONG;

/// How often is looked whether something has come.
const LOOKS: Duration = Duration::from_millis(50);

/// The database that a guide makes.
const DATABASE: &str = "shop";

/// What somebody who reads a guide sits at.
struct Desk {
    postgres: PrivatePostgres,
    folder: PathBuf,
    /// Folders with programs, the first of them first.
    path: String,
    /// What stands in the page, and what is used here.
    ports: Vec<(&'static str, String)>,
    terminals: HashMap<String, Terminal>,
}

struct Terminal {
    child: Child,
    output: PathBuf,
    /// How many lines of its output the page has shown.
    shown_count: usize,
}

/// Works through a page. `programs` are folders of programs that it uses beside ours.
pub async fn work_through(path: &str, programs: &[PathBuf]) {
    let page = Page::read(path);
    let mut desk = Desk::new(path, programs);
    let steps = steps(&page, &desk);
    let is_sql = |step: &Example| step.block.kind.starts_with("sql");
    let first_sql = steps.iter().position(is_sql).unwrap_or(steps.len());
    for step in &steps[..first_sql] {
        desk.take(step, &page);
    }
    let client = desk.postgres.connect_to(DATABASE).await.unwrap();
    let mut reader = Reader::new(&client);
    for step in &steps[first_sql..] {
        if is_sql(step) {
            read(&mut reader, step, &page).await;
        } else {
            desk.take(step, &page);
        }
    }
    assert!(steps.len() > 10, "{}: {} steps", page.path, steps.len());
}

/// What is to be done, each with what it shows.
fn steps(page: &Page, desk: &Desk) -> Vec<Example> {
    let mut steps: Vec<Example> = Vec::new();
    for mut block in page.blocks() {
        block.text = desk.with_ports(&block.text);
        let mut words = block.kind.split(' ');
        match (words.next(), words.next()) {
            (Some("sql" | "sh"), _) | (Some("text"), Some("terminal")) => {
                steps.push(Example { block, shown: None });
            }
            (Some("text"), None) if block.follows => {
                let step = steps.last_mut().expect("something is shown of a step");
                step.shown.get_or_insert(block);
            }
            _ => {}
        }
    }
    steps
}

async fn read(reader: &mut Reader<'_>, step: &Example, page: &Page) {
    let began = Instant::now();
    while let Err(problem) = reader.run(step).await {
        let is_over = step.block.kind != "sql soon" || began.elapsed() > LONG;
        assert!(!is_over, "{}:{}: {problem}", page.path, step.block.line);
        tokio::time::sleep(LOOKS).await;
    }
}

impl Desk {
    fn new(page: &str, programs: &[PathBuf]) -> Self {
        let postgres = PrivatePostgres::start(Options::default()).unwrap();
        let name = page.replace(['/', '.'], "-");
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let own = PathBuf::from(env!("CARGO_BIN_EXE_postrider")).parent().unwrap().to_owned();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = [own, postgres.bin_dir().to_owned()];
        let folders =
            folders.into_iter().chain(programs.to_vec()).chain(std::env::split_paths(&rest));
        let path = std::env::join_paths(folders).unwrap().into_string().unwrap();
        let ports = ["9000", "9001", "9002"];
        let ports = ports.map(|port| (port, port::find_free().unwrap().to_string())).to_vec();
        Self { postgres, folder, path, ports, terminals: HashMap::new() }
    }

    fn with_ports(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (shown, used)| text.replace(shown, used))
    }

    /// Does what a block of the shell or of a terminal says.
    fn take(&mut self, step: &Example, page: &Page) {
        let shown = step.shown.as_ref().map(|block| block.text.as_str());
        let words: Vec<&str> = step.block.kind.split(' ').collect();
        let result = match words[..] {
            ["sh"] => self.run(&step.block.text, true, shown),
            ["sh", "fails"] => self.run(&step.block.text, false, shown),
            ["sh", "soon"] => until(|| self.run(&step.block.text, true, shown)),
            ["sh", "terminal", name] => {
                self.open(name, &step.block.text);
                self.shows(name, shown.unwrap_or_default())
            }
            ["text", "terminal", name] => self.shows(name, &step.block.text),
            _ => Err(format!("there are no blocks `{}`", step.block.kind)),
        };
        if let Err(problem) = result {
            panic!("{}:{}: {problem}", page.path, step.block.line);
        }
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        let variables = self.folder.join("variables");
        let script =
            format!("set -euo pipefail\ntouch '{0}'\n. '{0}'\n{script}", variables.display());
        command.args(["-c", &script]).current_dir(process::workspace());
        command.stdin(Stdio::null()).env("PATH", &self.path);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["PG", "POSTRIDER_", "DATABASE_URL"].iter().any(|own| text.starts_with(own)) {
                command.env_remove(name);
            }
        }
        command.env("PGPORT", self.postgres.port().to_string()).env("PGUSER", "postgres");
        // No two pages want the port of the API.
        command.env("POSTRIDER_LISTEN", "off");
        command
    }

    fn run(&self, script: &str, works: bool, shown: Option<&str>) -> Result<(), String> {
        let variables = self.folder.join("variables");
        let script = format!("{script}\nexport -p > '{}'", variables.display());
        let output = self.command(&script).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
        if output.status.success() != works {
            return Err(format!("ends with {}:\n{}{}", output.status, said[0], said[1]));
        }
        let Some(shown) = shown else { return Ok(()) };
        let printed = if works { said[0].clone() } else { said.concat() };
        let [printed, expected] = [printed.as_str(), shown].map(lines);
        let is_same = printed.len() == expected.len()
            && printed.iter().zip(&expected).all(|(line, shown)| is_shown(line, shown));
        if is_same { Ok(()) } else { Err(format!("prints {printed:?}, and the page {expected:?}")) }
    }

    fn open(&mut self, name: &str, script: &str) {
        // Whoever is there goes first.
        self.terminals.remove(name);
        let output = self.folder.join(name);
        let file = std::fs::File::create(&output).unwrap();
        let mut command = self.command(script);
        command.stdout(file.try_clone().unwrap()).stderr(file).process_group(0);
        let child = command.spawn().unwrap();
        self.terminals.insert(name.to_owned(), Terminal { child, output, shown_count: 0 });
    }

    fn shows(&mut self, name: &str, shown: &str) -> Result<(), String> {
        let terminal = self.terminals.get_mut(name).ok_or("there is no such terminal")?;
        for expected in lines(shown) {
            until(|| terminal.shows(&expected))?;
        }
        Ok(())
    }
}

impl Terminal {
    /// Whether a line like this has come since the last.
    fn shows(&mut self, expected: &str) -> Result<(), String> {
        let text = std::fs::read_to_string(&self.output).unwrap();
        // A line that is still being written is none yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let printed = lines(whole);
        match printed.iter().skip(self.shown_count).position(|line| is_shown(line, expected)) {
            Some(at) => {
                self.shown_count += at + 1;
                Ok(())
            }
            None => Err(format!("`{expected}` does not come: {printed:#?}")),
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a signal to the group of a child that has not been waited for.
        unsafe { libc::kill(-self.child.id().cast_signed(), signal) };
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.signal(libc::SIGTERM);
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|status| status.is_none()) {
            if began.elapsed() > LONG {
                self.signal(libc::SIGKILL);
            }
            std::thread::sleep(LOOKS);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.terminals.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Tries until it is so.
fn until(mut attempt: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(_) if began.elapsed() < LONG => std::thread::sleep(LOOKS),
            result => return result,
        }
    }
}

/// Lines with single spaces between their words, without empty ones.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(super::squeeze).filter(|line| !line.is_empty()).collect()
}

/// Whether a line is what the page shows, in which `…` stands for anything.
fn is_shown(line: &str, shown: &str) -> bool {
    let mut pieces = shown.split('…');
    let Some(mut rest) = line.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

#[test]
fn a_line_is_shown_as_it_is_but_for_dots() {
    for (line, shown, expected) in [
        ("a b", "a b", true),
        ("a b c", "a b", false),
        ("a b c", "a … c", true),
        ("a b", "a …", true),
        ("xa b", "a …", false),
        ("a b c", "… b …", true),
        ("a b c", "… d …", false),
        ("a b c d", "a … c", false),
    ] {
        assert_eq!(is_shown(line, shown), expected, "{line} {shown}");
    }
}
