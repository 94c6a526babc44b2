//! `http`: each message is one HTTP request, each answer an outcome.
//!
//! The answer's status decides; its body is read so that the connection can be used again, and kept
//! only where responses are captured, within limits of size and time. Redirects are not followed. A request is sent once; it is
//! repeated within an attempt only if its connection turned out to be closed before a byte of it
//! was written. Status codes are understood in the core (`classify`), headers are put together
//! there (`render`), and internal destinations are refused by the [`guard`](super::guard).

mod answer;
mod auth;
mod body;
mod client_key;
mod dial;
mod egress;
mod failure;
mod frames;
mod proxy;
mod request;
mod tls;
mod token;

use std::{
    pin::pin,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use body::{Payload, Unsent};
use bytes::Bytes;
use dial::{Dial, Route};
use frames::Switch;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{AUTHORIZATION, RETRY_AFTER},
    uri::Scheme,
};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error, ResponseFuture, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use postrider_core::{
    auth::{
        Auth, Unproven,
        oauth::{Refusal, Token},
    },
    classify::classify,
    flow::Flow,
    networks::InternalDestinations,
    outcome::{Outcome, Report},
    render::{self, HEADERS_MAX},
    request::{RequestError, RequestTemplate},
    response::{Response as Captured, kept_headers},
    signing,
};
use token::TokenSource;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::{
    Attempts, ConfigError, ConfigOption, DefaultValue, Envelope, OptionKind, Preview, Protocol,
    Settings, Shared, Ticket, Transport,
    config::Checked,
    flow::{self, with_flow},
    guard::Rule,
    idle::Counted,
};

/// The longest time that reading an answer's body may take once its status is known.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection is kept that nobody uses.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// How often, while requests wait, an HTTP/2 connection must show that it lives. Without it a
/// connection that was cut without a word would take every request until the kernel gives it up.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How many informational answers (1xx) may come before the answer.
const INFORMATIONAL_MAX: u32 = 32;
/// The longest head of an answer, in bytes.
const HEAD_MAX: usize = 64 * 1024;
/// How much of bodies may come over HTTP/2 before we ask for more, of a request and of all on a connection, in bytes.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// What a message is unless somebody says otherwise.
const CONTENT_TYPE: &str = "application/json";
/// What a preview shows of a secret.
const MASK: &str = "…";
const USER_AGENT: &str = concat!("Postrider/", env!("CARGO_PKG_VERSION"));

const CONCURRENCY: i64 = 64;
const CONCURRENCY_MAX: i64 = 1_024;
const TIMEOUT: OptionKind = OptionKind::Integer { min: 1, max: 300 };

/// The entry of the list of protocols.
pub const PROTOCOL: Protocol = Protocol {
    name: "http",
    description: "Sends each message as one HTTP request: a webhook.",
    options: OPTIONS,
    open,
};

/// What the config of an `http` endpoint may hold.
pub const OPTIONS: &[ConfigOption] = &with_flow::<{ OWN.len() + flow::OPTIONS.len() }>(OWN);

