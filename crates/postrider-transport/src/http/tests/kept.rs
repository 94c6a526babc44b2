//! What a receiver cannot make us keep: requests that it does not take, and the connections that they were given to.

use futures_util::future::join_all;
use postrider_testkit::{
    hostile::{Expected, Hostiles, KINDS, Kind},
    sockets,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::*;

/// Rows of the table of hostile receivers that take nothing, and never close a connection.
const NAMES: [&str; 6] = [
    "does not read, and answers with a byte too many",
    "does not read, ever",
    "does not read, and promises a body",
    "does not read, inside TLS",
    "does not read, and promises a body, inside TLS",
    "HTTP/2: takes no streams",
];
/// So many requests to each, at once.
const COUNT: i64 = 3;
/// Far longer than any of them may be kept, also where a machine is slow. What is kept is kept for ever.
const LONG: Duration = Duration::from_secs(180);

/// What trusts these receivers.
pub fn trusting(hostiles: &Hostiles, settings: Settings) -> Arc<Shared> {
    let certificate = CertificateDer::from_pem_slice(hostiles.certificate().as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    Shared::with_options(settings, SharedOptions { roots, ..SharedOptions::default() })
}

/// Waits until there is no connection to these receivers any more. They keep theirs.
pub async fn wait_for_the_end(hostiles: &Hostiles, kinds: &[Kind]) {
    let end = Instant::now() + LONG;
    loop {
        let peers = sockets::peers(std::process::id()).unwrap();
        let kept = peers.into_iter().filter_map(|peer| hostiles.index_at(peer));
        let kept: Vec<_> = kept.map(|index| kinds[index].name).collect();
        if kept.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "connections to {kept:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_receiver_that_takes_nothing_ends_up_with_nothing_of_ours() {
    let is_named = |kind: &&Kind| NAMES.contains(&kind.name);
    let kinds: Vec<Kind> = KINDS.iter().filter(is_named).copied().collect();
    assert_eq!(kinds.len(), NAMES.len());
    let hostiles = Hostiles::start(&kinds).unwrap();
    let shared = trusting(&hostiles, settings());
    let seen = Arc::new(());
    // An endpoint that goes takes its pool with it.
    let mut endpoints = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        // Where an answer is awaited there is time for it, and no more of it than necessary where there is none.
        let is_accepted = kind.expected == Expected::Accepted;
        let (timeout, connect_timeout) = if is_accepted { (30, 20) } else { (1, 2) };
        let config = json!({
            "url": hostiles.url(index, kind, 0),
            "timeout_seconds": timeout,
            "connect_timeout_seconds": connect_timeout,
        });
        let endpoint = transport::open("http", &config, &shared).unwrap();
        let sent = (1..=COUNT).map(|id| {
            // More than all buffers on the way take.
            let bytes = vec![b'x'; if kind.payload_length > 0 { 16 << 20 } else { 1_000 }];
            let payload = Bytes::from_owner(Seen { bytes, _by: Arc::clone(&seen) });
            send(&endpoint, Envelope { payload, ..envelope(id) })
        });
        for report in join_all(sent).await {
            let is_as_expected = (report.outcome == Outcome::Accepted) == is_accepted;
            assert!(is_as_expected, "{}: {report:?}", kind.name);
        }
        assert!(hostiles.connection_count(index) > 0, "{}", kind.name);
        endpoints.push(endpoint);
    }
    wait_for_the_end(&hostiles, &kinds).await;
    let is_gone = async {
        while Arc::strong_count(&seen) > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, is_gone).await.expect("a payload is kept");
}
