//! TCP ports for private servers.
//!
//! A port found here lies below the range from which the kernel takes the local ports of outgoing
//! connections. Otherwise a server that is down for a moment could come back to find its port in
//! use by some client's connection. Nor does any other process that looks here, as tests do beside each other,
//! get a port that one of them has found before and that lives. Somebody else may still take a port between the look
//! and the use: whoever starts a server tries again with another port.

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

/// Linux starts its range of local ports at 32768 unless told otherwise. No port of this range is refused
/// to `http` endpoints, as 27017 is (a test of the program looks).
pub const RANGE: std::ops::Range<u16> = 15_000..27_000;

/// How often a random port is tried before giving up.
const TRIES: usize = 1_000;

/// What keeps the ports that this process has found for it, until it ends.
static RESERVED: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

/// Binds a listener on 127.0.0.1 to a free port of the range, which nobody else finds as long as this process lives.
///
/// # Errors
///
/// When none of [`TRIES`] random ports is free.
pub fn bind_free() -> Result<TcpListener> {
    for _ in 0..TRIES {
        let port = fastrand::u16(RANGE);
        let Some(reserved) = reserve(port) else { continue };
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
            return Ok(listener);
        }
    }
    bail!("found no free port between {} and {}", RANGE.start, RANGE.end)
}

/// Takes a name that stands for the port, unless somebody has it: one without a file, which goes with its process.
fn reserve(port: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("postrider port {port}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

/// A port on 127.0.0.1 that was free a moment ago, and likewise.
///
/// # Errors
///
/// As [`bind_free`].
pub fn find_free() -> Result<u16> {
    Ok(bind_free()?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_finds_a_port_that_was_found() {
        let port = find_free().unwrap();
        assert!(reserve(port).is_none());
        // Its server can be down and up again.
        for _ in 0..2 {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }
}
