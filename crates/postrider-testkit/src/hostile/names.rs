//! A name server that answers what it is told to.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::net::UdpSocket;

/// What is said of a name.
#[derive(Debug, Clone, Copy)]
pub enum Answers {
    /// Nothing.
    Silence,
    /// Its address is 127.0.0.1, but only after a while.
    Late(Duration),
    /// This code instead of addresses: 2 for a failure, 3 for no such name, 5 for a refusal.
    Code(u8),
    /// These bytes.
    Garbage(&'static [u8]),
    /// All of these.
    Addresses(&'static [[u8; 4]]),
    /// The same, and they may be kept for an hour. All others may not be kept.
    Lasting(&'static [[u8; 4]]),
    /// One of these, the next one each time.
    Changing(&'static [[u8; 4]]),
}

/// A name server on loopback. It ends with the runtime.
#[derive(Debug)]
pub struct NameServer {
    pub address: SocketAddr,
    /// How many questions for an IPv4 address have come.
    pub question_count: Arc<AtomicUsize>,
}

impl NameServer {
    /// Starts one in the runtime of the moment.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub async fn start(answer: impl Fn(&str) -> Answers + Send + 'static) -> io::Result<Self> {
        Self::serve(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?, answer)
    }

    /// The same on a socket that is there already.
    ///
    /// # Errors
    ///
    /// When the socket has no address.
    pub fn serve(
        socket: UdpSocket,
        answer: impl Fn(&str) -> Answers + Send + 'static,
    ) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let question_count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&question_count);
        let socket = Arc::new(socket);
        tokio::spawn(async move {
            let mut bytes = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
                let Some((name, end)) = read_name(&bytes[..length]) else { continue };
                let question = bytes[..end + 4].to_vec();
                let is_v4 = question[end..][..2] == [0, 1];
                let number = counter.fetch_add(usize::from(is_v4), Ordering::SeqCst);
                let (answer, socket) = (answer(&name), Arc::clone(&socket));
                tokio::spawn(async move {
                    if let Some(reply) = reply(&question, is_v4, number, answer).await {
                        let _ = socket.send_to(&reply, from).await;
                    }
                });
            }
        });
        Ok(Self { address, question_count })
    }
}

/// The name of the only question, and where its type stands.
fn read_name(bytes: &[u8]) -> Option<(String, usize)> {
    let (mut at, mut labels) = (12, Vec::new());
    while *bytes.get(at)? > 0 {
        let label = bytes.get(at + 1..)?.get(..bytes[at] as usize)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += 1 + label.len();
    }
    (bytes.len() >= at + 5).then(|| (labels.join("."), at + 1))
}

async fn reply(question: &[u8], is_v4: bool, number: usize, answer: Answers) -> Option<Vec<u8>> {
    match answer {
        Answers::Silence => None,
        Answers::Late(pause) => {
            tokio::time::sleep(pause).await;
            Some(message(question, 0, if is_v4 { &[[127, 0, 0, 1]] } else { &[] }, 0))
        }
        Answers::Code(code) => Some(message(question, code, &[], 0)),
        Answers::Garbage(bytes) => Some(bytes.to_vec()),
        Answers::Addresses(addresses) => {
            Some(message(question, 0, if is_v4 { addresses } else { &[] }, 0))
        }
        Answers::Lasting(addresses) => {
            Some(message(question, 0, if is_v4 { addresses } else { &[] }, 3_600))
        }
        Answers::Changing(addresses) => {
            let address = [addresses[number % addresses.len()]];
            Some(message(question, 0, if is_v4 { &address } else { &[] }, 0))
        }
    }
}

fn message(question: &[u8], code: u8, addresses: &[[u8; 4]], seconds: u32) -> Vec<u8> {
    let mut bytes = question.to_vec();
    // An answer; recursion is available. One question, no additional records.
    bytes[2] = 0x81;
    bytes[3] = 0x80 | code;
    bytes[4..12].copy_from_slice(&[0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    for address in addresses {
        // The name of the question, type A, class IN, how long it may be kept, four bytes.
        bytes.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
        bytes.extend_from_slice(&seconds.to_be_bytes());
        bytes.extend_from_slice(&[0, 4]);
        bytes.extend_from_slice(address);
    }
    bytes
}
