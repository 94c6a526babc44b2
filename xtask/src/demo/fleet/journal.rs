//! What was run for executions, and when, in the words of those who ran: a file to which all of them append.
//!
//! A line is one write of few bytes to a file opened for appending, so lines of several processes do not
//! mix, and what a process wrote before it was killed is there.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// The file, for those who write it and those who read it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// What a handler says of itself.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    Start,
    /// It got SIGTERM.
    Signal,
    End,
}

/// That an execution was run: for whom, by which process, and from when to when, in nanoseconds of the
/// machine's monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    pub execution: i64,
    pub attempt: i32,
    pub worker: String,
    pub pid: u32,
    pub from: u64,
    /// When it was asked to stop.
    pub signalled: Option<u64>,
    /// None: it did not live to write it.
    pub to: Option<u64>,
}

impl Journal {
    /// Opens the file, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("could not open {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub fn write(&self, event: Event, execution: i64, attempt: i32, worker: &str) -> Result<()> {
        let (pid, now) = (std::process::id(), now());
        let line = format!("{event:?} {execution} {attempt} {worker} {pid} {now}\n");
        (&self.file).write_all(line.as_bytes()).context("could not write the journal")
    }

    /// All that is in it now, in the order of the starts.
    pub fn read(&self) -> Result<Vec<Stretch>> {
        parse(&std::fs::read_to_string(&self.path)?)
    }
}

/// Nanoseconds of the clock that all processes of the machine share, and that nobody sets.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time` alone. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn parse(text: &str) -> Result<Vec<Stretch>> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut open: HashMap<(i64, i32, u32), usize> = HashMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [event, execution, attempt, worker, pid, at] = fields[..] else {
            bail!("a line of the journal is `{line}`");
        };
        let (execution, attempt) = (execution.parse()?, attempt.parse()?);
        let (pid, at) = (pid.parse()?, at.parse()?);
        let key = (execution, attempt, pid);
        let index = || open.get(&key).copied().with_context(|| format!("`{line}` has no start"));
        match event {
            "Start" => {
                open.insert(key, stretches.len());
                let worker = worker.to_owned();
                let (from, signalled, to) = (at, None, None);
                stretches.push(Stretch { execution, attempt, worker, pid, from, signalled, to });
            }
            "Signal" => stretches[index()?].signalled = Some(at),
            "End" => {
                stretches[index()?].to = Some(at);
                open.remove(&key);
            }
            _ => bail!("a line of the journal is `{line}`"),
        }
    }
    Ok(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_ended_stays_open() {
        let text = "Start 1 1 a 7 10\nStart 2 1 b 8 11\nEnd 1 1 a 7 12\nSignal 2 1 b 8 13\n\
            Start 2 2 a 9 20\nEnd 2 2 a 9 30\n";
        let stretch = |execution, attempt, worker: &str, pid, from, signalled, to| Stretch {
            execution,
            attempt,
            worker: worker.to_owned(),
            pid,
            from,
            signalled,
            to,
        };
        assert_eq!(
            parse(text).unwrap(),
            [
                stretch(1, 1, "a", 7, 10, None, Some(12)),
                stretch(2, 1, "b", 8, 11, Some(13), None),
                stretch(2, 2, "a", 9, 20, None, Some(30))
            ]
        );
        assert!(parse("End 1 1 a 7 12").is_err());
        assert!(parse("Start 1").is_err());
        assert!(parse("Ending 1 1 a 7 12").is_err());
    }
}
