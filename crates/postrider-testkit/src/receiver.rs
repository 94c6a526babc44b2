//! A real HTTP receiver whose behaviour is scripted and which records every request.
//!
//! It speaks HTTP/1.1 and HTTP/2 without TLS (by prior knowledge) on 127.0.0.1. It runs on a thread
//! of its own, so it answers while a test blocks, and costs little on a machine it shares with what
//! is measured. Behaviour can be changed while it runs.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as blocking};
use std::task::{self, Poll, ready};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request as HttpRequest, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::ledger::{self, Ledger, MessageId};
use crate::port;

/// How long a change of the listener may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// What a receiver keeps of each request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    /// The body.
    pub body: bool,
    /// All headers.
    pub headers: bool,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Request {
    /// From the header `webhook-id: msg_<id>`; `None` when it is missing or something else.
    pub id: Option<MessageId>,
    /// From the header `postrider-attempt`; 0 when it is missing or no number.
    pub attempt: u32,
    /// The path and query of the address.
    pub path: String,
    /// When it arrived, by the monotonic clock.
    pub at: Instant,
    /// When it arrived, by the wall clock.
    pub wall_clock_at: SystemTime,
    /// The status of the answer; `None` when it is never answered. Noted at the arrival, so the
    /// answer itself may still be on its way, or delayed.
    pub status: Option<u16>,
    /// How long after the arrival the answer goes out, at the earliest.
    pub delay: Duration,
    /// The body, when the receiver keeps it.
    pub body: Bytes,
    /// The headers, when the receiver keeps them.
    pub headers: HeaderMap,
}

impl Request {
    /// Whether the answer was a success.
    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// What is known of a request when its answer is chosen.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// As in [`Request`].
    pub id: Option<MessageId>,
    /// As in [`Request`].
    pub attempt: u32,
    /// The path and query of the address.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a Bytes,
    /// How many requests with this id came before.
    pub earlier_count: u32,
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// `None` never answers; the client has to give up.
    pub status: Option<u16>,
    /// How long the client waits for it.
    pub delay: Duration,
    /// Further headers, such as `retry-after`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
    /// What follows the body.
    pub ending: Ending,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// With its body.
    #[default]
    Plain,
    /// Never: the body over and over, as fast as it is taken.
    Endless,
    /// Never: the body over and over, with this pause before each.
    Dripping(Duration),
    /// Before it began: the connection is closed instead. Goes with a status of `None`.
    Cut,
}

impl Answer {
    /// An empty answer at once.
    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Adds a body, and how it ends.
    #[must_use]
    pub fn ending(mut self, body: impl Into<Bytes>, ending: Ending) -> Self {
        (self.body, self.ending) = (body.into(), ending);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }
}

/// How a receiver answers.
#[derive(Clone)]
pub enum Behaviour {
    /// Always this status.
    Status(u16),
    /// This status for a share (0 to 1) of the requests, 200 for the others; chosen by dice.
    Fraction {
        /// The status of the unlucky ones.
        status: u16,
        /// How many of them: 0.33 for a third.
        share: f64,
        /// What the dice start from.
        seed: u64,
    },
    /// What `then` says, but late.
    Delay {
        /// How late.
        wait: Duration,
        /// The behaviour. A delay of its own is added.
        then: Box<Behaviour>,
    },
    /// Accepts the request and never answers.
    Hang,
    /// This status for the first requests of every message, 200 afterwards.
    FirstFail {
        /// How many of each message fail.
        count: u32,
        /// Their status.
        status: u16,
    },
    /// Whatever the function says. It runs on the receiver's thread and must not block.
    Custom(Arc<dyn Fn(&Arrival<'_>) -> Answer + Send + Sync>),
}

impl Behaviour {
    /// A behaviour from a function.
    pub fn custom(function: impl Fn(&Arrival<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(function))
    }

    fn answer(&self, arrival: &Arrival<'_>, dice: &mut fastrand::Rng) -> Answer {
        match self {
            Self::Status(status) => Answer::status(*status),
            Self::Fraction { status, share, .. } => {
                Answer::status(if dice.f64() < *share { *status } else { 200 })
            }
            Self::Delay { wait, then } => {
                let answer = then.answer(arrival, dice);
                Answer { delay: answer.delay + *wait, ..answer }
            }
            Self::Hang => Answer::default(),
            Self::FirstFail { count, status } => {
                Answer::status(if arrival.earlier_count < *count { *status } else { 200 })
            }
            Self::Custom(function) => function(arrival),
        }
    }

    fn seed(&self) -> u64 {
        match self {
            Self::Fraction { seed, .. } => *seed,
            Self::Delay { then, .. } => then.seed(),
            _ => 0,
        }
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "Status({status})"),
            Self::Fraction { status, share, seed } => {
                write!(formatter, "Fraction({status} for {share}, seed {seed})")
            }
            Self::Delay { wait, then } => write!(formatter, "Delay({wait:?}, {then:?})"),
            Self::Hang => formatter.write_str("Hang"),
            Self::FirstFail { count, status } => write!(formatter, "FirstFail({count}, {status})"),
            Self::Custom(_) => formatter.write_str("Custom"),
        }
    }
}