const OWN: &[ConfigOption] = &[
    ConfigOption {
        name: "url",
        kind: OptionKind::Url { max: 2_048 },
        required: true,
        default: DefaultValue::None,
        description: "Where messages are sent. Other hosts than those of the public internet are \
                      refused unless the setting allow_internal_destinations allows them.",
        secret: false,
    },
    ConfigOption {
        name: "method",
        kind: OptionKind::OneOf(&["POST", "PUT", "PATCH"]),
        required: false,
        default: DefaultValue::Text("POST"),
        description: "The HTTP method.",
        secret: false,
    },
    ConfigOption {
        name: "headers",
        kind: OptionKind::Headers { max: 64 },
        required: false,
        default: DefaultValue::None,
        description: "Headers of every request. A message's own headers replace those of the same \
                      name. Headers that belong to HTTP or to Postrider cannot be set.",
        // People keep tokens here: `authorization` is the header that is set most.
        secret: true,
    },
    ConfigOption {
        name: "signing_keys",
        kind: OptionKind::SigningKeys { max: signing::KEYS_MAX as i64 },
        required: false,
        default: DefaultValue::None,
        description: "The keys that sign each request, as Standard Webhooks has it. All of them sign, so that \
                      a receiver can change from one to another.",
        secret: true,
    },
    request::SIGNATURE,
    auth::AUTH,
    tls::TLS,
    egress::PROXY,
    egress::SOURCE_ADDRESS,
    request::FORMAT,
    request::URL_TEMPLATE,
    request::HEADER_TEMPLATES,
    ConfigOption {
        name: "timeout_seconds",
        kind: TIMEOUT,
        required: false,
        default: DefaultValue::None,
        description: "How long the answer to a request may take. Default: setting http_timeout.",
        secret: false,
    },
    ConfigOption {
        name: "connect_timeout_seconds",
        kind: TIMEOUT,
        required: false,
        default: DefaultValue::None,
        description: "How long connecting may take: name look-up, TCP and TLS together. Default: \
                      setting http_connect_timeout.",
        secret: false,
    },
    ConfigOption {
        name: "concurrency",
        kind: OptionKind::Integer { min: 1, max: CONCURRENCY_MAX },
        required: false,
        default: DefaultValue::Integer(CONCURRENCY),
        description: "How many requests may be in flight at a time, of all dispatchers together: each has a \
                      share in proportion to what it owns of the log, rounded up.",
        secret: false,
    },
    ConfigOption {
        name: "auto_disable_on_gone",
        kind: OptionKind::Boolean,
        required: false,
        default: DefaultValue::Boolean(false),
        description: "Whether the answer 410 Gone disables the endpoint.",
        secret: false,
    },
    ConfigOption {
        name: "capture_response",
        kind: OptionKind::Boolean,
        required: false,
        default: DefaultValue::None,
        description: "Whether answers are kept with their attempts. Default: setting \
                      capture_response.",
        secret: false,
    },
];

fn open(config: &Checked<'_>, shared: &Arc<Shared>) -> Result<Arc<dyn Transport>, ConfigError> {
    let seconds =
        |name| config.integer(name).map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
    let url = config.text("url").and_then(|url| url.parse().ok());
    let method = config.text("method").and_then(|method| method.parse().ok());
    let template = request::template(config)?;
    let auth = auth::read(config)?;
    let sends_secret = auth.as_ref().is_some_and(|read| read.sends_secret);
    let connect_timeout = seconds("connect_timeout_seconds");
    let (auth, client) = auth.map(|read| (read.auth, read.client)).unzip();
    let route = Route { tls: tls::read(config, shared)?, way: egress::read(config)? };
    let tokens = client
        .flatten()
        .map(|client| TokenSource::new(client, connect_timeout, route.way.clone(), shared));
    Ok(Arc::new(Http {
        url: url.expect("checked, and required"),
        method: method.expect("checked, and has a default"),
        template,
        auth,
        tokens,
        route,
        timeout: seconds("timeout_seconds"),
        connect_timeout,
        flow: flow::read(config),
        is_disabled_when_gone: config.is_set("auto_disable_on_gone"),
        captures_responses: config.boolean("capture_response"),
        has_secrets: sends_secret || config.map("headers").next().is_some(),
        shared: Arc::clone(shared),
        pool: Arc::default(),
    }))
}

/// An endpoint that takes HTTP requests.
struct Http {
    url: Uri,
    method: Method,
    template: RequestTemplate,
    auth: Option<Auth>,
    tokens: Option<Arc<TokenSource>>,
    route: Route,
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    flow: Flow,
    is_disabled_when_gone: bool,
    captures_responses: Option<bool>,
    has_secrets: bool,
    shared: Arc<Shared>,
    pool: Arc<RwLock<Option<Arc<Pool>>>>,
}

/// The connections to one endpoint, all made under the same rules about internal destinations and ports.
struct Pool {
    rule: Arc<InternalDestinations>,
    allows_any_port: bool,
    client: Client<Dial, Payload>,
    counted: Arc<Counted>,
}

impl Transport for Http {
    fn batch_limit(&self) -> usize {
        1
    }

    fn flow(&self) -> Flow {
        self.flow
    }

    fn is_disabled_when_gone(&self) -> bool {
        self.is_disabled_when_gone
    }

