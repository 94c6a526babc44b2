//! A TCP proxy with the faults of a network: cut, refuse, swallow, delay.
//!
//! It listens on a port of its own and carries bytes to and from one address. It runs on a thread of
//! its own, so that a busy or blocked test does not slow it down. Faults apply to the connections
//! that are open and to those that come; they take effect within a moment, not before the call
//! returns.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::port;

/// How many bytes are carried at once.
const CHUNK_BYTES: usize = 16 * 1024;
/// How many chunks are on their way in one direction; then the sender has to wait.
const CHUNKS_ON_THE_WAY: usize = 64;

/// A running proxy. Its connections end with it.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    faults: watch::Sender<Faults>,
    open_count: watch::Receiver<usize>,
    runtime: Option<Runtime>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    cut_count: u64,
    is_refusing: bool,
    is_black_hole: bool,
    delay: Duration,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and carries to `target`, which need not be there yet.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let listener = port::bind_free()?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("proxy")
            .enable_all()
            .build()
            .context("could not start the thread of the proxy")?;
        let (faults, current) = watch::channel(Faults::default());
        let (open, open_count) = watch::channel(0);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener)?;
            loop {
                let (client, _) = listener.accept().await?;
                if current.borrow().is_refusing {
                    client.set_zero_linger()?;
                    continue;
                }
                let (current, open) = (current.clone(), open.clone());
                open.send_modify(|count| *count += 1);
                tokio::spawn(async move {
                    // Either side sees the end of its connection; nobody else wants to know.
                    let _ = connect(client, target, current).await;
                    open.send_modify(|count| *count -= 1);
                });
            }
            #[expect(unreachable_code, reason = "it says what `?` returns")]
            io::Result::Ok(())
        });
        Ok(Self { port, faults, open_count, runtime: Some(runtime) })
    }

    /// The port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all open connections with a reset, towards both sides. New ones are carried.
    pub fn cut(&self) {
        self.faults.send_modify(|faults| faults.cut_count += 1);
    }

    /// While true, new connections are reset at once. Open ones stay.
    pub fn refuse(&self, is_refusing: bool) {
        self.faults.send_modify(|faults| faults.is_refusing = is_refusing);
    }

    /// While true, no byte arrives anywhere, and connections stay open. Afterwards, what was sent in
    /// the meantime arrives.
    pub fn black_hole(&self, is_black_hole: bool) {
        self.faults.send_modify(|faults| faults.is_black_hole = is_black_hole);
    }

    /// How much later bytes arrive, in each direction. The throughput stays.
    pub fn delay(&self, delay: Duration) {
        self.faults.send_modify(|faults| faults.delay = delay);
    }

    /// How many connections are open.
    pub fn open_count(&self) -> usize {
        *self.open_count.borrow()
    }

    /// Waits until the number of open connections is one that is wanted.
    pub async fn wait_for_open(&self, mut is_wanted: impl FnMut(usize) -> bool) {
        let mut open_count = self.open_count.clone();
        open_count
            .wait_for(|count| is_wanted(*count))
            .await
            .expect("the proxy runs as long as the value");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // In the background: a runtime may not be awaited within another one.
            runtime.shutdown_background();
        }
    }
}

