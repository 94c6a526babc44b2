//! Receivers that do what no receiver should: each kind is a row of a table.
//!
//! A script says what happens on each connection, byte by byte: over TCP, or HTTP/2 frame by frame over TLS. All kinds
//! are served by one thread, on ports of their own, and so is a server of names. What a dispatcher has to make of each
//! kind stands in its row.

mod kinds;
pub mod names;

use std::{
    io::Write as _,
    net::{SocketAddr, TcpListener},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, Result};
pub use kinds::{ANSWERS_HTTP2, KINDS, READS_WHAT_IS_LARGE};
use names::{Answers, NameServer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UdpSocket,
    sync::oneshot,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::port;

/// What a flood is written in.
const FLOOD_PIECE: usize = 64 * 1024;
/// The most bytes of a request.
const REQUEST_MAX: usize = 64 * 1024 * 1024;
/// The longest segments that a receiver takes which does not read, in bytes. The system measures the sockets' buffers
/// by them: on loopback they take megabytes otherwise, and nobody would notice that nobody reads.
const SEGMENT_MAX: libc::c_int = 536;

/// A receiver that misbehaves in one way.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub wire: Wire,
    /// What happens on each connection. It is closed at the end.
    pub script: &'static [Step],
    pub expected: Expected,
    /// What is said of its name; none: it is called by its address.
    pub answers: Option<Answers>,
    /// How many bytes a message has at least.
    pub payload_length: usize,
    /// Whether it asks to be left alone, so that there is no second attempt.
    pub is_once: bool,
}

/// What is spoken below the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Bytes, at an `http` address.
    Plain,
    /// Bytes, at an `https` address: TLS itself goes wrong.
    BrokenTls,
    /// HTTP/1 inside TLS.
    Tls,
    /// HTTP/2 inside TLS.
    Http2,
}

/// What has to become of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Accepted.
    Accepted,
    /// Accepted, or unavailable with an error that contains one of these.
    AcceptedOr(&'static [&'static str]),
    /// The same, and one of a kind's attempts at least is accepted: those that share a connection may be lost with it.
    SomeAccepted(&'static [&'static str]),
    /// Unavailable or unknown, with an error that contains one of these.
    Unavailable(&'static [&'static str]),
    /// Rejected, with an error that contains this.
    Rejected(&'static str),
}

impl Expected {
    /// Whether an attempt may end with this outcome and this error; empty: without an error.
    pub fn fits(self, outcome: &str, error: &str) -> bool {
        let is_failure = ["unavailable", "unknown"].contains(&outcome);
        let is_one_of = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
        match self {
            Self::Accepted => outcome == "accepted" && error.is_empty(),
            Self::AcceptedOr(parts) | Self::SomeAccepted(parts) => {
                outcome == "accepted" || is_one_of(parts)
            }
            Self::Unavailable(parts) => is_failure && is_one_of(parts),
            Self::Rejected(part) => outcome == "rejected" && error.contains(part),
        }
    }
}

