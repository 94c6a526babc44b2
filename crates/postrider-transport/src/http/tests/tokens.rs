//! Tokens: fetched once for all, renewed when they end, and never waited for longer than there is time.

use std::sync::atomic::AtomicUsize;

use futures_util::future::join_all;
use postrider_testkit::hostile::{Expected, Frame, Hostiles, Kind, Step, Stream, Wire};
use receiver::{Received, read_request};

use super::*;

/// A server that answers each request by a function of it and its number, from 1.
async fn answering(
    answer: impl Fn(&Received, usize) -> String + Send + Sync + 'static,
) -> (Receiver, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, answer) = (Arc::clone(&count), Arc::new(answer));
    let script = move |mut stream: TcpStream| {
        let (counter, answer) = (Arc::clone(&counter), Arc::clone(&answer));
        async move {
            while let Some(request) = read_request(&mut stream).await {
                let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
                let answer = answer(&request, number);
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    };
    (Receiver::scripted(script).await, count)
}

fn json_answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn token(number: usize) -> String {
    json_answer("200 OK", &format!("{{\"access_token\":\"t{number}\",\"expires_in\":3600}}"))
}

const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";

/// Takes what has this token.
fn taking(token: &'static str) -> impl Fn(&Received, usize) -> String {
    move |request, _| {
        let is_good = request.head.contains(&format!("authorization: Bearer {token}\r\n"));
        if is_good { OK } else { UNAUTHORIZED }.to_owned()
    }
}

fn config(receiver: SocketAddr, tokens: SocketAddr) -> Value {
    json!({
        "url": format!("http://{receiver}/"),
        "auth": {
            "type": "oauth2", "token_url": format!("http://{tokens}/token"), "client_id": "me",
            "client_secret": "hush", "scopes": ["a", "b"]
        }
    })
}

async fn send_all(endpoint: &Arc<dyn Transport>, count: i64) -> Vec<Report> {
    join_all((1..=count).map(|id| send(endpoint, envelope(id)))).await
}

#[tokio::test]
async fn a_token_is_fetched_once_for_all_and_used_again() {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noting = Arc::clone(&asked);
    let (tokens, token_count) = answering(move |request, number| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        noting.lock().unwrap().push(format!("{}{body}", request.head));
        token(number)
    })
    .await;
    let (receiver, request_count) = answering(taking("t1")).await;
    let endpoint = endpoint(config(receiver.address, tokens.address), settings());
    for _ in 0..2 {
        for report in send_all(&endpoint, 20).await {
            assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
        }
    }
    assert_eq!(token_count.load(Ordering::SeqCst), 1);
    assert_eq!(request_count.load(Ordering::SeqCst), 40);
    let asked = asked.lock().unwrap().join("");
    assert!(asked.starts_with("POST /token HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: Basic bWU6aHVzaA==\r\n"), "{asked}");
    assert!(asked.contains("content-type: application/x-www-form-urlencoded\r\n"), "{asked}");
    assert!(asked.ends_with("grant_type=client_credentials&scope=a%20b"), "{asked}");
}

#[tokio::test]
async fn a_token_that_ends_early_is_renewed_once_and_no_message_is_lost() {
    let (tokens, token_count) = answering(|_, number| token(number)).await;
    // The first token is good for three requests.
    let first = AtomicUsize::new(0);
    let (receiver, request_count) = answering(move |request, _| {
        let is_first = request.head.contains("Bearer t1\r\n");
        if is_first && first.fetch_add(1, Ordering::SeqCst) >= 3 { UNAUTHORIZED } else { OK }
            .to_owned()
    })
    .await;
    let endpoint = endpoint(config(receiver.address, tokens.address), settings());
    for report in send_all(&endpoint, 20).await {
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    }
    assert_eq!(token_count.load(Ordering::SeqCst), 2);
    assert!(request_count.load(Ordering::SeqCst) <= 37);
}

