//! Our own binary as a process: started, watched, stopped, frozen and killed.
//!
//! A [`Dispatcher`] never outlives the process that started it, nor the value itself. Its log is
//! read all the time, so it never blocks on a full pipe, and lines can be waited for.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::sync::watch;

use crate::child::Process;

/// How long the last lines of a process that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How many log lines are kept in memory; older ones are only in the file, if one was asked for.
const LOG_LINES: usize = 50_000;

/// How many of the last log lines an error shows.
const LOG_TAIL_LINES: usize = 30;

/// What to start.
#[derive(Debug, Clone)]
pub struct DispatcherOptions {
    /// The binary; see [`postrider_binary`]. An integration test passes
    /// `env!("CARGO_BIN_EXE_postrider")`.
    pub binary: PathBuf,
    /// The arguments, `serve` included.
    pub arguments: Vec<String>,
    /// Environment variables on top of ours.
    pub environment: Vec<(String, String)>,
    /// Where the log is written as well; appended to.
    pub log_file: Option<PathBuf>,
}

impl DispatcherOptions {
    /// `postrider serve` on a database.
    pub fn serve(binary: impl Into<PathBuf>, database_url: &str) -> Self {
        Self {
            binary: binary.into(),
            arguments: vec!["serve".to_owned()],
            environment: vec![
                ("DATABASE_URL".to_owned(), database_url.to_owned()),
                // Many of them run at a time. Who asks one of them names an address (`--listen`).
                ("POSTRIDER_LISTEN".to_owned(), "off".to_owned()),
            ],
            log_file: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.environment.push((name.to_owned(), value.to_string()));
        self
    }

    /// Writes the log to a file as well.
    #[must_use]
    pub fn log_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.log_file = Some(path.into());
        self
    }
}

/// A running (or ended) dispatcher process. Dropping it kills it.
#[derive(Debug)]
pub struct Dispatcher {
    process: Process,
    log: Arc<Log>,
    grown: watch::Receiver<u64>,
}

#[derive(Debug)]
struct Log {
    state: Mutex<LogState>,
    grown: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct LogState {
    lines: VecDeque<String>,
    /// The number of lines that have been dropped from the front of `lines`.
    dropped: u64,
    /// How many of the pipes (standard output and standard error) still deliver.
    open_pipes: usize,
    file: Option<std::fs::File>,
}

impl Dispatcher {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// When the binary cannot be executed or the log file cannot be opened.
    pub fn start(options: &DispatcherOptions) -> Result<Self> {
        let mut command = Command::new(&options.binary);
        command
            .args(&options.arguments)
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let open = |path: &PathBuf| {
            std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| format!("could not open the log file {}", path.display()))
        };
        let file = options.log_file.as_ref().map(open).transpose()?;
        let (process, (stdout, stderr)) = Process::spawn(command, libc::SIGKILL, |child| {
            (child.stdout.take(), child.stderr.take())
        })
        .with_context(|| format!("could not run {}", options.binary.display()))?;
        let (sender, grown) = watch::channel(0);
        let state = LogState { open_pipes: 2, file, ..LogState::default() };
        let log = Arc::new(Log { state: Mutex::new(state), grown: sender });
        let stdout: Box<dyn Read + Send> = Box::new(stdout.expect("standard output is a pipe"));
        let stderr: Box<dyn Read + Send> = Box::new(stderr.expect("standard error is a pipe"));
        for pipe in [stdout, stderr] {
            let log = Arc::clone(&log);
            std::thread::Builder::new()
                .name(format!("log-{}", process.pid()))
                .spawn(move || log.read(pipe))?;
        }
        Ok(Self { process, log, grown })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether the process has not ended. A stopped one is running.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Ends the process at once, whatever it is doing. Returns whether it was still there, as the
    /// other signals do.
    pub fn sigkill(&self) -> bool {
        self.process.signal(libc::SIGKILL)
    }

    /// Freezes the process.
    pub fn sigstop(&self) -> bool {
        self.process.signal(libc::SIGSTOP)
    }

    /// Lets a frozen process go on.
    pub fn sigcont(&self) -> bool {
        self.process.signal(libc::SIGCONT)
    }