/// Something that happens on a connection.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Writes frames of HTTP/2 together with the handshake of TLS, so that they come before any request. Only as the
    /// first step.
    Greet(&'static [Frame]),
    /// Waits for the beginning of a request, and reads no more of it.
    Beginning,
    /// Waits for a request and reads it.
    Request,
    /// Writes this.
    Say(&'static [u8]),
    /// Writes this over and over until the other side has gone.
    Flood(&'static [u8]),
    /// Writes this over and over, a byte at a time with this pause.
    Drip(&'static [u8], Duration),
    /// Writes frames of HTTP/2.
    Frames(&'static [Frame]),
    /// Writes frames over and over until the other side has gone.
    FloodFrames(&'static [Frame]),
    /// Writes frames over and over, a frame at a time with this pause.
    DripFrames(&'static [Frame], Duration),
    /// Reads nothing, and waits so long for the other side to go.
    Deaf(Duration),
    /// Reads until the other side has gone.
    Wait,
    /// Begins the script anew, on the same connection.
    Again,
    /// Closes the connection by a reset.
    Reset,
}

/// A frame of HTTP/2.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: Stream,
    pub payload: &'static [u8],
}

/// What a frame is about.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    Connection,
    /// The one of the last request.
    Request,
    Other(u32),
}

/// Running receivers, one for each kind. Dropping them ends them.
#[derive(Debug)]
pub struct Hostiles {
    addresses: Vec<SocketAddr>,
    /// Knows the names of those that are not called by their address.
    pub name_server: SocketAddr,
    connections: Arc<Vec<AtomicUsize>>,
    certificate: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Hostiles {
    /// Starts a receiver for each of these kinds.
    ///
    /// # Errors
    ///
    /// When no port is free, or the thread cannot be started.
    pub fn start(kinds: &[Kind]) -> Result<Self> {
        let listeners = kinds.iter().map(listen).collect::<Result<Vec<_>>>()?;
        let addresses = listeners.iter().map(|l| Ok(l.local_addr()?)).collect::<Result<_>>()?;
        let connections = Arc::new(kinds.iter().map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let certificate = certified.cert.pem();
        let key = certified.signing_key.serialize_der();
        let der = certified.cert.der().clone();
        let acceptor = |protocol: &[u8]| -> Result<TlsAcceptor> {
            let key = PrivateKeyDer::try_from(key.clone()).map_err(anyhow::Error::msg)?;
            let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(vec![der.clone()], key)?;
            tls.alpn_protocols = vec![protocol.to_vec()];
            tls.send_half_rtt_data = true;
            Ok(TlsAcceptor::from(Arc::new(tls)))
        };
        let (http1, http2) = (acceptor(b"http/1.1")?, acceptor(b"h2")?);
        let names = std::net::UdpSocket::bind("127.0.0.1:0")?;
        names.set_nonblocking(true)?;
        let name_server = names.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let kinds = kinds.to_vec();
        let counts = Arc::clone(&connections);
        let serve = async move {
            let answers: Vec<_> = kinds.iter().map(|kind| kind.answers).collect();
            let names = UdpSocket::from_std(names).and_then(|socket| {
                NameServer::serve(socket, move |name| {
                    index_of(name).and_then(|index| answers[index]).unwrap_or(Answers::Code(3))
                })
            });
            names.expect("a socket that is bound");
            for (index, (kind, listener)) in kinds.into_iter().zip(listeners).enumerate() {
                let acceptor = match kind.wire {
                    Wire::Plain | Wire::BrokenTls => None,
                    Wire::Tls => Some(http1.clone()),
                    Wire::Http2 => Some(http2.clone()),
                };
                tokio::spawn(serve(kind, listener, acceptor, Arc::clone(&counts), index));
            }
            let _ = stopped.await;
        };
        let thread = std::thread::Builder::new().name("hostile".to_owned()).spawn(move || {
            runtime.block_on(serve);
            runtime.shutdown_background();
        })?;
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Self { addresses, name_server, connections, certificate, stop, thread })
    }

    /// An address of the receiver of the kind at this place: each number has a name of its own.
    pub fn url(&self, index: usize, kind: &Kind, number: usize) -> String {
        let scheme = if kind.wire == Wire::Plain { "http" } else { "https" };
        let address = self.addresses[index];
        match kind.answers {
            None => format!("{scheme}://{address}/"),
            Some(_) => format!("{scheme}://kind-{index}-{number}.example:{}/", address.port()),
        }
    }

    /// How many connections the receiver of the kind at this place has seen.
    pub fn connection_count(&self, index: usize) -> usize {
        self.connections[index].load(Ordering::Relaxed)
    }

    /// The place of the kind whose receiver has this address.
    pub fn index_at(&self, address: SocketAddr) -> Option<usize> {
        self.addresses.iter().position(|own| *own == address)
    }

    /// The certificate of those with TLS, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Writes the certificate of those with TLS into a file: what a dispatcher has to trust.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_certificate(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join("hostile.pem");
        std::fs::write(&path, &self.certificate)
            .with_context(|| format!("could not write {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Hostiles {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The place of the kind with this name.
fn index_of(name: &str) -> Option<usize> {
    name.strip_prefix("kind-")?.split('-').next()?.parse().ok().filter(|index| *index < KINDS.len())
}

fn listen(kind: &Kind) -> Result<TcpListener> {
    let listener = port::bind_free()?;
    listener.set_nonblocking(true)?;
    if kind.script.iter().any(|step| matches!(step, Step::Deaf(_))) {
        // SAFETY: the socket is open, and the value is an int, as long as is said.
        let set = unsafe {
            libc::setsockopt(
                listener.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_MAXSEG,
                std::ptr::from_ref(&SEGMENT_MAX).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        anyhow::ensure!(set == 0, "TCP_MAXSEG: {}", std::io::Error::last_os_error());
    }
    Ok(listener)
}

async fn serve(
    kind: Kind,
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    connections: Arc<Vec<AtomicUsize>>,
    index: usize,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections[index].fetch_add(1, Ordering::Relaxed);
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let is_reset = kind.script.iter().any(|step| matches!(step, Step::Reset));
            if is_reset {
                // What is closed now is reset, whichever layer closes it.
                let _ = stream.set_zero_linger();
            }
            // Whoever has gone has made its point: errors end the script.
            let _ = match acceptor {
                None => Line::new(stream, kind.wire).play(kind.script).await,
                Some(acceptor) => {
                    let greeting = match kind.script.first() {
                        Some(Step::Greet(frames)) => encode(frames, 0),
                        _ => Vec::new(),
                    };
                    let accepted = acceptor.accept_with(stream, |session| {
                        let _ = session.writer().write_all(&greeting);
                    });
                    match accepted.await {
                        Ok(stream) => Line::new(stream, kind.wire).play(kind.script).await,
                        Err(error) => Err(error),
                    }
                }
            };
        });
    }
}

/// One connection.
struct Line<S> {
    stream: S,
    wire: Wire,
    is_greeted: bool,
    request_stream: u32,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    fn new(stream: S, wire: Wire) -> Self {
        Self { stream, wire, is_greeted: false, request_stream: 1 }
    }

    async fn play(mut self, script: &[Step]) -> std::io::Result<()> {
        let mut steps = script.iter();
        while let Some(step) = steps.next() {
            match *step {
                Step::Greet(_) => {}
                Step::Beginning => _ = self.read_some().await?,
                Step::Request if self.wire == Wire::Http2 => self.read_http2_request().await?,
                Step::Request => self.read_request().await?,
                Step::Say(bytes) => self.say(bytes).await?,
                Step::Flood(bytes) => self.flood(bytes).await?,
                Step::Drip(bytes, pause) => self.drip(bytes, pause).await?,
                Step::Frames(frames) => self.say(&self.encode(frames)).await?,
                Step::FloodFrames(frames) => self.flood(&self.encode(frames)).await?,
                Step::DripFrames(frames, pause) => self.drip_frames(frames, pause).await?,
                Step::Deaf(wait) => tokio::time::sleep(wait).await,
                Step::Wait => while self.read_some().await? > 0 {},
                Step::Again => steps = script.iter(),
                Step::Reset => return Ok(()),
            }
        }
        self.stream.shutdown().await
    }

    async fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    async fn flood(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let piece = bytes.repeat(FLOOD_PIECE / bytes.len() + 1);
        loop {
            self.say(&piece).await?;
        }
    }

    async fn drip(&mut self, bytes: &[u8], pause: Duration) -> std::io::Result<()> {
        for byte in bytes.iter().cycle() {
            self.say(&[*byte]).await?;
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    async fn drip_frames(&mut self, frames: &[Frame], pause: Duration) -> std::io::Result<()> {
        for frame in frames.iter().cycle() {
            self.say(&self.encode(&[*frame])).await?;
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    async fn read_some(&mut self) -> std::io::Result<usize> {
        self.stream.read(&mut [0; 16 * 1024]).await
    }

    async fn read_request(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let mut end = None;
        while end.is_none_or(|end| bytes.len() < end) && bytes.len() < REQUEST_MAX {
            if self.stream.read_buf(&mut bytes).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            end = end.or_else(|| {
                let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
                Some(head + content_length(&bytes[..head]))
            });
        }
        Ok(())
    }

    /// Reads frames up to the head of a request, and answers what has to be answered.
    async fn read_http2_request(&mut self) -> std::io::Result<()> {
        if !self.is_greeted {
            self.is_greeted = true;
            self.stream.read_exact(&mut [0; 24]).await?;
        }
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).await?;
            let [high, middle, low, kind, _, id @ ..] = head;
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.stream.read_exact(&mut vec![0; length]).await?;
            if kind == 1 {
                self.request_stream = u32::from_be_bytes(id);
                return Ok(());
            }
        }
    }

    fn encode(&self, frames: &[Frame]) -> Vec<u8> {
        encode(frames, self.request_stream)
    }
}

fn encode(frames: &[Frame], request_stream: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        let id = match frame.stream {
            Stream::Connection => 0,
            Stream::Request => request_stream,
            Stream::Other(id) => id,
        };
        bytes.extend_from_slice(&(frame.payload.len() as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[frame.kind, frame.flags]);
        bytes.extend_from_slice(&id.to_be_bytes());
        bytes.extend_from_slice(frame.payload);
    }
    bytes
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}
