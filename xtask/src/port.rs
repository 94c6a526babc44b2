//! TCP ports for private servers.
//!
//! A port found here lies below the range from which the kernel takes the local ports of outgoing
//! connections. Otherwise a server that is down for a moment could come back to find its port in
//! use by some client's connection. Another process may still take a port between the look and
//! the use: whoever starts a server tries again with another port.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// Linux starts its range of local ports at 32768 unless told otherwise. No port of this range is refused
/// to `http` endpoints, as 27017 is (a test of the program looks).
pub const RANGE: std::ops::Range<u16> = 15_000..27_000;

/// How often a random port is tried before giving up.
const TRIES: usize = 1_000;

/// Binds a listener on 127.0.0.1 to a free port of the range.
///
/// # Errors
///
/// When none of [`TRIES`] random ports is free.
pub fn bind_free() -> Result<TcpListener> {
    for _ in 0..TRIES {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, fastrand::u16(RANGE))) {
            return Ok(listener);
        }
    }
    bail!("found no free port between {} and {}", RANGE.start, RANGE.end)
}

/// A port on 127.0.0.1 that was free a moment ago.
///
/// # Errors
///
/// As [`bind_free`].
pub fn find_free() -> Result<u16> {
    Ok(bind_free()?.local_addr()?.port())
}
