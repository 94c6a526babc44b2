//! Connections by way of a proxy: CONNECT (RFC 9110 section 9.3.6) over HTTP or HTTPS, and SOCKS 5 (RFC 1928, 1929).
//!
//! The destination's name is resolved here and its addresses are judged here, and the proxy is asked for an address: a
//! name that the proxy resolved by itself could be anything. The proxy's own address is judged as well.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::guard::ConnectError;

/// The longest head of an answer to CONNECT, in bytes.
const HEAD_MAX: usize = 8 * 1024;

/// What a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyKind {
    Http,
    Https,
    Socks5,
}

/// A proxy, and what it wants to be shown. Is not shown.
pub struct Proxy {
    pub kind: ProxyKind,
    /// `http` or `https`, whichever the proxy speaks; for SOCKS `http`: nothing but TCP.
    pub url: Uri,
    pub user: Option<Arc<User>>,
}

pub struct User {
    pub name: String,
    pub password: String,
}

impl Proxy {
    /// A proxy at a URL that was checked, with a user or without.
    pub fn new(kind: ProxyKind, url: &str, user: Option<(&str, &str)>) -> Self {
        let user = user.map(|(name, password)| {
            Arc::new(User { name: name.to_owned(), password: password.to_owned() })
        });
        Self { kind, url: url.parse().expect("checked"), user }
    }

    /// Whether what is sent to it can be read on the way.
    pub fn is_plain(&self) -> bool {
        self.kind != ProxyKind::Https
    }

    /// Asks the proxy, over a connection to it, to connect to an address.
    ///
    /// # Errors
    ///
    /// What it said, or that it said nothing that makes sense.
    pub async fn pass<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        destination: SocketAddr,
    ) -> Result<(), ConnectError> {
        match self.kind {
            ProxyKind::Http | ProxyKind::Https => self.connect(stream, destination).await,
            ProxyKind::Socks5 => self.socks(stream, destination).await,
        }
    }

    async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        destination: SocketAddr,
    ) -> Result<(), ConnectError> {
        let mut text = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n");
        if let Some(user) = &self.user {
            let user = STANDARD.encode(format!("{}:{}", user.name, user.password));
            text.push_str(&format!("Proxy-Authorization: Basic {user}\r\n"));
        }
        text.push_str("\r\n");
        write(stream, text.as_bytes()).await?;
        // Byte by byte: what comes behind the head is the destination's.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == HEAD_MAX {
                return Err(odd());
            }
            head.push(stream.read_u8().await.map_err(|_| cut())?);
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = str::from_utf8(line).map_err(|_| odd())?;
        let mut words = line.split(' ');
        let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
        match words.next().and_then(|status| status.parse::<u16>().ok()) {
            Some(200..=299) if is_http => Ok(()),
            Some(status) if is_http => Err(refused(format!("it answered HTTP {status}"))),
            _ => Err(odd()),
        }
    }

    async fn socks<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        destination: SocketAddr,
    ) -> Result<(), ConnectError> {
        const NO_PASSWORD: u8 = 0;
        const PASSWORD: u8 = 2;
        let method = if self.user.is_some() { PASSWORD } else { NO_PASSWORD };
        write(stream, &[5, 1, method]).await?;
        match read(stream).await? {
            [5, chosen] if chosen == method => {}
            [5, 0xff] => return Err(refused("it wants another way to log in".to_owned())),
            _ => return Err(odd()),
        }
        if let Some(user) = &self.user {
            let (name, password) = (user.name.as_bytes(), user.password.as_bytes());
            let lengths = [name.len(), password.len()].map(u8::try_from);
            let [Ok(name_length), Ok(password_length)] = lengths else { return Err(odd()) };
            let text = [&[1, name_length], name, &[password_length], password].concat();
            write(stream, &text).await?;
            if read::<_, 2>(stream).await?[1] != 0 {
                return Err(refused("it refused user and password".to_owned()));
            }
        }
        let mut question = vec![5, 1, 0];
        match destination.ip() {
            IpAddr::V4(address) => {
                question.push(1);
                question.extend(address.octets());
            }
            IpAddr::V6(address) => {
                question.push(4);
                question.extend(address.octets());
            }
        }
        question.extend(destination.port().to_be_bytes());
        write(stream, &question).await?;
        let [version, answer, _, kind] = read(stream).await?;
        if version != 5 {
            return Err(odd());
        }
        if answer != 0 {
            return Err(refused(socks_answer(answer)));
        }
        // The address from which it connects, which nobody needs.
        let length = match kind {
            1 => 4,
            4 => 16,
            3 => usize::from(read::<_, 1>(stream).await?[0]),
            _ => return Err(odd()),
        };
        let mut rest = vec![0; length + 2];
        stream.read_exact(&mut rest).await.map_err(|_| cut())?;
        Ok(())
    }
}

fn socks_answer(answer: u8) -> String {
    let words = match answer {
        1 => "it failed",
        2 => "its rules do not allow the connection",
        3 | 4 => "destination unreachable",
        5 => "connection refused",
        6 => "timeout: no connection",
        _ => return format!("it answered SOCKS code {answer}"),
    };
    words.to_owned()
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) -> Result<(), ConnectError> {
    let written = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    written.await.map_err(|_| cut())
}

async fn read<S: AsyncRead + Unpin, const N: usize>(
    stream: &mut S,
) -> Result<[u8; N], ConnectError> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(|_| cut())?;
    Ok(bytes)
}

fn refused(what: String) -> ConnectError {
    ConnectError::Proxy { what }
}

fn odd() -> ConnectError {
    refused("it does not speak its protocol".to_owned())
}

fn cut() -> ConnectError {
    refused("it closed the connection".to_owned())
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({:?})", self.kind)
    }
}
