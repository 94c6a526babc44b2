//! Asking a private RabbitMQ: a Unix socket on which it evaluates Erlang expressions.
//!
//! An answer takes milliseconds, where `rabbitmqctl` would start an Erlang of its own for one to two
//! seconds of a processor and need a name server (epmd). The socket lies in the server's folder,
//! which only its user and root may enter.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The program that the server runs for us; `SOCKET` stands for the path of the socket.
const PROGRAM: &str = include_str!("control.erl");
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) struct Control {
    socket: PathBuf,
}

impl Control {
    pub(super) fn at(socket: PathBuf) -> Self {
        Self { socket }
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// What the server has to evaluate at its start.
    pub(super) fn program(&self) -> String {
        let lines = PROGRAM.lines().filter(|line| !line.starts_with("%%"));
        lines.collect::<Vec<_>>().join("\n").replace("SOCKET", &self.socket.display().to_string())
    }

    /// The value of Erlang expressions, which end with a full stop: the bytes of a binary, anything
    /// else as Erlang prints it.
    pub(super) fn evaluate(&self, expressions: &str) -> Result<String> {
        let answer = self
            .ask(expressions)
            .with_context(|| format!("RabbitMQ did not answer `{expressions}`"))?;
        let text = String::from_utf8_lossy(answer.get(1..).unwrap_or_default()).into_owned();
        match answer.first() {
            Some(1) => Ok(text),
            _ => bail!("RabbitMQ could not evaluate `{expressions}`: {text}"),
        }
    }

    /// Whether the server has started and listens to us.
    pub(super) fn is_ready(&self) -> bool {
        self.ask("ready.").is_ok()
    }

    fn ask(&self, expressions: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.write_all(&(expressions.len() as u32).to_be_bytes())?;
        stream.write_all(expressions.as_bytes())?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}
