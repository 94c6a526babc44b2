//! The TCP connections of a process, as the kernel knows them.

use std::{
    collections::HashSet,
    fs,
    net::{Ipv4Addr, SocketAddr},
};

use anyhow::{Context, Result};

/// Where the connections over IPv4 lead for which a process still has an open file, whatever the other side has done.
///
/// # Errors
///
/// When the process has ended.
pub fn peers(pid: u32) -> Result<Vec<SocketAddr>> {
    let about = || format!("could not read the sockets of process {pid}");
    let files = fs::read_dir(format!("/proc/{pid}/fd")).with_context(about)?;
    // One that is closed meanwhile is none.
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let inodes: HashSet<String> = links
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).with_context(about)?;
    Ok(table.lines().skip(1).filter_map(|line| peer(line, &inodes)).collect())
}

/// The other end of a line's connection, if one of these sockets has it (proc(5)). A socket that listens has none.
fn peer(line: &str, inodes: &HashSet<String>) -> Option<SocketAddr> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(2)?.split_once(':')?;
    // As the number lies in memory.
    let address = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes());
    let port = u16::from_str_radix(port, 16).ok()?;
    let is_own = port != 0 && inodes.contains(*fields.get(9)?);
    is_own.then_some(SocketAddr::from((address, port)))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_seen_until_it_is_closed_here() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let count = || {
            let peers = peers(std::process::id()).unwrap();
            peers.into_iter().filter(|peer| *peer == address).count()
        };
        assert_eq!(count(), 0);
        let streams = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        assert_eq!(count(), 2);
        // The other side has closed both, in order: what it has not accepted would be reset, and be no connection.
        drop([(); 2].map(|()| listener.accept().unwrap()));
        drop(listener);
        assert_eq!(count(), 2);
        drop(streams);
        assert_eq!(count(), 0);
    }
}