/// A running receiver. Dropping it ends it and cuts its connections.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    keep: Keep,
    state: Mutex<State>,
    /// The lowest number of requests or of accepted messages that somebody waits for. Without it
    /// every request would wake the waiting task.
    wake_at: AtomicUsize,
    grown: Notify,
    in_flight: AtomicUsize,
    in_flight_peak: AtomicUsize,
    connection_count: AtomicUsize,
}

#[derive(Debug)]
struct State {
    behaviour: Behaviour,
    dice: fastrand::Rng,
    requests: Vec<Request>,
    seen: HashMap<MessageId, u32>,
    accepted: HashSet<MessageId>,
}

enum Command {
    Down(blocking::Sender<std::io::Result<()>>),
    Up(blocking::Sender<std::io::Result<()>>),
}

impl Receiver {
    /// Starts a receiver that keeps bodies.
    ///
    /// # Errors
    ///
    /// When no port is free or the thread cannot be started.
    pub fn start(behaviour: Behaviour) -> Result<Self> {
        Self::start_with(behaviour, Keep { body: true, headers: false })
    }

    /// Starts a receiver and says what it keeps.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_with(behaviour: Behaviour, keep: Keep) -> Result<Self> {
        let listener = port::bind_free()?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let dice = fastrand::Rng::with_seed(behaviour.seed());
        let shared = Arc::new(Shared {
            keep,
            state: Mutex::new(State {
                behaviour,
                dice,
                requests: Vec::with_capacity(1 << 16),
                seen: HashMap::new(),
                accepted: HashSet::new(),
            }),
            wake_at: AtomicUsize::new(usize::MAX),
            grown: Notify::new(),
            in_flight: AtomicUsize::new(0),
            in_flight_peak: AtomicUsize::new(0),
            connection_count: AtomicUsize::new(0),
        });
        let (commands, orders) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("could not start the receiver's runtime")?;
        let thread =
            std::thread::Builder::new().name(format!("receiver-{}", address.port())).spawn({
                let shared = Arc::clone(&shared);
                move || runtime.block_on(run(listener, address, shared, orders))
            })?;
        Ok(Self { address, shared, commands, thread: Some(thread) })
    }

    /// The address to configure as an endpoint's: `http://127.0.0.1:PORT/`. Any path is served.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Changes how requests are answered from now on. Those that hang or are delayed stay so.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        let mut state = self.shared.lock();
        state.dice = fastrand::Rng::with_seed(behaviour.seed());
        state.behaviour = behaviour;
    }

    /// Stops listening and cuts all connections: further ones are refused, answers in flight lost.
    ///
    /// # Errors
    ///
    /// When the receiver does not answer in time.
    pub fn down(&self) -> Result<()> {
        self.command(Command::Down)
    }

    /// Listens again after [`Self::down`], on the same port.
    ///
    /// # Errors
    ///
    /// When the port was taken meanwhile.
    pub fn up(&self) -> Result<()> {
        self.command(Command::Up)
    }

    /// How many requests have arrived.
    pub fn request_count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// How many different messages have been accepted.
    pub fn accepted_count(&self) -> usize {
        self.shared.lock().accepted.len()
    }

    /// A copy of everything recorded, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Looks at everything recorded without copying it. The receiver waits meanwhile.
    pub fn with_requests<T>(&self, look: impl FnOnce(&[Request]) -> T) -> T {
        look(&self.shared.lock().requests)
    }

    /// The ids of all messages that arrived, accepted or not.
    pub fn distinct_ids(&self) -> HashSet<MessageId> {
        self.shared.lock().seen.keys().copied().collect()
    }

    /// The body of the first request with this id, when bodies are kept.
    pub fn body_of(&self, id: MessageId) -> Option<Bytes> {
        let state = self.shared.lock();
        state.requests.iter().find(|request| request.id == Some(id)).map(|found| found.body.clone())
    }

    /// The highest number of requests that were being answered at once.
    pub fn in_flight_peak(&self) -> usize {
        self.shared.in_flight_peak.load(Ordering::Relaxed)
    }

    /// Begins anew to look for the highest number of requests at once.
    pub fn forget_peak(&self) {
        let now = self.shared.in_flight.load(Ordering::Relaxed);
        self.shared.in_flight_peak.store(now, Ordering::Relaxed);
    }

    /// How many connections were accepted so far.
    pub fn connection_count(&self) -> usize {
        self.shared.connection_count.load(Ordering::Relaxed)
    }

    /// Forgets everything recorded so far, including which messages were seen.
    pub fn clear(&self) {
        let mut state = self.shared.lock();
        state.requests.clear();
        state.seen.clear();
        state.accepted.clear();
    }

    /// Waits until at least `count` requests have arrived.
    ///
    /// # Errors
    ///
    /// When fewer have after `timeout`.
    pub async fn wait_for(&self, count: usize, timeout: Duration) -> Result<()> {
        self.wait_until("requests", |state| state.requests.len(), count, timeout).await
    }

    /// Waits until at least `count` different messages have been accepted.
    ///
    /// # Errors
    ///
    /// When fewer have been after `timeout`.
    pub async fn wait_for_accepted(&self, count: usize, timeout: Duration) -> Result<()> {
        self.wait_until("accepted messages", |state| state.accepted.len(), count, timeout).await
    }

    /// Enters everything recorded into a ledger as what arrived at `destination`. `marker_of` reads
    /// the marker out of a body.
    pub fn record_into(
        &self,
        ledger: &mut Ledger,
        destination: &ledger::Destination,
        marker_of: impl Fn(&Request) -> Option<String>,
    ) {
        for request in &self.shared.lock().requests {
            ledger.request(ledger::Request {
                destination: Arc::clone(destination),
                id: request.id,
                marker: marker_of(request),
                attempt: request.attempt,
                at: request.at,
                is_accepted: request.is_accepted(),
            });
        }
    }

    fn command(&self, command: fn(blocking::Sender<std::io::Result<()>>) -> Command) -> Result<()> {
        let (answer, done) = blocking::channel();
        // A receiver that is gone drops the answer's sender, which the wait below reports.
        let _ = self.commands.send(command(answer));
        let done = done.recv_timeout(COMMAND_TIMEOUT).context("the receiver does not answer")?;
        done.with_context(|| format!("the receiver could not listen on {}", self.address))
    }

    async fn wait_until(
        &self,
        what: &str,
        measure: impl Fn(&State) -> usize,
        count: usize,
        timeout: Duration,
    ) -> Result<()> {
        let wait = async {
            loop {
                let grown = self.shared.grown.notified();
                // Both under the lock that a request holds while it is noted: no wake-up is lost.
                {
                    let state = self.shared.lock();
                    if measure(&state) >= count {
                        return;
                    }
                    self.shared.wake_at.fetch_min(count, Ordering::Relaxed);
                }
                grown.await;
            }
        };
        if tokio::time::timeout(timeout, wait).await.is_err() {
            let found = measure(&self.shared.lock());
            bail!("{found} of {count} {what} after {timeout:?}");
        }
        Ok(())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // The thread ends when the last sender of commands is gone.
        let (closed, _) = mpsc::unbounded_channel();
        self.commands = closed;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("the receiver at {} panicked", self.address);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A behaviour that panics must not hide what was recorded.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request and chooses its answer.
    fn note(&self, request: &hyper::http::request::Parts, body: Bytes) -> Answer {
        let (at, wall_clock_at) = (Instant::now(), SystemTime::now());
        let id = read_id(&request.headers);
        let attempt = read_attempt(&request.headers);
        let path = request.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut guard = self.lock();
        let state = &mut *guard;
        let earlier_count = id.map_or(0, |id| {
            let seen = state.seen.entry(id).or_default();
            *seen += 1;
            *seen - 1
        });
        let headers = &request.headers;
        let arrival = Arrival { id, attempt, path, headers, body: &body, earlier_count };
        let answer = state.behaviour.answer(&arrival, &mut state.dice);
        let noted = Request {
            id,
            attempt,
            path: path.to_owned(),
            at,
            wall_clock_at,
            status: answer.status,
            delay: answer.delay,
            body: if self.keep.body { body } else { Bytes::new() },
            headers: if self.keep.headers { headers.clone() } else { HeaderMap::new() },
        };
        if let (true, Some(id)) = (noted.is_accepted(), id) {
            state.accepted.insert(id);
        }
        state.requests.push(noted);
        // Never less than the number of accepted messages, so it serves for both waits.
        if state.requests.len() >= self.wake_at.load(Ordering::Relaxed) {
            self.wake_at.store(usize::MAX, Ordering::Relaxed);
            self.grown.notify_waiters();
        }
        answer
    }
}