    /// Asks the process to finish what is in flight and end.
    pub fn sigterm(&self) -> bool {
        self.process.signal(libc::SIGTERM)
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    ///
    /// When it still runs after `timeout`; the message ends with its log.
    pub async fn wait(&self, timeout: Duration) -> Result<ExitStatus> {
        let Some(status) = self.process.wait(timeout).await else {
            bail!("process {} still runs after {timeout:?}; {}", self.pid(), self.log_tail());
        };
        // What it said at last may be on its way still. Who has inherited its pipes may keep them open.
        let said_all = async {
            let mut grown = self.grown.clone();
            loop {
                grown.mark_unchanged();
                if self.log.lock().open_pipes == 0 || grown.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, said_all).await;
        Ok(status)
    }

    /// Asks the process to end, and waits until it has done so in order. One that has not said a word has not begun, and
    /// the signal alone may end it.
    ///
    /// # Errors
    ///
    /// When it still runs after `timeout`, or failed; the message ends with its log.
    pub async fn stop(&self, timeout: Duration) -> Result<()> {
        self.sigterm();
        let status = self.wait(timeout).await?;
        let has_begun = self.log_position() > 0;
        let is_in_order =
            status.success() || (!has_begun && status.signal() == Some(libc::SIGTERM));
        ensure!(is_in_order, "a dispatcher ended with {status}; {}", self.log_tail());
        Ok(())
    }

    /// How many lines were logged so far: a position for [`Self::wait_for_log_from`].
    pub fn log_position(&self) -> u64 {
        self.log.lock().end()
    }

    /// The lines kept in memory, at most the last [`LOG_LINES`].
    pub fn log_lines(&self) -> Vec<String> {
        self.log.lock().lines.iter().cloned().collect()
    }

    /// Waits for a line that contains `pattern`, among those already logged too, and returns it.
    ///
    /// # Errors
    ///
    /// When there is none after `timeout`, or the process ends without one; the message ends with
    /// the log.
    pub async fn wait_for_log(&self, pattern: &str, timeout: Duration) -> Result<String> {
        self.wait_for_log_from(0, pattern, timeout).await
    }

    /// [`Self::wait_for_log`] among the lines from a position on.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_for_log`].
    pub async fn wait_for_log_from(
        &self,
        position: u64,
        pattern: &str,
        timeout: Duration,
    ) -> Result<String> {
        let search = async {
            let mut grown = self.grown.clone();
            let mut next = position;
            loop {
                grown.mark_unchanged();
                if let Some(line) = self.log.lock().find(&mut next, pattern) {
                    return Some(line);
                }
                if self.log.lock().open_pipes == 0 || grown.changed().await.is_err() {
                    // The last lines and the end of the pipes may have come after the search.
                    return self.log.lock().find(&mut next, pattern);
                }
            }
        };
        match tokio::time::timeout(timeout, search).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => bail!("the process ended without logging `{pattern}`; {}", self.log_tail()),
            Err(_) => bail!("no `{pattern}` in the log after {timeout:?}; {}", self.log_tail()),
        }
    }

    /// The resident memory of the process now, in bytes.
    ///
    /// # Errors
    ///
    /// When the process has ended.
    pub fn memory_bytes(&self) -> Result<u64> {
        self.status_bytes("VmRSS:")
    }

    /// The highest resident memory of the process so far, in bytes.
    ///
    /// # Errors
    ///
    /// When the process has ended.
    pub fn peak_memory_bytes(&self) -> Result<u64> {
        self.status_bytes("VmHWM:")
    }

    /// How many sockets it has open.
    ///
    /// # Errors
    ///
    /// When the process has ended.
    pub fn socket_count(&self) -> Result<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .with_context(|| format!("could not read the open files of process {}", self.pid()))?;
        let is_socket = |file: &std::fs::DirEntry| {
            // One that is closed meanwhile is none.
            std::fs::read_link(file.path())
                .is_ok_and(|link| link.to_string_lossy().starts_with("socket:"))
        };
        Ok(files.flatten().filter(is_socket).count())
    }

