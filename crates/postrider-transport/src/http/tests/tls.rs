//! HTTPS and HTTP/2.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use ::http::Version;
use http_body_util::{BodyExt, Full};
use hyper::{server, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{RootCertStore, ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::sync::{
    Barrier,
    mpsc::{self, UnboundedReceiver},
};
use tokio_rustls::TlsAcceptor;

use super::*;

/// What an HTTP/2 server does with requests.
#[derive(Debug, Clone)]
struct Manner {
    /// How many it takes at a time.
    streams: u32,
    /// Whether it reads requests before it answers, and not at all otherwise.
    takes: bool,
    service_time: Duration,
    /// So many are answered together.
    together: Arc<Barrier>,
}

impl Default for Manner {
    fn default() -> Self {
        let together = Arc::new(Barrier::new(1));
        Self { streams: 1, takes: true, service_time: Duration::ZERO, together }
    }
}

/// An HTTP/2 server.
struct Http2 {
    address: SocketAddr,
    roots: RootCertStore,
    versions: UnboundedReceiver<Version>,
    connections: Arc<AtomicUsize>,
}

fn trusting(settings: Settings, roots: RootCertStore) -> Arc<Shared> {
    Shared::with_options(settings, SharedOptions { roots, ..SharedOptions::default() })
}

impl Http2 {
    async fn start(manner: Manner) -> Self {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = certified.cert.der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, versions) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(acceptor.clone(), stream, sender.clone(), manner.clone()));
            }
        });
        Self { address, roots, versions, connections }
    }
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    versions: mpsc::UnboundedSender<Version>,
    manner: Manner,
) {
    let Manner { streams, takes, service_time, .. } = manner;
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(|request: ::http::Request<Incoming>| {
        let (versions, together) = (versions.clone(), Arc::clone(&manner.together));
        async move {
            let _ = versions.send(request.version());
            let body = request.into_body();
            if takes {
                let _ = body.collect().await;
            } else {
                // Dropped it would end the request.
                tokio::spawn(async move {
                    let _body = body;
                    std::future::pending::<()>().await
                });
            }
            tokio::time::sleep(service_time).await;
            together.wait().await;
            Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        }
    });
    let _ = server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .initial_stream_window_size(if takes { None } else { Some(1_000) })
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_offered_and_waiting_for_a_stream_is_no_timeout() {
    // Each takes far less than the timeout, also where a machine stands still for some seconds.
    let mut server =
        Http2::start(Manner { service_time: Duration::from_secs(1), ..Manner::default() }).await;
    let settings = Settings { http_timeout: Duration::from_secs(6), ..settings() };
    let shared = trusting(settings, std::mem::replace(&mut server.roots, RootCertStore::empty()));
    let url = format!("https://localhost:{}/", server.address.port());
    let endpoint = transport::open("http", &json!({ "url": url }), &shared).unwrap();
    assert_eq!(send(&endpoint, envelope(0)).await.outcome, Outcome::Accepted);

    // Nine that the server takes one after the other: the last ones wait for longer than the timeout.
    let sent: Vec<_> = (1..=9)
        .map(|id| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move { send(&endpoint, envelope(id)).await })
        })
        .collect();
    for report in sent {
        let report = report.await.unwrap();
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    }
    for _ in 0..=9 {
        assert_eq!(server.versions.recv().await, Some(Version::HTTP_2));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

/// The connection was ended when answers with bodies came to some thirty requests that had gone out together.
#[tokio::test]
async fn requests_that_go_out_together_are_answered_together_over_one_connection() {
    const COUNT: usize = 200;
    let together = Arc::new(Barrier::new(COUNT));
    let manner = Manner { streams: 200, together, ..Manner::default() };
    let mut server = Http2::start(manner).await;
    let roots = std::mem::replace(&mut server.roots, RootCertStore::empty());
    let shared = trusting(Settings { http_timeout: Duration::from_secs(60), ..settings() }, roots);
    let url = format!("https://localhost:{}/", server.address.port());
    let config = json!({ "url": url, "concurrency": COUNT });
    let endpoint = transport::open("http", &config, &shared).unwrap();
    let mut connection_count = 0;
    for round in 0..2 {
        let sent: Vec<_> = (0..COUNT)
            .map(|number| {
                let endpoint = Arc::clone(&endpoint);
                let id = (round * COUNT + number) as i64;
                tokio::spawn(async move { send(&endpoint, envelope(id)).await })
            })
            .collect();
        for report in sent {
            let report = report.await.unwrap();
            assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
        }
        // Until the first one is there each request makes one for itself.
        let former =
            std::mem::replace(&mut connection_count, server.connections.load(Ordering::SeqCst));
        assert!(round == 0 || connection_count == former);
    }
}

#[tokio::test]
async fn nothing_is_kept_for_a_receiver_that_answers_and_takes_nothing() {
    let mut server = Http2::start(Manner { takes: false, ..Manner::default() }).await;
    let roots = std::mem::replace(&mut server.roots, RootCertStore::empty());
    let shared = trusting(settings(), roots);
    let url = format!("https://localhost:{}/", server.address.port());
    let endpoint = transport::open("http", &json!({ "url": url }), &shared).unwrap();
    let seen = Arc::new(());
    for number in 1..=2 {
        let payload =
            Bytes::from_owner(Seen { bytes: vec![b'1'; 1 << 20], _by: Arc::clone(&seen) });
        let report = send(&endpoint, Envelope { payload, ..envelope(number) }).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    }
    let is_gone = async {
        while Arc::strong_count(&seen) > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_gone).await.expect("it is kept");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2, "each connection is ended");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_a_tls_failure() {
    let server = Http2::start(Manner::default()).await;
    let url = format!("https://localhost:{}/?token=secret", server.address.port());
    let report = send(&endpoint(json!({ "url": url }), settings()), envelope(1)).await;
    assert_eq!(report.outcome, unavailable(None));
    let error = report.error.unwrap();
    assert!(error.starts_with("TLS failure: invalid peer certificate"), "{error}");

    let plain = Receiver::answering(OK).await;
    let url = format!("https://127.0.0.1:{}/", plain.address.port());
    let settings = Settings { http_connect_timeout: Duration::from_millis(300), ..settings() };
    let report = send(&endpoint(json!({ "url": url }), settings), envelope(1)).await;
    let error = report.error.unwrap();
    // The receiver waits for a head that never comes.
    assert_eq!(error, "timeout: no connection within 0.3 s");
}