/// Counts a request as in flight while it lives, also when its connection is cut.
struct InFlight<'a>(&'a Shared);

impl<'a> InFlight<'a> {
    fn begin(shared: &'a Shared) -> Self {
        let count = shared.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        shared.in_flight_peak.fetch_max(count, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The receiver's thread: accepts connections while it is up, obeys commands until they end.
async fn run(
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let mut listener = tokio::net::TcpListener::from_std(listener).ok();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Down(answer)) => {
                    listener = None;
                    connections.shutdown().await;
                    let _ = answer.send(Ok(()));
                }
                Some(Command::Up(answer)) => {
                    let bound = match listener {
                        Some(_) => Ok(()),
                        None => bind(address).map(|bound| listener = Some(bound)),
                    };
                    let _ = answer.send(bound);
                }
                None => return,
            },
            stream = accept(listener.as_ref()) => {
                shared.connection_count.fetch_add(1, Ordering::Relaxed);
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Listens at once although connections of before may linger: the socket allows the reuse.
fn bind(address: SocketAddr) -> std::io::Result<tokio::net::TcpListener> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}

/// The next connection; never when the receiver is down.
async fn accept(listener: Option<&tokio::net::TcpListener>) -> tokio::net::TcpStream {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            // A client that gave up already, or no file descriptor left: others come.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn serve(stream: tokio::net::TcpStream, shared: Arc<Shared>) {
    // Small answers must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| respond(request, Arc::clone(&shared)));
    let server = auto::Builder::new(TokioExecutor::new());
    // A connection that breaks is the client's to report.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(request: HttpRequest<Incoming>, shared: Arc<Shared>) -> Result<Response<Flow>> {
    let _in_flight = InFlight::begin(&shared);
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let answer = shared.note(&head, body);
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    if answer.ending == Ending::Cut {
        bail!("the connection is cut");
    }
    let Some(status) = answer.status else { return std::future::pending().await };
    let mut response = Response::new(Flow::new(answer.body, answer.ending));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status lies in 100 to 999");
    for (name, value) in answer.headers {
        let value = value.parse().expect("a scripted header value is printable");
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// The body of an answer, which may have no end.
struct Flow {
    piece: Bytes,
    pause: Option<tokio::time::Interval>,
    is_endless: bool,
    is_over: bool,
}

impl Flow {
    fn new(piece: Bytes, ending: Ending) -> Self {
        let is_endless = matches!(ending, Ending::Endless | Ending::Dripping(_));
        let pause = match ending {
            Ending::Dripping(pause) => Some(tokio::time::interval(pause)),
            _ => None,
        };
        let is_over = piece.is_empty();
        Self { piece, pause, is_endless, is_over }
    }
}

impl Body for Flow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.poll_tick(context));
        }
        self.is_over = !self.is_endless;
        Poll::Ready(Some(Ok(Frame::data(self.piece.clone()))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        match (self.is_endless, self.is_over) {
            (true, _) => SizeHint::default(),
            (false, true) => SizeHint::with_exact(0),
            (false, false) => SizeHint::with_exact(self.piece.len() as u64),
        }
    }
}

fn read_id(headers: &HeaderMap) -> Option<MessageId> {
    let id = headers.get("webhook-id")?.to_str().ok()?.strip_prefix("msg_")?;
    id.parse().ok().map(MessageId)
}

fn read_attempt(headers: &HeaderMap) -> u32 {
    let attempt = headers.get("postrider-attempt").and_then(|value| value.to_str().ok());
    attempt.and_then(|attempt| attempt.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
