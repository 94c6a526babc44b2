//! Files of JSON lines, taken in pieces that a server likes.

use std::io::{BufRead, Lines};

use super::{
    Failure,
    input::{check_json, open, usage},
};

/// How many lines go to the server at a time, and how many bytes of them.
const CHUNK_COUNT: usize = 1_000;
const CHUNK_BYTES: usize = 4 << 20;

/// A file that is read from its first line to its last.
pub struct Batch {
    file: String,
    lines: Lines<Box<dyn BufRead>>,
    /// Of the line that was read last, from 1.
    number: usize,
}

/// Some lines of a file, each of them a JSON value; empty lines are left out.
#[derive(Debug, Default)]
pub struct Chunk {
    /// What they hold.
    pub lines: Vec<String>,
    /// Where they stand in the file, from 1.
    pub numbers: Vec<usize>,
    /// Whether the file ends with them.
    pub is_last: bool,
}

impl Batch {
    /// The lines of this file; `-` is standard input.
    pub fn open(file: &str) -> Result<Self, Failure> {
        Ok(Self { file: file.to_owned(), lines: open(file)?.lines(), number: 0 })
    }

    /// The next lines. The last chunk may be empty.
    pub fn next_chunk(&mut self) -> Result<Chunk, Failure> {
        let (mut chunk, mut chunk_bytes) = (Chunk::default(), 0);
        while chunk.lines.len() < CHUNK_COUNT && chunk_bytes < CHUNK_BYTES {
            let Some(line) = self.lines.next() else {
                chunk.is_last = true;
                break;
            };
            self.number += 1;
            let place = || format!("{}, line {}", self.file, self.number);
            let line = line.map_err(|error| usage(&place(), &error))?;
            if line.trim().is_empty() {
                continue;
            }
            check_json(&line).map_err(|error| usage(&place(), &error))?;
            chunk_bytes += line.len();
            chunk.lines.push(line);
            chunk.numbers.push(self.number);
        }
        Ok(chunk)
    }

    /// Says by their lines what the database says by places in the array that it was given.
    pub fn placed(&self, chunk: &Chunk, failure: Failure) -> Failure {
        let (wrap, text): (fn(String) -> Failure, _) = match failure {
            Failure::Failed(text) => (Failure::Failed, text),
            Failure::Usage(text) => (Failure::Usage, text),
            Failure::Denied(_) | Failure::Database(_) | Failure::Shown(_) => return failure,
        };
        let file = &self.file;
        let in_array = text.strip_prefix("p_events[").and_then(|rest| rest.split_once(']'));
        let place = in_array.and_then(|(index, rest)| {
            let number = chunk.numbers.get(index.parse::<usize>().ok()?)?;
            Some((number, rest.trim_start_matches(['.', ':', ' '])))
        });
        wrap(match (place, &chunk.numbers[..]) {
            (Some((number, rest)), _) => format!("{file}, line {number}: {rest}"),
            (None, [number]) => format!("{file}, line {number}: {text}"),
            (None, [first, .., last]) => format!("{file}, lines {first} to {last}: {text}"),
            (None, []) => text,
        })
    }
}
