//! One RabbitMQ for all tests of a run, with a virtual host for each that asks.
//!
//! The command that runs the tests serves it ([`Share::start`]): the server starts with the first
//! request, so that a run without such tests pays nothing. A virtual host is leased for as long as
//! its connection to the command stays open, and is removed when the test ends, however it ends.
//! Tests that were not started by the command get a server of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::control::Control;
use super::{Options, PrivateRabbitmq, VirtualHost};
use crate::port;

/// Where tests find the address of the command that shares a server.
pub const VARIABLE: &str = "POSTRIDER_TEST_RABBITMQ";

/// A virtual host of one's own. It goes with the value, and its server as well if nobody shares one.
#[derive(Debug)]
pub struct OwnHost {
    host: VirtualHost,
    _lease: Lease,
}

/// What keeps the virtual host.
#[derive(Debug)]
#[expect(dead_code, reason = "they are held for what happens when they go")]
enum Lease {
    Shared(TcpStream),
    Private(Box<PrivateRabbitmq>),
}

impl Deref for OwnHost {
    type Target = VirtualHost;

    fn deref(&self) -> &VirtualHost {
        &self.host
    }
}

/// A virtual host for a test that does not stop or hurt the server.
///
/// # Errors
///
/// When the server does not start (the message says what to install if it is not there).
pub fn virtual_host() -> Result<OwnHost> {
    let Some(address) = std::env::var_os(VARIABLE) else {
        let server = PrivateRabbitmq::start(Options::default())?;
        return Ok(OwnHost { host: server.host(), _lease: Lease::Private(Box::new(server)) });
    };
    let address = address.to_string_lossy().into_owned();
    let stream = TcpStream::connect(&address)
        .with_context(|| format!("nobody shares a RabbitMQ at {address}, as {VARIABLE} says"))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).context("could not lease a virtual host")?;
    let lease: Value =
        serde_json::from_str(&line).with_context(|| format!("`{line}` is not a lease"))?;
    if let Some(error) = lease["error"].as_str() {
        bail!("the shared RabbitMQ: {error}");
    }
    let text = |name: &str| lease[name].as_str().with_context(|| format!("no {name}: {line}"));
    let host = VirtualHost {
        control: Control::at(PathBuf::from(text("socket")?)),
        name: text("name")?.to_owned(),
        port: lease["port"].as_u64().with_context(|| format!("no port: {line}"))? as u16,
    };
    Ok(OwnHost { host, _lease: Lease::Shared(stream) })
}

/// Shares a server with other processes until it is dropped.
#[derive(Debug)]
pub struct Share {
    address: String,
    server: Arc<Mutex<Option<PrivateRabbitmq>>>,
}

impl Share {
    /// Listens for processes that want a virtual host; the server starts with the first.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub fn start() -> Result<Self> {
        let listener = port::bind_free()?;
        let address = listener.local_addr()?.to_string();
        let server = Arc::new(Mutex::new(None));
        let leases = Arc::clone(&server);
        std::thread::Builder::new()
            .name("rabbitmq-share".to_owned())
            .spawn(move || listen(&listener, &leases))?;
        Ok(Self { address, server })
    }

    /// What the tests find in [`VARIABLE`].
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the server, once somebody asked for a virtual host.
    pub fn pid(&self) -> Option<u32> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.pid()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // The threads hold on to the place of the server, not to the server.
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn listen(listener: &TcpListener, server: &Arc<Mutex<Option<PrivateRabbitmq>>>) {
    for (number, stream) in (1_u32..).zip(listener.incoming()) {
        let Ok(stream) = stream else { continue };
        let server = Arc::clone(server);
        std::thread::spawn(move || lease(stream, &server, &format!("test-{number}")));
    }
}

/// Makes a virtual host, tells its address, and removes it when the other side is gone.
fn lease(mut stream: TcpStream, server: &Mutex<Option<PrivateRabbitmq>>, name: &str) {
    let lock = || server.lock().unwrap_or_else(PoisonError::into_inner);
    let line = match create(&mut lock(), name) {
        Ok(host) => {
            json!({ "name": host.name, "port": host.port, "socket": host.control.socket() })
        }
        Err(error) => json!({ "error": format!("{error:#}") }),
    };
    let _ = writeln!(stream, "{line}");
    // Nothing comes; it ends with the other process.
    let _ = stream.read(&mut [0]);
    if let Some(server) = lock().as_ref() {
        // It may be gone already, and goes with the server anyway.
        let _ = server.drop_host(name);
    }
}

fn create(server: &mut Option<PrivateRabbitmq>, name: &str) -> Result<VirtualHost> {
    if server.is_none() {
        *server = Some(PrivateRabbitmq::start(Options::default())?);
    }
    server.as_ref().context("it was just started")?.create_host(name)
}