    fn needs_metadata(&self) -> bool {
        self.template.needs_metadata()
    }

    fn preview(&self, envelope: Envelope) -> Option<Result<Preview, String>> {
        let rendered = self.render(envelope, &self.shared.settings().cloudevents_source, now());
        Some(rendered.map_err(|error| failure::unsendable_text(&error)).map(
            |(uri, headers, body)| {
                let signature = self.template.signer.header();
                let shown = |(name, value): (&HeaderName, &HeaderValue)| {
                    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    let value = if signature == *name { MASK.to_owned() } else { text };
                    (name.as_str().to_owned(), value)
                };
                let mut headers: Vec<_> = headers.iter().map(shown).collect();
                let mut url = uri.to_string();
                if let Some(auth) = &self.auth {
                    auth.hide(&mut url, &mut headers, MASK);
                }
                headers.sort();
                Preview { method: self.method.to_string(), url, headers, body }
            },
        ))
    }

    fn attempt(self: Arc<Self>, batch: Vec<(Envelope, Ticket)>, deadline: Instant) -> Attempts {
        Box::pin(async move {
            for (envelope, ticket) in batch {
                ticket.report(self.attempt_one(envelope, deadline).await);
            }
        })
    }
}

impl Http {
    /// Sends a message, and once more if its token turns out to have ended: the receiver has not taken it then, and
    /// whether it does with a token that is good is what the attempt is about.
    async fn attempt_one(&self, envelope: Envelope, deadline: Instant) -> Report {
        let started_at = Instant::now();
        if deadline <= started_at {
            return failure::not_sent();
        }
        let Some(tokens) = &self.tokens else { return self.send(envelope, None, deadline).await };
        let mut is_again = false;
        loop {
            let settings = self.shared.settings();
            let patience = self.connect_timeout.unwrap_or(settings.http_connect_timeout)
                + self.timeout.unwrap_or(settings.http_timeout);
            let token = match tokens.token(deadline.min(Instant::now() + patience)).await {
                Ok(token) => token,
                Err(missing) => return failure::no_token(&missing, started_at.elapsed()),
            };
            let mut report = self.send(envelope.clone(), Some(&token), deadline).await;
            let refusal = report.status.and_then(|status| tokens.note(&token, status));
            if refusal != Some(Refusal::Renew) {
                return report;
            }
            if is_again || deadline <= Instant::now() {
                // Another one than the newest was refused: no word about the message.
                report.outcome = Outcome::Unavailable { retry_after: None };
                report.error = Some("HTTP 401 Unauthorized: the token had ended".to_owned());
                return report;
            }
            is_again = true;
        }
    }

    async fn send(&self, envelope: Envelope, token: Option<&Token>, deadline: Instant) -> Report {
        let started_at = Instant::now();
        tracing::trace!(
            stop = "send",
            message_id = envelope.message_id,
            attempt = envelope.attempt
        );
        let settings = self.shared.settings();
        let sent_at = Arc::new(OnceLock::new());
        let (mut request, unsent) = match self.request(envelope, &settings, &sent_at) {
            _ if deadline <= started_at => return failure::not_sent(),
            Ok(made) => made,
            Err(error) => return failure::unsendable(&error),
        };
        if let Some(token) = token {
            request.headers_mut().insert(AUTHORIZATION, token.value.clone());
        }
        let limits = Limits {
            started_at,
            connect_timeout: self.connect_timeout.unwrap_or(settings.http_connect_timeout),
            timeout: self.timeout.unwrap_or(settings.http_timeout),
            deadline,
            sent_at,
            babble: Babble::listen(&mut request),
        };
        let line = capture_connection(&mut request);
        let pool = self.pool(&settings);
        let _in_use = pool.counted.begin();
        let answer = limits.wait(pool.client.request(request)).await;
        let duration = started_at.elapsed();
        match answer {
            Ok(response) => {
                let mut report = report(&response, duration);
                let end = limits.end().min(Instant::now() + BODY_TIMEOUT);
                let switch = response.extensions().get::<Switch>().cloned();
                let untaken = switch.as_ref().and_then(Switch::untaken);
                if self.captures_responses.unwrap_or(settings.captures_responses) {
                    report.response = Some(self.capture(response, &settings, end).await);
                } else {
                    answer::drain(response.into_body(), end).await;
                }
                // What its receiver does not take would be kept, and counted by nobody.
                if let Some(switch) = switch {
                    unsent.or_pull(&switch, untaken, end).await;
                }
                report
            }
            Err(error) => {
                // Closes the connection, or takes the request back on it, unless the receiver prevents that.
                unsent.leave(&line, limits.longest());
                failure::no_answer(error, limits.sent_at.get().is_some(), duration)
            }
        }
    }