#[tokio::test]
async fn a_second_401_is_the_receivers_answer() {
    let (tokens, token_count) = answering(|_, number| token(number)).await;
    let (receiver, request_count) = answering(taking("other")).await;
    let endpoint = endpoint(config(receiver.address, tokens.address), settings());
    for (count, requests) in [(1, 2), (2, 3), (3, 4)] {
        let report = send(&endpoint, envelope(count)).await;
        assert_eq!((report.outcome, report.status), (Outcome::Rejected, Some(401)));
        assert_eq!(report.error.as_deref(), Some("HTTP 401 Unauthorized"));
        // One renewal shows that it is not the token: there is none for each message.
        assert_eq!(token_count.load(Ordering::SeqCst), 2);
        assert_eq!(request_count.load(Ordering::SeqCst), requests);
    }
}

/// What there is to say of a token endpoint that gives none.
async fn check_failure_of(tokens: SocketAddr, settings: Settings, expected: &str) {
    let (receiver, request_count) = answering(taking("t1")).await;
    let endpoint = endpoint(config(receiver.address, tokens), settings);
    let report = send(&endpoint, envelope(1)).await;
    assert_eq!(report.outcome, unavailable(None), "{report:?}");
    assert!(!report.is_answer);
    let expected = format!("no token from the token endpoint: {expected}");
    assert_eq!(report.error, Some(expected));
    assert_eq!(request_count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_token_endpoint_that_gives_none_is_tried_again_later() {
    let refusing = |_: &Received, _| {
        json_answer(
            "401 Unauthorized",
            r#"{"error":"invalid_client","error_description":"hush is wrong"}"#,
        )
    };
    let (tokens, token_count) = answering(refusing).await;
    check_failure_of(tokens.address, settings(), "HTTP 401 (invalid_client)").await;
    assert_eq!(token_count.load(Ordering::SeqCst), 1);

    let elsewhere = |_: &Received, number| {
        let good = token(number).replace("HTTP/1.1 200 OK\r\n", "");
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: /other\r\n{good}")
    };
    let (tokens, token_count) = answering(elsewhere).await;
    check_failure_of(tokens.address, settings(), "HTTP 307").await;
    assert_eq!(token_count.load(Ordering::SeqCst), 1);

    let (tokens, _) = answering(|_, _| json_answer("200 OK", &"x".repeat(100_000))).await;
    let expected = "HTTP 200 with a body that is too long or was cut off";
    check_failure_of(tokens.address, settings(), expected).await;

    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let any_port = Settings { allows_any_port: true, ..settings() };
    check_failure_of(nobody, any_port, "connection refused").await;
}

#[tokio::test]
async fn after_a_failure_nobody_asks_again_at_once() {
    let (tokens, token_count) =
        answering(|_, _| json_answer("503 Service Unavailable", "{}")).await;
    let (receiver, _) = answering(taking("t1")).await;
    let endpoint = endpoint(config(receiver.address, tokens.address), settings());
    let started_at = Instant::now();
    let mut outcomes: Vec<_> =
        send_all(&endpoint, 50).await.into_iter().map(|report| report.outcome).collect();
    // One after the other: these wait for no fetch together.
    for id in 51..=70 {
        outcomes.push(send(&endpoint, envelope(id)).await.outcome);
    }
    let seconds = started_at.elapsed().as_secs() as usize;
    let count = token_count.load(Ordering::SeqCst);
    assert!(count <= 1 + seconds);
    // A failure is told by whoever asked, and by nobody else.
    let told = outcomes.iter().filter(|outcome| **outcome == unavailable(None)).count();
    let others = outcomes.iter().filter(|outcome| **outcome == Outcome::NotSent).count();
    assert_eq!((told, others), (count, 70 - count));
}

#[tokio::test]
async fn a_token_that_was_waited_for_is_used_whatever_its_life() {
    let ended = |_: &Received, number| token(number).replace("3600}", "   0}");
    let (tokens, token_count) = answering(ended).await;
    let (receiver, _) = answering(|_, _| OK.to_owned()).await;
    let endpoint = endpoint(config(receiver.address, tokens.address), settings());
    for id in 1..=3 {
        let report = send(&endpoint, envelope(id)).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
        assert_eq!(token_count.load(Ordering::SeqCst), id as usize);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_token_beyond_its_time() {
    let silent = Receiver::scripted(|stream: TcpStream| async move {
        let _stream = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let (receiver, _) = answering(taking("t1")).await;
    let endpoint = endpoint(config(receiver.address, silent.address), settings());
    let (started_at, patience) = (Instant::now(), Duration::from_millis(300));
    let report = send_until(&endpoint, envelope(1), started_at + patience).await;
    assert_eq!(report.outcome, unavailable(None));
    assert_eq!(
        report.error.as_deref(),
        Some("no token from the token endpoint: timeout: it came too late")
    );
    assert!(started_at.elapsed() < settings().http_timeout, "by its own limit");

    let quick = Settings { http_connect_timeout: Duration::from_millis(100), ..impatient() };
    let expected = "timeout: no answer within 0.3 s";
    let config = config(receiver.address, silent.address);
    let report = send(&super::endpoint(config, quick), envelope(1)).await;
    let error = report.error.unwrap();
    assert!(error.ends_with(expected) || error.ends_with("it came too late"), "{error}");
}

#[tokio::test]
async fn the_guard_stands_before_the_token_endpoint() {
    let (receiver, request_count) = answering(taking("t1")).await;
    let tokens = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let only = |networks: &str| Settings {
        internal_destinations: Arc::new(networks.parse().unwrap()),
        ..settings()
    };
    let config = config(receiver.address, tokens.local_addr().unwrap());
    let report = send(&endpoint(config.clone(), only("127.0.0.1/32")), envelope(1)).await;
    let internal = "no token from the token endpoint: the destination's address is internal; \
                    see allow_internal_destinations";
    assert_eq!(report.error.as_deref(), Some(internal));

    let mut plain = config;
    plain["auth"]["token_url"] = "http://192.0.2.1/token".into();
    let report = send(&endpoint(plain, settings()), envelope(1)).await;
    let error = report.error.unwrap();
    assert!(error.ends_with("over plain http to private addresses only: use https"), "{error}");
    assert_eq!(request_count.load(Ordering::SeqCst), 0);
}

/// Settings of HTTP/2: nothing of a body may be sent; no request may be begun.
const NO_WINDOW: Frame =
    Frame { kind: 4, flags: 0, stream: Stream::Connection, payload: b"\0\x04\0\0\0\0" };
const NO_STREAMS: Frame =
    Frame { kind: 4, flags: 0, stream: Stream::Connection, payload: b"\0\x03\0\0\0\0" };
/// `:status: 200`, and a token that has ended already: each message asks for another.
const GIVEN: [Frame; 2] = [
    Frame { kind: 1, flags: 4, stream: Stream::Request, payload: b"\x88" },
    Frame {
        kind: 0,
        flags: 1,
        stream: Stream::Request,
        payload: br#"{"access_token":"t","expires_in":0}"#,
    },
];

const ANSWERS: &[Step] =
    &[Step::Greet(&[NO_WINDOW]), Step::Request, Step::Frames(&GIVEN), Step::Wait];
const SILENCE: &[Step] = &[Step::Greet(&[NO_STREAMS]), Step::Wait];

#[tokio::test]
async fn a_token_endpoint_that_takes_no_questions_keeps_no_connection() {
    const COUNT: i64 = 20;
    let kind = |name: &'static str, script: &'static [Step]| Kind {
        name,
        wire: Wire::Http2,
        script,
        expected: Expected::Accepted,
        answers: None,
        payload_length: 0,
        is_once: false,
    };
    let kinds = [kind("answers and takes nothing", ANSWERS), kind("takes no streams", SILENCE)];
    let hostiles = Hostiles::start(&kinds).unwrap();
    let (receiver, _) = answering(|_, _| OK.to_owned()).await;
    let from = |index: usize| {
        let mut config = config(receiver.address, receiver.address);
        config["auth"]["token_url"] = hostiles.url(index, &kinds[index], 0).into();
        config
    };
    let shared = kept::trusting(&hostiles, settings());
    let giving = transport::open("http", &from(0), &shared).unwrap();
    for id in 1..=COUNT {
        let report = send(&giving, envelope(id)).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    }
    assert_eq!(hostiles.connection_count(0), COUNT as usize, "a connection for each question");

    let mut impatient_config = from(1);
    impatient_config["connect_timeout_seconds"] = 5.into();
    let shared = kept::trusting(&hostiles, impatient());
    let silent = transport::open("http", &impatient_config, &shared).unwrap();
    let report = send(&silent, envelope(1)).await;
    assert_eq!(report.outcome, unavailable(None), "{report:?}");
    assert_eq!(hostiles.connection_count(1), 1);
    kept::wait_for_the_end(&hostiles, &kinds).await;
}
