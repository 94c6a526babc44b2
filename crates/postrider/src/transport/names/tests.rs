use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{net::UdpSocket, task::JoinSet};

use super::*;

/// A name server on loopback.
///
/// `dead…` has no answer, `none…` does not exist, `two…` has two addresses, and everything else is 127.0.0.1.
pub struct NameServer {
    pub address: SocketAddr,
    /// How many questions for an IPv4 address have come.
    pub question_count: Arc<AtomicUsize>,
}

impl NameServer {
    pub async fn start() -> Self {
        Self::answering(|name| match name {
            name if name.starts_with("dead") => None,
            name if name.starts_with("none") => Some(Vec::new()),
            name if name.starts_with("two") => {
                Some(vec![Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST])
            }
            _ => Some(vec![Ipv4Addr::LOCALHOST]),
        })
        .await
    }

    /// Answers with these addresses, that there is no such name if there are none, or not at all.
    pub async fn answering(
        mut answer: impl FnMut(&str) -> Option<Vec<Ipv4Addr>> + Send + 'static,
    ) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let question_count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&question_count);
        tokio::spawn(async move {
            let mut bytes = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
                let (name, end) = read_name(&bytes[..length]);
                let is_v4 = bytes[end..][..2] == [0, 1];
                if is_v4 {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
                let addresses = match answer(&name) {
                    Some(addresses) => addresses,
                    None => continue,
                };
                let is_there = !addresses.is_empty();
                let addresses = if is_v4 { addresses } else { Vec::new() };
                let reply = reply(&bytes[..end + 4], is_there, &addresses);
                let _ = socket.send_to(&reply, from).await;
            }
        });
        Self { address, question_count }
    }
}

/// The name of the only question, and where its type stands.
fn read_name(bytes: &[u8]) -> (String, usize) {
    let (mut at, mut labels) = (12, Vec::new());
    while bytes[at] > 0 {
        let label = &bytes[at + 1..][..bytes[at] as usize];
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += 1 + label.len();
    }
    (labels.join("."), at + 1)
}

fn reply(question: &[u8], is_there: bool, addresses: &[Ipv4Addr]) -> Vec<u8> {
    let mut bytes = question.to_vec();
    // An answer, recursion available, and whether there is such a name. One question, no additional records.
    bytes[2] = 0x81;
    bytes[3] = if is_there { 0x80 } else { 0x83 };
    bytes[4..12].copy_from_slice(&[0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    for address in addresses {
        // The name of the question, type A, class IN, a time to live of 0.
        bytes.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        bytes.extend_from_slice(&address.octets());
    }
    bytes
}

#[tokio::test]
async fn good_names_are_resolved_while_hundreds_hang() {
    let server = NameServer::start().await;
    let names = Arc::new(Names::new(vec![server.address]));
    let mut dead = JoinSet::new();
    for number in 0..280 {
        let names = Arc::clone(&names);
        dead.spawn(async move { names.look_up(&format!("dead-{number}.example.")).await });
    }
    while server.question_count.load(Ordering::SeqCst) < 280 {
        tokio::task::yield_now().await;
    }
    for name in ["good.example.", "good.example.", "other_service.example."] {
        assert_eq!(names.look_up(name).await.unwrap(), [Ipv4Addr::LOCALHOST], "{name}");
    }
    assert!(dead.try_join_next().is_none(), "those without an answer are still waited for");
    assert!(names.look_up("none.example.").await.is_err());
}

#[tokio::test]
async fn a_name_that_hangs_is_asked_for_once_and_then_left_alone_for_a_while() {
    let server = NameServer::start().await;
    let names = Arc::new(Names::new(vec![server.address]));
    let mut dead = JoinSet::new();
    for _ in 0..50 {
        let names = Arc::clone(&names);
        dead.spawn(async move { names.look_up("dead.example.").await });
    }
    while server.question_count.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    // Who gives up has learned as much as who waits for the end.
    dead.shutdown().await;
    assert!(names.look_up("dead.example.").await.is_err());
    assert_eq!(server.question_count.load(Ordering::SeqCst), 2, "one for each name");
}

#[tokio::test]
async fn names_are_remembered_within_bounds() {
    let names = Names::new(vec![]);
    names.note("good", Known::Resolved);
    for number in 0..KNOWN_MAX + 10 {
        names.note(&format!("made-up-{number}"), Known::Failed { at: Instant::now() });
    }
    assert!(lock(&names.known).len() <= KNOWN_MAX);
    assert!(matches!(names.known("good"), Some(Known::Resolved)));
}