async fn connect(
    mut client: TcpStream,
    target: SocketAddr,
    mut faults: watch::Receiver<Faults>,
) -> io::Result<()> {
    let cut_count = faults.borrow().cut_count;
    let mut server = match TcpStream::connect(target).await {
        Ok(server) => server,
        Err(error) => {
            client.set_zero_linger()?;
            return Err(error);
        }
    };
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let carried = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let there = carry(from_client, to_server, faults.clone());
        let back = carry(from_server, to_client, faults.clone());
        tokio::select! {
            carried = async { tokio::try_join!(there, back) } => carried.map(drop),
            _ = faults.wait_for(|faults| faults.cut_count != cut_count) => {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
    };
    // What ended by a fault, ours or another, ends with a reset on both sides.
    if carried.is_err() {
        client.set_zero_linger()?;
        server.set_zero_linger()?;
    }
    carried
}

/// Carries one direction to its end, which is passed on.
async fn carry(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    faults: watch::Receiver<Faults>,
) -> io::Result<()> {
    let (sender, mut chunks) = mpsc::channel::<(Instant, Vec<u8>)>(CHUNKS_ON_THE_WAY);
    let mut gate = faults.clone();
    let read = async move {
        loop {
            let mut chunk = vec![0; CHUNK_BYTES];
            let length = from.read(&mut chunk).await?;
            chunk.truncate(length);
            let due_at = Instant::now() + faults.borrow().delay;
            if sender.send((due_at, chunk)).await.is_err() || length == 0 {
                return io::Result::Ok(());
            }
        }
    };
    let write = async move {
        while let Some((due_at, chunk)) = chunks.recv().await {
            tokio::time::sleep_until(due_at).await;
            gate.wait_for(|faults| !faults.is_black_hole).await.map_err(io::Error::other)?;
            match chunk.is_empty() {
                true => to.shutdown().await?,
                false => to.write_all(&chunk).await?,
            }
        }
        io::Result::Ok(())
    };
    tokio::try_join!(read, write).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anything takes here unless it never comes.
    const LONG: Duration = Duration::from_secs(60);
    /// Long enough to see that something does not come.
    const SHORT: Duration = Duration::from_millis(100);

    /// A proxy before a server that answers every byte with the same.
    async fn echo() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        Proxy::start(target).unwrap()
    }

    async fn open(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap()
    }

    async fn exchange(stream: &mut TcpStream) -> io::Result<u8> {
        stream.write_all(b"x").await?;
        receive(stream).await
    }

    /// A new connection is reset. Whether that comes before or after the write is up to the kernel, or even
    /// before the connection has been seen to be there.
    async fn check_that_it_resets(proxy: &Proxy) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", proxy.port())).await {
            exchange(&mut stream).await.unwrap_err();
        }
    }

    async fn receive(stream: &mut TcpStream) -> io::Result<u8> {
        tokio::time::timeout(LONG, stream.read_u8()).await.expect("an answer or an end")
    }

    #[tokio::test]
    async fn a_cut_resets_what_is_open_and_lets_new_connections_in() {
        let proxy = echo().await;
        let mut stream = open(&proxy).await;
        assert_eq!(exchange(&mut stream).await.unwrap(), b'x');
        assert_eq!(proxy.open_count(), 1);
        proxy.cut();
        let error = receive(&mut stream).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        proxy.wait_for_open(|count| count == 0).await;
        assert_eq!(exchange(&mut open(&proxy).await).await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn refusing_leaves_open_connections_alone() {
        let proxy = echo().await;
        let mut stream = open(&proxy).await;
        exchange(&mut stream).await.unwrap();
        proxy.refuse(true);
        check_that_it_resets(&proxy).await;
        assert_eq!(exchange(&mut stream).await.unwrap(), b'x');
        proxy.refuse(false);
        assert_eq!(exchange(&mut open(&proxy).await).await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn a_black_hole_keeps_the_bytes_until_it_ends() {
        let proxy = echo().await;
        let mut stream = open(&proxy).await;
        exchange(&mut stream).await.unwrap();
        proxy.black_hole(true);
        stream.write_all(b"y").await.unwrap();
        tokio::time::timeout(SHORT, stream.read_u8()).await.expect_err("nothing arrives");
        assert_eq!(proxy.open_count(), 1);
        proxy.black_hole(false);
        assert_eq!(receive(&mut stream).await.unwrap(), b'y');
        // A cut works in the dark as well.
        proxy.black_hole(true);
        stream.write_all(b"z").await.unwrap();
        proxy.cut();
        receive(&mut stream).await.unwrap_err();
    }

    #[tokio::test]
    async fn a_delay_counts_in_both_directions() {
        let proxy = echo().await;
        let mut stream = open(&proxy).await;
        proxy.delay(SHORT);
        let started_at = Instant::now();
        exchange(&mut stream).await.unwrap();
        assert!(started_at.elapsed() >= 2 * SHORT);
    }

    #[tokio::test]
    async fn the_end_is_passed_on_and_an_absent_target_is_a_reset() {
        let proxy = echo().await;
        let mut stream = open(&proxy).await;
        stream.write_all(b"x").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"x");

        let nobody = SocketAddr::from(([127, 0, 0, 1], port::find_free().unwrap()));
        let proxy = Proxy::start(nobody).unwrap();
        check_that_it_resets(&proxy).await;
    }
}
