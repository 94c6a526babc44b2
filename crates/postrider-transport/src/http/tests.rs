//! The transport against real servers on loopback, good ones and bad ones.

mod auth;
mod kept;
mod proxies;
mod receiver;
mod servers;
mod tls;
mod tokens;
mod trust;

use std::net::SocketAddr;

use bytes::Bytes;
use postrider_testkit::hostile::names::{Answers, NameServer};
use receiver::Receiver;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::*;
use crate::{
    self as transport, SharedOptions,
    names::tests::{Fading, MANY, name_server},
    ticket,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Settings under which loopback may be reached, and nobody is late because the machine stands still for some seconds.
fn settings() -> Settings {
    Settings {
        http_timeout: Duration::from_secs(30),
        http_connect_timeout: Duration::from_secs(20),
        internal_destinations: Arc::new(InternalDestinations::On),
        ..Settings::default()
    }
}

fn impatient() -> Settings {
    Settings { http_timeout: Duration::from_millis(200), ..settings() }
}

fn endpoint(config: Value, settings: Settings) -> Arc<dyn Transport> {
    transport::open("http", &config, &Shared::new(settings)).unwrap()
}

fn envelope(message_id: i64) -> Envelope {
    let payload = Bytes::from_static(b"{ \"n\" :1.50 }");
    Envelope { payload, ..crate::tests::envelope(message_id) }
}

/// A payload, and who sees how long it is kept.
struct Seen {
    bytes: Vec<u8>,
    _by: Arc<()>,
}

impl AsRef<[u8]> for Seen {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

async fn send(endpoint: &Arc<dyn Transport>, envelope: Envelope) -> Report {
    let deadline = Instant::now() + Duration::from_secs(60);
    send_until(endpoint, envelope, deadline).await
}

async fn send_until(endpoint: &Arc<dyn Transport>, message: Envelope, until: Instant) -> Report {
    let mut reports = ticket::reports(endpoint, vec![message], until).await;
    assert_eq!(reports.len(), 1);
    reports.remove(0).1
}

/// Sends one message to an address under `settings`.
async fn send_to(address: SocketAddr, settings: Settings) -> Report {
    let url = format!("http://{address}/");
    send(&endpoint(json!({ "url": url }), settings), envelope(1)).await
}

fn unavailable(seconds: impl Into<Option<u64>>) -> Outcome {
    Outcome::Unavailable { retry_after: seconds.into().map(Duration::from_secs) }
}

/// Checks that the attempt failed for now before a byte was sent, and what it says.
fn check_failure(report: &Report, error: &str) {
    check_no_answer(report, unavailable(None), error);
}

/// Checks that a request was begun and has no answer, and what is said.
fn check_unknown(report: &Report, error: &str) {
    check_no_answer(report, Outcome::Unknown, error);
}

fn check_no_answer(report: &Report, outcome: Outcome, error: &str) {
    assert_eq!((report.outcome, report.status), (outcome, None), "{report:?}");
    assert!(!report.is_answer);
    assert_eq!(report.error.as_deref(), Some(error));
}

#[tokio::test]
async fn a_message_arrives_as_it_is_stored() {
    let mut receiver = Receiver::answering(OK).await;
    let config = json!({
        "url": format!("http://{}/hook?key=1", receiver.address),
        "method": "PUT",
        "headers": { "X-Tenant": "acme", "X-Kept": "1" },
    });
    let message = Envelope {
        attempt: 3,
        correlation_id: Some(Uuid::from_u128(7)),
        headers: Some(r#"{"x-tenant": "globex", "host": "evil", "webhook-id": "forged"}"#.into()),
        ..envelope(42)
    };
    let report = send(&endpoint(config, settings()), message).await;
    assert_eq!((report.outcome, report.status), (Outcome::Accepted, Some(200)));
    assert_eq!(report.error, None);

    let request = receiver.requests.recv().await.unwrap();
    assert_eq!(request.body, b"{ \"n\" :1.50 }");
    let (line, headers) = request.head.split_once("\r\n").unwrap();
    assert_eq!(line, "PUT /hook?key=1 HTTP/1.1");
    let mut headers: Vec<_> = headers.trim_end().split("\r\n").collect();
    headers.sort_unstable();
    let (timestamps, others): (Vec<_>, Vec<_>) =
        headers.into_iter().partition(|line| line.starts_with("webhook-timestamp: "));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let timestamp: u64 = timestamps[0].split_once(": ").unwrap().1.parse().unwrap();
    assert!((now - 60..=now).contains(&timestamp));
    let user_agent = format!("user-agent: {USER_AGENT}");
    let host = format!("host: {}", receiver.address);
    assert_eq!(
        others,
        [
            "content-length: 13",
            "content-type: application/json",
            &host,
            "postrider-attempt: 3",
            "postrider-correlation-id: 00000000-0000-0000-0000-000000000007",
            &user_agent,
            "webhook-id: msg_42",
            "x-kept: 1",
            "x-tenant: globex",
        ]
    );
}

#[tokio::test]
async fn the_status_decides() {
    let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    let cases = [
        ("200 OK", "", Outcome::Accepted),
        ("204 No Content", "", Outcome::Accepted),
        ("299 Fine", "", Outcome::Accepted),
        ("301 Moved Permanently", "location: /elsewhere\r\n", unavailable(None)),
        ("302 Found", "location: http://127.0.0.1:1/\r\n", unavailable(None)),
        ("307 Temporary Redirect", "location: /elsewhere\r\n", unavailable(None)),
        ("400 Bad Request", "", Outcome::Rejected),
        ("401 Unauthorized", "", Outcome::Rejected),
        ("404 Not Found", "retry-after: 3\r\n", Outcome::Rejected),
        ("408 Request Timeout", "", unavailable(None)),
        ("410 Gone", "", Outcome::Gone),
        ("425 Too Early", "", unavailable(None)),
        ("429 Too Many Requests", "", unavailable(None)),
        ("429 Too Many Requests", "Retry-After: 17\r\n", unavailable(17)),
        ("429 Too Many Requests", "retry-after: 1.2\r\n", unavailable(2)),
        ("500 Internal Server Error", "retry-after: 3\r\n", unavailable(None)),
        ("503 Service Unavailable", "retry-after: 0\r\n", unavailable(1)),
        ("503 Service Unavailable", "retry-after: \u{1}\r\n", Outcome::Unknown),
        ("599 Odd", "", unavailable(None)),
        ("600 Odder", "", unavailable(None)),
        ("999 Oddest", "", unavailable(None)),
    ];
    for (status, header, expected) in cases {
        // What hyper cannot read is no answer, and has no status.
        let is_readable = !header.contains('\u{1}');
        let answer = format!("HTTP/1.1 {status}\r\n{header}content-length: 0\r\n\r\n");
        let mut receiver = Receiver::answering(&answer).await;
        let report = send_to(receiver.address, settings()).await;
        assert_eq!(report.outcome, expected, "{status} {header:?}");
        let code: i32 = status[..3].parse().unwrap();
        assert_eq!(report.status, is_readable.then_some(code), "{status} {header:?}");
        assert_eq!(report.error.is_none(), expected == Outcome::Accepted);
        receiver.requests.recv().await.unwrap();
        assert!(receiver.requests.try_recv().is_err(), "{status}: a request was repeated");
    }
    let answer = format!("HTTP/1.1 429 X\r\nretry-after: {later}\r\ncontent-length: 0\r\n\r\n");
    let receiver = Receiver::answering(&answer).await;
    match send_to(receiver.address, settings()).await.outcome {
        Outcome::Unavailable { retry_after: Some(wait) } => {
            assert!((500..=601).contains(&wait.as_secs()), "{wait:?}");
        }
        outcome => panic!("{outcome:?}"),
    }
    let receiver = Receiver::answering("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n").await;
    let error = send_to(receiver.address, settings()).await.error;
    assert_eq!(error.as_deref(), Some("HTTP 302 Found: redirects are not followed"));
}

#[tokio::test]
async fn connections_are_used_again() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let long = format!("HTTP/1.1 500 X\r\ncontent-length: 60000\r\n\r\n{}", "x".repeat(60_000));
    for answer in [OK, chunked, &long, "HTTP/1.1 204 No Content\r\n\r\n"] {
        let receiver = Receiver::answering(answer).await;
        let url = format!("http://{}/", receiver.address);
        let endpoint = endpoint(json!({ "url": url }), settings());
        for message_id in 0..20 {
            assert!(send(&endpoint, envelope(message_id)).await.status.is_some());
        }
        assert_eq!(receiver.connection_count(), 1, "{}", &answer[..20]);
    }
}

#[tokio::test]
async fn a_batch_of_any_length_is_sent_in_order() {
    let mut receiver = Receiver::answering(OK).await;
    let url = format!("http://{}/", receiver.address);
    let endpoint = endpoint(json!({ "url": url }), settings());
    assert_eq!(endpoint.batch_limit(), 1);
    let batch = (1..=3).map(envelope).collect();
    let until = Instant::now() + Duration::from_secs(60);
    let reports = ticket::reports(&endpoint, batch, until).await;
    let reported: Vec<i64> = reports.iter().map(|(id, _)| *id).collect();
    assert_eq!(reported, [1, 2, 3]);
    for message_id in 1..=3 {
        let head = receiver.requests.recv().await.unwrap().head;
        assert!(head.contains(&format!("webhook-id: msg_{message_id}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_rejected() {
    let mut receiver = Receiver::answering(OK).await;
    let url = format!("http://{}/", receiver.address);
    let endpoint = endpoint(json!({ "url": url }), settings());
    let headers = Some(r#"{"x-a": "1\r\nx-evil: 1"}"#.into());
    let report = send(&endpoint, Envelope { headers, ..envelope(1) }).await;
    assert_eq!((report.outcome, report.status), (Outcome::Rejected, None));
    let error = "the message cannot be sent: header `x-a` must not contain control characters";
    assert_eq!(report.error.as_deref(), Some(error));
    assert!(receiver.requests.try_recv().is_err());
}

#[tokio::test]
async fn a_destination_without_an_answer_times_out() {
    let error = "timeout: no answer within 0.2 s";
    let silent = Receiver::scripted(|mut stream| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    check_unknown(&send_to(silent.address, impatient()).await, error);

    // One byte of a header at a time, for ever.
    let dripping = Receiver::scripted(|mut stream| async move {
        receiver::read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx-a: ").await;
        drip(&mut stream).await;
    })
    .await;
    check_unknown(&send_to(dripping.address, impatient()).await, error);
}

/// Writes a byte now and then until the other side has gone.
async fn drip(stream: &mut TcpStream) {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    while stream.write_all(b"a").await.is_ok() {
        ticks.tick().await;
    }
}

#[tokio::test]
async fn a_body_cannot_hold_an_attempt_whose_status_is_known() {
    let drips = |mut stream: TcpStream| async move {
        receiver::read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        drip(&mut stream).await;
    };
    let floods = |mut stream: TcpStream| async move {
        receiver::read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'a'; 8_192]).await.is_ok() {}
    };
    let promises = |mut stream: TcpStream| async move {
        receiver::read_request(&mut stream).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
        let _ = stream.write_all(head).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    };
    let cuts = |mut stream: TcpStream| async move {
        receiver::read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
    };
    for mut receiver in [
        Receiver::scripted(drips).await,
        Receiver::scripted(floods).await,
        Receiver::scripted(promises).await,
        Receiver::scripted(cuts).await,
    ] {
        let started_at = Instant::now();
        let report = send_to(receiver.address, settings()).await;
        assert_eq!((report.outcome, report.status), (Outcome::Accepted, Some(200)));
        assert!(started_at.elapsed() < settings().http_timeout);
        // The script ends when the connection is given up.
        receiver.ended.recv().await.unwrap();
    }
}

#[tokio::test]
async fn an_error_says_what_failed() {
    let closes = Receiver::scripted(|mut stream| async move {
        receiver::read_request(&mut stream).await;
    })
    .await;
    let report = send_to(closes.address, settings()).await;
    check_unknown(&report, "the connection was closed before the answer was complete");

    let resets = Receiver::scripted(|mut stream| async move {
        receiver::read_request(&mut stream).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    check_unknown(&send_to(resets.address, settings()).await, "connection reset");

    let babbles = Receiver::answering("220 smtp.example.com ESMTP\r\n\r\n").await;
    let report = send_to(babbles.address, settings()).await;
    check_unknown(&report, "protocol error: invalid HTTP version parsed");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refuses = listener.local_addr().unwrap();
    drop(listener);
    check_failure(&send_to(refuses, settings()).await, "connection refused");

    // A label of more than 63 letters is refused by the resolver itself, without a name server.
    let url = format!("http://{}.example/?token=secret", "a".repeat(64));
    let report = send(&endpoint(json!({ "url": url }), settings()), envelope(1)).await;
    check_failure(&report, "DNS failure: the host name could not be resolved");
}

#[tokio::test]
async fn informational_answers_are_let_pass_but_not_for_ever() {
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(32);
    let polite = Receiver::answering(&format!("{hints}{OK}")).await;
    let report = send_to(polite.address, settings()).await;
    assert_eq!((report.outcome, report.status), (Outcome::Accepted, Some(200)), "{report:?}");

    for status in ["100 Continue", "102 Processing", "103 Early Hints"] {
        let head = format!("HTTP/1.1 {status}\r\n\r\n").repeat(1_000);
        let mut floods = Receiver::scripted(move |mut stream| {
            let head = head.clone();
            async move {
                receiver::read_request(&mut stream).await;
                while stream.write_all(head.as_bytes()).await.is_ok() {}
            }
        })
        .await;
        let report = send_to(floods.address, settings()).await;
        check_unknown(&report, "protocol error: more than 32 informational answers");
        floods.ended.recv().await.unwrap();
    }
}

#[tokio::test]
async fn an_attempt_ends_when_its_time_is_over() {
    let mut silent = Receiver::scripted(|mut stream| async move {
        receiver::read_request(&mut stream).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let url = format!("http://{}/", silent.address);
    let endpoint = endpoint(json!({ "url": url }), settings());
    let deadline = Instant::now() + Duration::from_secs(1);
    let report = send_until(&endpoint, envelope(1), deadline).await;
    check_unknown(&report, "no answer within the longest time of an attempt");
    silent.ended.recv().await.unwrap();

    let report = send_until(&endpoint, envelope(2), Instant::now()).await;
    check_no_answer(&report, Outcome::NotSent, "not sent: its time was over before");
    assert_eq!(silent.connection_count(), 1);
}

#[tokio::test]
async fn settings_are_followed_at_once_and_an_own_timeout_goes_before() {
    let silent = Receiver::scripted(|mut stream| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let shared = Shared::new(Settings { http_timeout: Duration::from_secs(300), ..settings() });
    let url = format!("http://{}/", silent.address);
    let patient = transport::open("http", &json!({ "url": url }), &shared).unwrap();
    shared.apply(impatient());
    check_unknown(&send(&patient, envelope(1)).await, "timeout: no answer within 0.2 s");

    let own = json!({ "url": url, "timeout_seconds": 1 });
    let own = transport::open("http", &own, &shared).unwrap();
    check_unknown(&send(&own, envelope(1)).await, "timeout: no answer within 1 s");
}

/// Sends to a URL on the receiver's port and returns the error, if there is one.
async fn error_at(shared: &Arc<Shared>, host: &str, port: u16) -> Option<String> {
    let url = format!("http://{host}:{port}/?token=secret");
    let endpoint = transport::open("http", &json!({ "url": url }), shared).unwrap();
    let report = send(&endpoint, envelope(1)).await;
    assert_eq!(report.error.is_none(), report.outcome == Outcome::Accepted);
    assert!(matches!(
        report.outcome,
        Outcome::Accepted | Outcome::Unavailable { .. } | Outcome::Unknown
    ));
    report.error
}

fn allowing(setting: &str) -> Settings {
    Settings { internal_destinations: Arc::new(setting.parse().unwrap()), ..settings() }
}

#[tokio::test]
async fn internal_destinations_are_refused_however_they_are_written() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let internal = Some("the destination's address is internal; see allow_internal_destinations");
    let hosts = [
        "127.0.0.1",
        "127.0.0.1.",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "[2a00:1450::5efe:127.0.0.1]",
        "[2002:101:101::5efe:127.0.0.1]",
        "169.254.169.254",
        "168.63.129.16",
        "localhost",
        "LOCALHOST",
    ];
    let shared = Shared::new(allowing("off"));
    for host in hosts {
        assert_eq!(error_at(&shared, host, port).await.as_deref(), internal, "{host}");
    }
    // Not every system knows this name; where it is known it leads to the same address.
    assert!(error_at(&shared, "localhost.", port).await.is_some());
    assert_eq!(receiver.connection_count(), 0);

    for setting in ["on", "10.0.0.0/8, 127.0.0.0/8"] {
        shared.apply(allowing(setting));
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f000001", "2130706433"] {
            assert_eq!(error_at(&shared, host, port).await, None, "{host} with {setting}");
        }
    }
    shared.apply(allowing("10.0.0.0/8, 127.0.0.2/32"));
    assert_eq!(error_at(&shared, "127.0.0.1", port).await.as_deref(), internal);
    let bound = SharedOptions {
        internal_destinations: "10.0.0.0/8".parse().unwrap(),
        ..SharedOptions::default()
    };
    let shared = Shared::with_options(allowing("on"), bound);
    assert_eq!(error_at(&shared, "127.0.0.1", port).await.as_deref(), internal);
}

#[tokio::test]
async fn a_connection_is_not_used_again_once_its_destination_is_forbidden() {
    let receiver = Receiver::answering(OK).await;
    let url = format!("http://{}/", receiver.address);
    let shared = Shared::new(allowing("on"));
    let endpoint = transport::open("http", &json!({ "url": url }), &shared).unwrap();
    for (setting, is_allowed, connection_count) in [
        ("on", true, 1),
        ("on", true, 1),
        ("off", false, 1),
        ("127.0.0.1/32", true, 2),
        ("127.0.0.1/32", true, 2),
        ("10.0.0.0/8", false, 2),
    ] {
        shared.apply(allowing(setting));
        let report = send(&endpoint, envelope(1)).await;
        assert_eq!(report.outcome == Outcome::Accepted, is_allowed, "{setting}: {report:?}");
        assert_eq!(receiver.connection_count(), connection_count, "{setting}");
    }
}

fn asking(server: &NameServer, setting: &str) -> Arc<Shared> {
    let options = SharedOptions { name_servers: vec![server.address], ..SharedOptions::default() };
    Shared::with_options(allowing(setting), options)
}

#[tokio::test]
async fn of_mixed_answers_only_allowed_addresses_are_used_and_none_is_told() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let other = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let server = name_server().await;
    let error = error_at(&asking(&server, "127.0.0.1/32"), "two.example", port).await;
    assert_eq!(error, None);
    assert_eq!(receiver.connection_count(), 1);
    let error = error_at(&asking(&server, "off"), "two.example", port).await.unwrap();
    assert_eq!(error, "the destination's address is internal; see allow_internal_destinations");
    assert!(futures_util::FutureExt::now_or_never(other.accept()).is_none());
}

#[tokio::test]
async fn a_name_that_changes_its_mind_gains_nothing() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let server =
        NameServer::start(|_| Answers::Changing(&[[127, 0, 0, 1], [127, 0, 0, 2]])).await.unwrap();
    let shared = asking(&server, "127.0.0.1/32");
    assert_eq!(error_at(&shared, "changing.example", port).await, None);
    let error = error_at(&shared, "changing.example", port).await.unwrap();
    assert!(error.contains("is internal"), "{error}");
    let error = error_at(&asking(&name_server().await, "on"), "none.example", port).await;
    assert_eq!(error.as_deref(), Some("DNS failure: the host name could not be resolved"));
}

/// Each attempt takes a look-up: nobody may keep an answer, and the receiver closes each connection.
#[tokio::test]
async fn slow_name_servers_of_many_endpoints_fail_no_attempt_of_another() {
    let closing = OK.replace("content-length", "connection: close\r\ncontent-length");
    let receiver = Receiver::answering(&closing).await;
    let port = receiver.address.port();
    let fading = Fading::start().await;
    let shared = asking(&fading.server, "on");
    let open = |name: &str, connect_timeout: u32| {
        let url = format!("http://{name}.example:{port}/");
        let config = json!({ "url": url, "connect_timeout_seconds": connect_timeout });
        transport::open("http", &config, &shared).unwrap()
    };
    // A look-up that hangs is given up after 15 s.
    let good = open("good", 10);
    assert_eq!(send(&good, envelope(1)).await.outcome, Outcome::Accepted);
    let slow: Vec<_> = (0..MANY).map(|number| open(&format!("slow-{number}"), 60)).collect();
    let send_all = |id: i64| -> JoinSet<Report> {
        let attempt = |endpoint: &Arc<dyn Transport>| {
            let endpoint = Arc::clone(endpoint);
            async move { send(&endpoint, envelope(id)).await }
        };
        slow.iter().map(attempt).collect()
    };
    let reports = send_all(1).join_all().await;
    assert!(reports.iter().all(|report| report.outcome == Outcome::Accepted), "{reports:?}");

    fading.fall_silent();
    let mut hanging = send_all(2);
    fading.wait_for_unanswered("slow", MANY).await;
    for id in 2..5 {
        let report = send(&good, envelope(id)).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    }
    assert!(hanging.try_join_next().is_none(), "those without an answer are still waited for");
    assert_eq!(receiver.connection_count(), MANY + 4);
}

#[tokio::test]
async fn connections_that_nobody_uses_are_bounded_over_all_endpoints() {
    let mut receiver = Receiver::answering(OK).await;
    let url = format!("http://{}/", receiver.address);
    let options = SharedOptions { idle_max: 8, ..SharedOptions::default() };
    let shared = Shared::with_options(settings(), options);
    let endpoints: Vec<_> = (0..24)
        .map(|_| transport::open("http", &json!({ "url": url }), &shared).unwrap())
        .collect();
    for endpoint in &endpoints {
        assert_eq!(send(endpoint, envelope(1)).await.outcome, Outcome::Accepted);
    }
    for _ in 0..16 {
        receiver.ended.recv().await.unwrap();
    }
    assert_eq!(receiver.connection_count(), 24);
    // The last ones used have theirs still, the first ones make another.
    for (endpoint, connection_count) in [(&endpoints[23], 24), (&endpoints[0], 25)] {
        assert_eq!(send(endpoint, envelope(2)).await.outcome, Outcome::Accepted);
        assert_eq!(receiver.connection_count(), connection_count);
    }
}

#[tokio::test]
async fn secrets_are_not_sent_in_the_clear_and_requests_only_to_web_servers() {
    let receiver = Receiver::answering(OK).await;
    let shared = Shared::new(settings());
    let error = async |config: Value| {
        let endpoint = transport::open("http", &config, &shared).unwrap();
        send(&endpoint, envelope(1)).await.error
    };
    let secret = json!({ "authorization": "Bearer t" });
    for host in ["1.1.1.1", "0x01010101", "[2606:4700:4700::1111]"] {
        let url = format!("http://{host}/");
        assert_eq!(
            error(json!({ "url": url, "headers": secret })).await.as_deref(),
            Some("secret headers are sent over plain http to private addresses only: use https")
        );
    }
    let url = format!("http://{}/", receiver.address);
    assert_eq!(error(json!({ "url": url, "headers": secret })).await, None);

    for port in [25, 5432, 6379, 27017] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://127.0.0.1:{port}/");
            let expected = format!("port {port} is not for web traffic; see allow_any_port");
            assert_eq!(error(json!({ "url": url })).await, Some(expected));
        }
    }
    shared.apply(Settings { allows_any_port: true, ..settings() });
    assert_eq!(
        error(json!({ "url": "http://127.0.0.1:1/" })).await.as_deref(),
        Some("connection refused")
    );
}

/// What SQL cannot judge: a name leads where its server says.
#[tokio::test]
async fn secrets_go_in_the_clear_to_names_of_private_addresses_only() {
    let plain = "secret headers are sent over plain http to private addresses only: use https";
    let receiver = Receiver::answering(OK).await;
    let answer = |name: &str| match name {
        name if name.starts_with("public") => Answers::Addresses(&[[192, 0, 2, 1]]),
        name if name.starts_with("mixed") => Answers::Addresses(&[[192, 0, 2, 1], [127, 0, 0, 1]]),
        _ => Answers::Addresses(&[[127, 0, 0, 1]]),
    };
    let server = NameServer::start(answer).await.unwrap();
    let shared = asking(&server, "on");
    let error = async |shared: &Arc<Shared>, config: &Value| {
        let endpoint = transport::open("http", config, shared).unwrap();
        send(&endpoint, envelope(1)).await.error
    };
    let secret = json!({ "authorization": "Bearer t" });
    let private = format!("http://{}/", receiver.address);
    let proxy = json!({ "url": "http://public.example:3128", "username": "me", "password": "p" });
    let oauth2 = json!({
        "type": "oauth2", "token_url": "http://public.example/token", "client_id": "me",
        "client_secret": "hush"
    });
    for config in [
        json!({ "url": "http://public.example/", "headers": secret }),
        json!({ "url": "http://public.example/", "auth": { "type": "bearer", "token": "t" } }),
        json!({ "url": "https://192.0.2.2/", "proxy": proxy }),
        json!({ "url": private, "auth": oauth2 }),
    ] {
        let error = error(&shared, &config).await.unwrap();
        assert!(error.ends_with(plain), "{config}: {error}");
    }
    // It is the secret that is refused, not the name.
    let options = SharedOptions { name_servers: vec![server.address], ..SharedOptions::default() };
    let connect = Settings { http_connect_timeout: Duration::from_millis(300), ..settings() };
    let impatient = Shared::with_options(connect, options);
    let without = error(&impatient, &json!({ "url": "http://public.example/" })).await.unwrap();
    assert_ne!(without, plain);
    assert_eq!(receiver.connection_count(), 0);

    // Of several addresses those are left that may read it.
    let port = receiver.address.port();
    for (host, connection_count) in [("private.example", 1), ("mixed.example", 2)] {
        let config = json!({ "url": format!("http://{host}:{port}/"), "headers": secret });
        assert_eq!(error(&shared, &config).await, None, "{host}");
        assert_eq!(receiver.connection_count(), connection_count, "{host}");
    }
}

#[test]
fn the_kit_starts_no_receiver_where_none_may_be() {
    assert!(postrider_testkit::port::RANGE.into_iter().all(postrider_core::networks::is_web_port));
}