    fn status_bytes(&self, field: &str) -> Result<u64> {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(&path)
            .with_context(|| format!("could not read the memory of process {}", self.pid()))?;
        let kibibytes = status.lines().find_map(|line| {
            line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        // A zombie has no memory and no such line.
        Ok(kibibytes.with_context(|| format!("process {} has ended", self.pid()))? * 1024)
    }

    fn log_tail(&self) -> String {
        let log = self.log.lock();
        let skipped = log.lines.len().saturating_sub(LOG_TAIL_LINES);
        let lines: Vec<&str> = log.lines.iter().skip(skipped).map(String::as_str).collect();
        format!("its log ends:\n{}", lines.join("\n"))
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, pipe: Box<dyn Read + Send>) {
        for line in BufReader::new(pipe).split(b'\n') {
            let Ok(line) = line else { break };
            self.lock().push(String::from_utf8_lossy(&line).into_owned());
            self.grown.send_modify(|count| *count += 1);
        }
        self.lock().open_pipes -= 1;
        self.grown.send_modify(|count| *count += 1);
    }
}

impl LogState {
    fn end(&self) -> u64 {
        self.dropped + self.lines.len() as u64
    }

    fn push(&mut self, line: String) {
        if let Some(file) = &mut self.file {
            // A full disk shows up elsewhere; the lines in memory are what tests look at.
            let _ = writeln!(file, "{line}");
        }
        if self.lines.len() == LOG_LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }

    /// The first line with the pattern at or after `next`, which moves behind what was searched.
    fn find(&self, next: &mut u64, pattern: &str) -> Option<String> {
        let skipped = next.saturating_sub(self.dropped) as usize;
        let found = self.lines.iter().skip(skipped).find(|line| line.contains(pattern)).cloned();
        *next = self.end();
        found
    }
}

/// Names a binary that is run instead of one that is built.
pub const BINARY_VARIABLE: &str = "POSTRIDER_BIN";

/// How the binary is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build.
    Debug,
    /// Quick to run: for demo, proofs and benchmarks.
    Release,
}

/// What the names of all test hooks begin with.
pub const TEST_HOOK: &str = "POSTRIDER_TEST_";

/// The `postrider` binary to run: `POSTRIDER_BIN` when set, otherwise built now by cargo.
///
/// `arguments` are added to `cargo build`, such as `--features` for test hooks.
///
/// # Errors
///
/// When the build fails (cargo has printed why to standard error), `POSTRIDER_BIN` is no file, or a release build without
/// `arguments` has test hooks.
pub fn postrider_binary(profile: Profile, arguments: &[&str]) -> Result<PathBuf> {
    if let Some(path) = given_binary()? {
        return Ok(path);
    }
    let release = (profile == Profile::Release).then_some("--release");
    let fixed = ["--package", "postrider", "--bin", "postrider"];
    let binary = build(fixed.into_iter().chain(release).chain(arguments.iter().copied()))?;
    if profile == Profile::Release {
        let is_asked = arguments.iter().any(|argument| argument.contains("test-hooks"));
        let has_hooks = has_test_hooks(&binary)?;
        ensure!(is_asked || !has_hooks, "the release build {} has test hooks", binary.display());
        ensure!(has_hooks || !is_asked, "no test hook was found in {}", binary.display());
    }
    Ok(binary)
}

/// The `postrider` binary that the tests run: as [`postrider_binary`], but built together with all tests.
///
/// Cargo builds a library with the features that all of what it builds asks for. So a build of the program alone
/// and one of the tests would compile half of everything twice.
///
/// # Errors
///
/// As [`postrider_binary`].
pub fn tested_binary() -> Result<PathBuf> {
    match given_binary()? {
        Some(path) => Ok(path),
        None => build(["--workspace", "--all-targets"].into_iter()),
    }
}

fn given_binary() -> Result<Option<PathBuf>> {
    let path = std::env::var_os(BINARY_VARIABLE).map(PathBuf::from);
    if let Some(path) = &path {
        ensure!(path.is_file(), "{BINARY_VARIABLE} is set to {}, which is no file", path.display());
    }
    Ok(path)
}

fn build<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<PathBuf> {
    let mut command = cargo();
    command
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .current_dir(workspace())
        .stderr(Stdio::inherit());
    let output = command.output().context("could not run cargo")?;
    ensure!(output.status.success(), "`cargo build` of postrider failed");
    find_executable(&String::from_utf8_lossy(&output.stdout), "postrider")
        .context("cargo did not say where it put the `postrider` binary")
}

/// Whether a program knows the name of a test hook.
///
/// # Errors
///
/// When it cannot be read.
pub fn has_test_hooks(binary: &Path) -> Result<bool> {
    // Much quicker than a search of ours without optimizations.
    let mut grep = Command::new("grep");
    grep.args(["--quiet", "--text", "--fixed-strings", TEST_HOOK]).arg(binary);
    let status = grep.status().context("could not run grep")?;
    ensure!(matches!(status.code(), Some(0 | 1)), "grep could not read {}", binary.display());
    Ok(status.success())
}

/// The cargo that runs us, without the variables that it set for us as one of its packages: build
/// scripts that watch them (ring's does) would run again whenever a build begins elsewhere.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_CFG_"];
        if is_ours.iter().any(|prefix| text.starts_with(prefix)) || text == "OUT_DIR" {
            command.env_remove(&name);
        }
    }
    command
}

/// The folder of the workspace that this crate was built in.
pub fn workspace() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("the crate lies in the workspace")
}