    async fn capture(
        &self,
        response: Response<Incoming>,
        settings: &Settings,
        end: Instant,
    ) -> Box<Captured> {
        let headers = kept_headers(response.headers());
        let room = self.shared.captured();
        let (body, is_truncated) =
            answer::keep(response.into_body(), settings.response_body_max, room, end).await;
        Box::new(Captured { headers, body, is_truncated })
    }

    fn request(
        &self,
        envelope: Envelope,
        settings: &Settings,
        sent_at: &Arc<OnceLock<Instant>>,
    ) -> Result<(Request<Payload>, Unsent), RequestError> {
        let now = now();
        let (mut uri, mut headers, body) =
            self.render(envelope, &settings.cloudevents_source, now)?;
        if let Some(auth) = &self.auth {
            let request = Unproven {
                method: &self.method,
                uri: &mut uri,
                headers: &mut headers,
                body: &body,
            };
            auth.apply(request, now)?;
        }
        let (payload, unsent) = Payload::new(body, Arc::clone(sent_at));
        let mut request = Request::new(payload);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok((request, unsent))
    }

    /// What is sent of a message, but for what proves who sends it: where, with which headers, and which body.
    fn render(
        &self,
        envelope: Envelope,
        source: &str,
        timestamp: i64,
    ) -> Result<(Uri, HeaderMap, Bytes), RequestError> {
        let mut buffer = Uuid::encode_buffer();
        let correlation_id =
            envelope.correlation_id.map(|id| &*id.hyphenated().encode_lower(&mut buffer));
        let rendered = self.template.render(
            &render::Attempt {
                message_id: envelope.message_id,
                number: envelope.attempt,
                timestamp,
                body: &envelope.payload,
                created_at: envelope.created_at,
                expires_at: envelope.expires_at,
                ordering_key: envelope.ordering_key.as_deref(),
                metadata: envelope.metadata.as_deref(),
                correlation_id,
                event_type: envelope.event_type.as_deref(),
                replay_of: envelope.replay_of,
                headers: envelope.headers.as_deref(),
                content_type: envelope.content_type.as_deref(),
            },
            source,
        )?;
        let mut headers = rendered.headers;
        let body = rendered.body.unwrap_or(envelope.payload);
        if body.is_empty() {
            // Without a body nothing else says so, and some servers insist (411).
            headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let uri = match rendered.path {
            None => self.url.clone(),
            // Scheme, host and port are the endpoint's, whatever the message says.
            Some(path) => http::uri::Builder::from(self.url.clone())
                .path_and_query(path)
                .build()
                .expect("a path of percent-encoded values"),
        };
        Ok((uri, headers, body))
    }

    /// The pool, or a new one if the rule about internal destinations or ports has changed: a
    /// connection that the new rule forbids must not be used again.
    fn pool(&self, settings: &Settings) -> Arc<Pool> {
        let rule = &settings.internal_destinations;
        let fits = |pool: &&Arc<Pool>| {
            pool.allows_any_port == settings.allows_any_port
                && (Arc::ptr_eq(&pool.rule, rule) || pool.rule == *rule)
        };
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref().filter(fits) {
            return Arc::clone(pool);
        }
        drop(pool);
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        match pool.as_ref().filter(fits) {
            Some(pool) => Arc::clone(pool),
            None => Arc::clone(pool.insert(Arc::new(self.new_pool(settings)))),
        }
    }

    fn new_pool(&self, settings: &Settings) -> Pool {
        let rule = Arc::clone(&settings.internal_destinations);
        // What is dropped here closes what nobody uses; requests under way keep theirs.
        let slot = Arc::downgrade(&self.pool);
        let close = move || {
            let pool = slot.upgrade();
            drop(pool.and_then(|pool| pool.write().unwrap_or_else(PoisonError::into_inner).take()));
        };
        let counted = self.shared.idle().count(close);
        let has_plain_secrets = self.has_secrets && self.url.scheme() == Some(&Scheme::HTTP);
        let guarded = Rule { allowed: Arc::clone(&rule), has_plain_secrets };
        let dial = Dial::new(
            guarded,
            self.connect_timeout,
            &self.shared,
            Arc::clone(&counted),
            &self.route,
        );
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(self.flow.concurrency)
            .retry_canceled_requests(true)
            .http1_max_buf_size(HEAD_MAX)
            .http1_max_headers(HEADERS_MAX)
            .http2_max_header_list_size(HEAD_MAX as u32)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(dial);
        Pool { rule, allows_any_port: settings.allows_any_port, client, counted }
    }
}

/// Until when an attempt may go on.
struct Limits {
    started_at: Instant,
    connect_timeout: Duration,
    timeout: Duration,
    deadline: Instant,
    /// Set when the connection takes the request.
    sent_at: Arc<OnceLock<Instant>>,
    babble: Arc<Babble>,
}

/// Tells of more informational answers to a request than are good for anything. Where HTTP/2 is spoken, which does
/// not hand them over, [`frames`] counts them.
#[derive(Default)]
struct Babble {
    count: AtomicU32,
    is_too_much: Notify,
}

impl Babble {
    fn listen(request: &mut Request<Payload>) -> Arc<Self> {
        let babble = Arc::new(Self::default());
        let noting = Arc::clone(&babble);
        hyper::ext::on_informational(request, move |_| {
            if noting.count.fetch_add(1, Ordering::Relaxed) == INFORMATIONAL_MAX {
                noting.is_too_much.notify_one();
            }
        });
        babble
    }
}

/// Why an attempt has no answer.
enum NoAnswer {
    Failed(Error),
    Timeout(Duration),
    TimeIsOver,
    Babble,
}

impl Limits {
    /// Waits for the answer.
    ///
    /// The timeout counts from the moment the request is sent: connecting has a limit of its own,
    /// and a request that waits for its turn on a busy HTTP/2 connection has not failed yet.
    async fn wait(&self, answer: ResponseFuture) -> Result<Response<Incoming>, NoAnswer> {
        let mut answer = pin!(answer);
        let mut timer = (self.started_at + self.timeout).min(self.deadline);
        loop {
            let first = async {
                tokio::select! {
                    biased;
                    () = self.babble.is_too_much.notified() => Err(NoAnswer::Babble),
                    answer = &mut answer => answer.map_err(NoAnswer::Failed),
                }
            };
            if let Ok(answer) = timeout_at(timer, first).await {
                return answer;
            }
            let end = self.end();
            if end > timer {
                timer = end;
            } else if end == self.deadline {
                return Err(NoAnswer::TimeIsOver);
            } else {
                return Err(NoAnswer::Timeout(self.timeout));
            }
        }
    }

    /// How long after a request was begun its answer may be read at most.
    fn longest(&self) -> Duration {
        self.connect_timeout + self.timeout + BODY_TIMEOUT
    }

    /// When the attempt is over, by what is known of it now.
    fn end(&self) -> Instant {
        let unsent = || self.started_at + self.connect_timeout;
        let sent_at = self.sent_at.get().copied().unwrap_or_else(unsent);
        (sent_at + self.timeout).min(self.deadline)
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_secs() as i64)
}

fn report(response: &Response<Incoming>, duration: Duration) -> Report {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let outcome = classify(status.as_u16(), retry_after, SystemTime::now());
    Report {
        outcome,
        is_answer: true,
        status: Some(status.as_u16().into()),
        error: (outcome != Outcome::Accepted).then(|| status_error(status)),
        duration,
        response: None,
    }
}

fn status_error(status: StatusCode) -> String {
    let advice = if status.is_redirection() { ": redirects are not followed" } else { "" };
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    format!("HTTP {}{reason}{advice}", status.as_u16())
}

#[cfg(test)]
mod tests;
