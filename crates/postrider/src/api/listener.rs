//! Accepting connections, in a thread of its own, within bounds.
//!
//! Whoever is slow holds nobody up but themselves: heads, bodies, requests and connections have a time and a size, and
//! there are only so many connections. A request that has begun is finished even if its client has gone, so that what
//! it changes is never half known.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    thread::JoinHandle,
    time::Duration,
};

use axum::{Router, body::Body, response::IntoResponse};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use hyper::{
    body::{Body as _, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use postrider_engine::{telemetry::Telemetry, vitals::Vitals};
use postrider_store::connect::{ConnectError, Connector};
use tokio::{
    net::TcpStream,
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    task::JoinSet,
    time::{Instant, timeout},
};
use tower_service::Service;
use tracing::{error, info, warn};
use uuid::Uuid;

use super::{
    Api, Shared,
    figures::{self, Figures},
    pool::{COMMIT_TIME, Pool},
    problem::Problem,
    request::BODIES_KIB,
    router,
    token::{self, USES_MAX},
    verified::Verified,
};
use crate::config::{Config, DEFAULT_LISTEN, Listen};

/// So many connections at a time; the next ones are closed.
const CONNECTIONS_MAX: usize = 256;
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The size of a head, and the number of its headers.
const HEAD_BYTES: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// How long a request may take from its head to its commit.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// By then it is answered: what waits for the database has ended before.
const ANSWER_TIME: Duration = REQUEST_TIME.saturating_add(COMMIT_TIME).saturating_add(GRACE);
/// How long a connection is kept: who does not read the answer keeps it no longer.
const CONNECTION_TIME: Duration = Duration::from_secs(300);
/// How much is read of a body that nobody wants, and for how long.
const REST_BYTES: usize = 32 * 1024 * 1024;
const REST_TIME: Duration = Duration::from_secs(10);
/// How long what is being answered may take when the process ends.
const GRACE: Duration = Duration::from_secs(2);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest name of a request that is taken over.
const REQUEST_ID_CHARACTERS: usize = 128;
/// After a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("listen: could not listen on {address}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("could not start the listener's thread")]
    Thread(#[source] io::Error),
}

/// The listener of this process. It ends when it is dropped or stopped.
pub struct Listener {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Listener {
    /// Accepts nothing more, and waits a moment for what is being answered.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}

/// Starts listening as configured. On the default address, if another process has that, it warns and does without.
///
/// # Errors
///
/// When it cannot listen for another reason, or on an address that was asked for.
pub fn start(
    config: &Config,
    vitals: Arc<Vitals>,
    telemetry: Arc<Telemetry>,
) -> Result<Option<Listener>, ListenError> {
    let (address, is_default) = match config.serve.listen {
        Listen::Off => return Ok(None),
        Listen::Default => (DEFAULT_LISTEN, true),
        Listen::At(address) => (address, false),
    };
    let socket = match bind(address) {
        Ok(socket) => socket,
        Err(source) if is_default && source.kind() == io::ErrorKind::AddrInUse => {
            warn!(
                %address,
                "nothing listens: the address is taken by another process, which answers for itself alone; this one \
                 delivers without health, metrics and API; --listen names another address, or off"
            );
            return Ok(None);
        }
        Err(source) => return Err(ListenError::Bind { address, source }),
    };
    let url = &config.database_url;
    let connector = Connector::new(url, config.database_ca_file.as_deref(), "postrider api")?;
    let (uses, used) = mpsc::channel(USES_MAX);
    let shared = Shared {
        vitals,
        telemetry,
        pool: Pool::new(connector),
        figures: Figures::default(),
        verified: Verified::default(),
        uses,
        bodies: Arc::new(Semaphore::new(BODIES_KIB)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ListenError::Thread)?;
    let (stop, is_stopped) = watch::channel(false);
    let is_trusting = !config.serve.behind_proxy;
    let thread = std::thread::Builder::new().name("listener".to_owned());
    let thread = thread
        .spawn(move || {
            let api = Arc::new(shared);
            runtime.block_on(async {
                let noting = tokio::spawn(token::note_uses(Arc::clone(&api), used));
                let refreshing = tokio::spawn(figures::refresh(Arc::clone(&api)));
                serve(socket, api, is_trusting, is_stopped).await;
                refreshing.abort();
                noting.abort();
            });
        })
        .map_err(ListenError::Thread)?;
    Ok(Some(Listener { stop, thread }))
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    info!(address = %socket.local_addr()?, "listening");
    Ok(socket)
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// From a process of this machine, for all that we know: nothing may be in between.
    pub is_local: bool,
}

/// When a request has come, by when it has to be done, and what it is called.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub until: Instant,
    pub request_id: Arc<str>,
}

/// What the client calls its request, if that can be written into a log; else a name of ours.
fn request_id(headers: &HeaderMap) -> Arc<str> {
    let is_fit = |text: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(&byte);
        (1..=REQUEST_ID_CHARACTERS).contains(&text.len()) && text.bytes().all(is_plain)
    };
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(is_fit);
    given.map_or_else(|| Uuid::new_v4().to_string().into(), Arc::from)
}

async fn serve(
    socket: TcpListener,
    api: Api,
    is_trusting: bool,
    mut is_stopped: watch::Receiver<bool>,
) {
    let socket = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => socket,
        Err(error) => return error!(%error, "the listener cannot be used"),
    };
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let router = router(Arc::clone(&api));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = is_stopped.wait_for(|is_stopped| *is_stopped) => break,
            accepted = socket.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Without a place it is closed at once.
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
        let peer = Peer { is_local: is_trusting && is_local(&stream, from) };
        let connection =
            converse(stream, peer, router.clone(), Arc::clone(&api), is_stopped.clone());
        connections.spawn(holding(slot, connection));
    }
    drop(socket);
    let over = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(GRACE, over).await;
}

fn is_local(stream: &TcpStream, from: SocketAddr) -> bool {
    let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
    is_loopback(from) && stream.local_addr().is_ok_and(is_loopback)
}

async fn holding(_slot: OwnedSemaphorePermit, connection: impl Future<Output = ()>) {
    connection.await;
}

/// Answers the requests of one connection, one after the other.
async fn converse(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    api: Api,
    mut is_stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let request = request.map(|body| Body::new(Emptied(Some(body))));
        answer(request, peer, router.clone(), Arc::clone(&api))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let is_over = async {
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = is_stopped.wait_for(|is_stopped| *is_stopped) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.as_mut().await;
    };
    // What a client does wrong is its own business.
    let _ = timeout(CONNECTION_TIME, is_over).await;
}

/// A body whose rest is read and thrown away when nobody wants it: who is still sending would otherwise hear of a
/// connection that was reset, and not the answer.
struct Emptied(Option<Incoming>);

impl hyper::body::Body for Emptied {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(Incoming::size_hint).unwrap_or_default()
    }
}