/// The folder that cargo builds into: we lie in a profile's folder in it, tests in `deps` below.
pub fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let mut folders = own.ancestors().skip(1).skip_while(|folder| folder.ends_with("deps"));
    folders.nth(1).map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// Finds the path of a binary in cargo's messages, one JSON object per line.
fn find_executable(messages: &str, name: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["reason"] == "compiler-artifact"
            && message["target"]["name"] == name
            && message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bin")
            // The tests in a binary's own code are a program of the same name.
            && message["profile"]["test"] != true;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A stand-in for the binary: a shell script.
    fn script(script: &str) -> DispatcherOptions {
        let mut options = DispatcherOptions::serve("sh", "postgres://nowhere");
        options.arguments = vec!["-c".to_owned(), script.to_owned()];
        options
    }

    #[tokio::test]
    async fn lines_of_both_pipes_can_be_waited_for_and_are_kept_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let options = script("echo one $DATABASE_URL; echo two >&2; exit 3").log_file(&file);
        let dispatcher = Dispatcher::start(&options).unwrap();
        let line = dispatcher.wait_for_log("one", LONG).await.unwrap();
        assert_eq!(line, "one postgres://nowhere");
        assert_eq!(dispatcher.wait_for_log("wo", LONG).await.unwrap(), "two");
        assert_eq!(dispatcher.wait(LONG).await.unwrap().code(), Some(3));
        assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 2);
        assert_eq!(dispatcher.log_position(), 2);
    }

    #[tokio::test]
    async fn a_line_that_never_comes_is_an_error_with_the_log() {
        let ended = Dispatcher::start(&script("echo something else")).unwrap();
        let error = ended.wait_for_log("ready", LONG).await.unwrap_err().to_string();
        assert!(error.contains("ended") && error.contains("something else"), "{error}");

        let silent = Dispatcher::start(&script("echo up; exec sleep 1000")).unwrap();
        silent.wait_for_log("up", LONG).await.unwrap();
        let soon = Duration::from_millis(1);
        let error = silent.wait_for_log_from(1, "up", soon).await.unwrap_err().to_string();
        assert!(error.contains("no `up`"), "{error}");
        assert!(silent.wait(soon).await.is_err());
    }

    #[tokio::test]
    async fn a_stopped_process_answers_only_after_it_continues() {
        let answer = "trap 'echo stopping; exit 0' TERM; echo up; while :; do sleep 0.01; done";
        let dispatcher = Dispatcher::start(&script(answer)).unwrap();
        dispatcher.wait_for_log("up", LONG).await.unwrap();
        assert!(dispatcher.memory_bytes().unwrap() > 100_000);
        assert!(dispatcher.peak_memory_bytes().unwrap() > 100_000);
        assert!(dispatcher.sigstop());
        assert!(dispatcher.sigterm());
        let soon = Duration::from_millis(50);
        assert!(dispatcher.wait(soon).await.is_err(), "a frozen process cannot end");
        assert!(dispatcher.is_running());
        assert!(dispatcher.sigcont());
        assert_eq!(dispatcher.wait(LONG).await.unwrap().code(), Some(0));
        dispatcher.wait_for_log("stopping", LONG).await.unwrap();
        assert!(!dispatcher.sigkill(), "a signal to an ended process is not sent");
        assert!(dispatcher.memory_bytes().is_err());
    }

    #[tokio::test]
    async fn sigkill_ends_it_at_once() {
        let dispatcher = Dispatcher::start(&script("trap '' TERM; exec sleep 1000")).unwrap();
        assert!(dispatcher.sigkill());
        assert_eq!(dispatcher.wait(LONG).await.unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn the_oldest_lines_are_dropped_and_positions_stay() {
        let mut log = LogState::default();
        for number in 0..LOG_LINES + 10 {
            log.push(format!("line {number}."));
        }
        assert_eq!((log.lines.len(), log.end()), (LOG_LINES, LOG_LINES as u64 + 10));
        assert_eq!(log.find(&mut 0, "line 9."), None);
        assert_eq!(log.find(&mut 0, "line 10.").as_deref(), Some("line 10."));
        assert_eq!(log.find(&mut 12, "line 11."), None);
    }

    #[test]
    fn the_binary_is_found_in_the_messages_of_cargo() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"postrider","kind":["lib"]},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"postrider","kind":["bin"]},"profile":{"test":true},"executable":"/x/deps/postrider-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"postrider","kind":["bin"]},"profile":{"test":false},"executable":"/x/postrider"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(find_executable(messages, "postrider"), Some(PathBuf::from("/x/postrider")));
        assert_eq!(find_executable(messages, "other"), None);
    }
}
