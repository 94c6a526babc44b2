//! A receiver that answers as a test tells it to, byte by byte.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, UnboundedReceiver},
};

/// A request as it came over the wire.
pub struct Received {
    /// From the request line to the empty line.
    pub head: String,
    pub body: Vec<u8>,
}

/// A server on loopback; ends with the runtime of its test.
pub struct Receiver {
    pub address: SocketAddr,
    /// Every request, if the receiver is [`answering`](Self::answering).
    pub requests: UnboundedReceiver<Received>,
    /// An item for every connection that has ended.
    pub ended: UnboundedReceiver<()>,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    /// Gives this answer to every request, on as many connections as there come.
    pub async fn answering(answer: &str) -> Self {
        let answer: Arc<str> = answer.into();
        let (sender, requests) = mpsc::unbounded_channel();
        let script = move |mut stream: TcpStream| {
            let (answer, sender) = (Arc::clone(&answer), sender.clone());
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    let _ = sender.send(request);
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        break;
                    }
                }
            }
        };
        Self { requests, ..Self::scripted(script).await }
    }

    /// Hands each connection to `script`.
    pub async fn scripted<S, F>(script: S) -> Self
    where
        S: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let (sender, ended) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let (sender, served) = (sender.clone(), script(stream));
                tokio::spawn(async move {
                    served.await;
                    let _ = sender.send(());
                });
            }
        });
        let (_, requests) = mpsc::unbounded_channel();
        Self { address, requests, ended, connections }
    }

    /// How many connections were accepted so far.
    pub fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The next request with a content-length; `None` when the connection has ended.
pub async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_length = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_length].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = bytes.split_off(head_length);
    while body.len() < length.parse().unwrap() {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { head, body })
}