impl Drop for Emptied {
    fn drop(&mut self) {
        let rest = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(timeout(REST_TIME, empty(rest)));
        }
    }
}

async fn empty(mut body: Incoming) {
    let mut left = REST_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}

/// Answers one request. It goes on if the client leaves, up to its time: nobody else ends it then.
async fn answer(
    mut request: Request<Body>,
    peer: Peer,
    mut router: Router,
    api: Api,
) -> Result<Response<Body>, Infallible> {
    request.extensions_mut().insert(peer);
    let request_id = request_id(request.headers());
    let until = Instant::now() + REQUEST_TIME;
    request.extensions_mut().insert(Arrival { until, request_id: Arc::clone(&request_id) });
    let handling = tokio::spawn(timeout(ANSWER_TIME, router.call(request)));
    let mut response = match handling.await {
        Ok(Ok(Ok(response))) => response,
        Ok(Err(_)) => Problem::outcome_unknown().into_response(),
        Err(error) => {
            error!(%error, "a request could not be answered");
            Problem::internal().into_response()
        }
    };
    api.telemetry.answered(response.status().as_u16());
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let name = header::X_CONTENT_TYPE_OPTIONS;
    headers.insert(name, HeaderValue::from_static("nosniff"));
    if let Ok(request_id) = HeaderValue::from_str(&request_id) {
        headers.insert(REQUEST_ID, request_id);
    }
    Ok(response)
}
