//! docs/examples/receivers: each takes what a dispatcher has signed, each message once, and nothing else.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use postrider_testkit::receiver::{Answer, Arrival, Behaviour, Ending, Keep, Receiver, Request};
use postrider_testkit::{port, process, verifiers};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::task::JoinHandle;

use crate::shop::{Shop, serving::LONG};

#[allow(dead_code)]
#[path = "../../../docs/examples/receivers/rust/receive.rs"]
mod rust;

/// The key that signs, and one that receivers know beside it, as during a rotation.
const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const OTHER_KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// One that no receiver knows.
const STRANGE_KEY: &str = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH";

/// How many messages go to each endpoint.
const COUNT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Language {
    Go,
    Java,
    Node,
    Python,
    Ruby,
    Rust,
}

impl Language {
    /// Whether it takes signatures by ed25519, too: libraries of the standard know HMAC only.
    fn knows_pairs(self) -> bool {
        matches!(self, Self::Go | Self::Java | Self::Ruby)
    }

    /// The command that runs the program, compiled where it has to be.
    fn command(self) -> Command {
        let examples = process::workspace().join("docs/examples/receivers");
        let folder = process::target().join("examples/receivers");
        std::fs::create_dir_all(&folder).unwrap();
        match self {
            Self::Python => {
                let python = verifiers::python().unwrap().get_program().to_owned();
                with_arguments(python, [examples.join("python/receive.py")])
            }
            Self::Node => {
                // It looks for packages from where the program lies.
                let command = verifiers::node().unwrap();
                let script = PathBuf::from(command.get_args().next().unwrap());
                let program = script.with_file_name("receive.mjs");
                std::fs::copy(examples.join("node/receive.mjs"), &program).unwrap();
                with_arguments("node".into(), [program])
            }
            Self::Go => {
                let program = folder.join("receive");
                let mut build = Command::new("go");
                build.args(["build", "-o"]).arg(&program).arg(".").current_dir(examples.join("go"));
                build.env("GOCACHE", process::target().join("examples/go-cache"));
                build.env("GOPATH", process::target().join("go")).env("GO111MODULE", "on");
                build.env("GOFLAGS", "").env("GOWORK", "off").env("GOENV", "off");
                run(&mut build);
                Command::new(program)
            }
            Self::Java => {
                let mut compile = Command::new("javac");
                run(compile.arg("-d").arg(&folder).arg(examples.join("java/Receive.java")));
                let options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"];
                let mut command = Command::new("java");
                command.args(options).arg(folder).arg("Receive");
                command
            }
            Self::Ruby => with_arguments("ruby".into(), [examples.join("ruby/receive.rb")]),
            Self::Rust => unreachable!("it is part of the test"),
        }
    }
}

fn with_arguments<const N: usize>(program: std::ffi::OsString, arguments: [PathBuf; N]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a program that says that it listens. Somebody else may take the port before it does: then another one.
fn listening(command: &mut Command) -> (u16, Child, BufReader<ChildStdout>) {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let port = port::find_free().unwrap();
        let mut child = command.env("PORT", port.to_string()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        if first == "listening\n" {
            return (port, child, output);
        }
        let _ = child.kill();
        println!("{command:?} said {first:?} and ended with {:?}", child.wait());
    }
    panic!("{command:?} does not listen");
}

/// A receiver that runs.
struct Program {
    port: u16,
    /// What it has said since it listens.
    lines: Arc<Mutex<Vec<String>>>,
    running: Running,
}

enum Running {
    Process(Child),
    Task(JoinHandle<()>),
}

impl Program {
    async fn start(language: Language, keys: &str, is_gone: bool) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (port, running) = if language == Language::Rust {
            let (work, mut to_do) = tokio::sync::mpsc::channel(1000);
            let receiver = Arc::new(rust::Receiver::new(keys, is_gone, work).unwrap());
            let listener = port::bind_free().unwrap();
            listener.set_nonblocking(true).unwrap();
            let port = listener.local_addr().unwrap().port();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let said = Arc::clone(&lines);
            let serving = tokio::spawn(async move {
                let saying = async {
                    while let Some(line) = to_do.recv().await {
                        said.lock().unwrap().push(line);
                    }
                };
                tokio::join!(receiver.serve(listener), saying);
            });
            (port, Running::Task(serving))
        } else {
            let mut command = language.command();
            command.env("WEBHOOK_KEYS", keys).stdout(Stdio::piped());
            command.env("GONE", if is_gone { "1" } else { "0" }).env("LC_ALL", "C.UTF-8");
            let (port, child, output) = listening(&mut command);
            let said = Arc::clone(&lines);
            std::thread::spawn(move || {
                output
                    .lines()
                    .map_while(Result::ok)
                    .for_each(|line| said.lock().unwrap().push(line));
            });
            (port, Running::Process(child))
        };
        Self { port, lines, running }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hooks", self.port)
    }

    fn post(&self, request: &Sent) -> u16 {
        post(self.port, request)
    }

    /// Waits for so many lines; returns them in order.
    async fn lines(&self, count: usize) -> Vec<String> {
        let began = std::time::Instant::now();
        loop {
            let mut lines = self.lines.lock().unwrap().clone();
            if lines.len() >= count || began.elapsed() > LONG {
                lines.sort();
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        match &mut self.running {
            Running::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Running::Task(task) => task.abort(),
        }
    }
}

/// A request as it can be sent once more, or altered.
#[derive(Clone)]
struct Sent {
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Sent {
    fn new(headers: &HeaderMap, body: &[u8]) -> Self {
        let is_own = |name: &str| name.starts_with("webhook-") || name == "content-type";
        let headers = headers.iter().filter(|(name, _)| is_own(name.as_str()));
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers = headers.map(|(name, value)| (name.to_string(), text(value)));
        Self { headers: headers.collect(), body: body.to_vec() }
    }

    /// Signed now but for these seconds.
    fn signed(key: &str, id: &str, seconds: i64, body: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
        let timestamp = now + seconds;
        let signature = Webhook::new(key).unwrap().sign(id, timestamp, body.as_bytes()).unwrap();
        let headers = [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", signature),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value));
        Self { headers: headers.into(), body: body.into() }
    }

    fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.insert(header.to_owned(), value.to_owned());
        self
    }

    fn without(mut self, header: &str) -> Self {
        self.headers.remove(header).unwrap();
        self
    }

    fn with_body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }
}

/// The status of the answer.
fn post(port: u16, request: &Sent) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let length = request.body.len();
    let mut head = format!(
        "POST /hooks HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {length}\r\n"
    );
    for (name, value) in &request.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // One that takes no more may answer before it has read all.
    let _ = stream.write_all(&[head.as_bytes(), b"\r\n", &request.body].concat());
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    answer.strip_prefix("HTTP/1.1 ").unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

/// Passes requests on to a receiver, and loses its first answer to each message.
fn losing_answers(port: u16) -> Receiver {
    let behaviour = Behaviour::custom(move |arrival: &Arrival<'_>| {
        let status = post(port, &Sent::new(arrival.headers, arrival.body));
        match arrival.earlier_count {
            0 => Answer { status: None, ..Answer::default() }.ending("", Ending::Cut),
            _ => Answer::status(status),
        }
    });
    Receiver::start_with(behaviour, Keep { body: true, headers: true }).unwrap()
}

async fn create(shop: &Shop, name: &str, url: &str, keys: &[&str]) {
    // However slow the machine is, an answer is lost only where the test loses it.
    let config = json!({
        "url": url, "signing_keys": keys, "auto_disable_on_gone": true,
        "timeout_seconds": 120, "connect_timeout_seconds": 120
    });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint(name, config, policy).await;
}

/// A pair as the program makes it: what signs, and what receivers know.
async fn pair(shop: &Shop) -> [String; 2] {
    create(shop, "maker", "https://example.com/", &[KEY]).await;
    let made = shop.run(&["endpoint", "keys", "add", "maker", "--pair", "--json"]).json();
    ["key", "public_key"].map(|name| made[name].as_str().unwrap().to_owned())
}

async fn check(language: Language) {
    let shop = Shop::open_to_receivers().await;
    let [pair, public_key] = pair(&shop).await;
    let mut keys = format!("{OTHER_KEY} {KEY}");
    if language.knows_pairs() {
        keys += &format!(" {public_key}");
    }
    let program = Program::start(language, &keys, false).await;
    let losing = losing_answers(program.port);
    create(&shop, "direct", &program.url(), &[KEY]).await;
    create(&shop, "lost", &losing.url(), &[STRANGE_KEY, KEY]).await;
    create(&shop, "stranger", &program.url(), &[STRANGE_KEY]).await;
    create(&shop, "pair", &program.url(), &[&pair]).await;
    let dispatcher = shop.serve().await;

    let genuine = if language.knows_pairs() { 3 } else { 2 } * COUNT;
    for endpoint in ["direct", "lost", "stranger", "pair"] {
        for number in 0..COUNT {
            shop.send(endpoint, json!({ "text": "ü € 😀", "number": number, "sum": 1.50 })).await;
        }
    }
    check_ledger(&shop, &program, genuine).await;
    // Each answer was lost once, so each message came twice.
    assert_eq!(losing.request_count(), 2 * COUNT);
    check_refusals(&program, &losing.with_requests(|requests| requests[0].clone()));
    assert_eq!(program.lines(genuine + 1).await.len(), genuine + 1, "{language:?}");

    let gone = Program::start(language, &keys, true).await;
    create(&shop, "gone", &gone.url(), &[KEY]).await;
    shop.send("gone", json!({ "a": 1 })).await;
    shop.until("select not e.enabled from postrider.endpoints e where e.name = 'gone'").await;
    shop.until("select exists (select from postrider.dlq d where d.cause = 'gone')").await;
    dispatcher.stop(LONG).await.unwrap();
}

/// What has been delivered is what the receiver has, to the byte and once each; the rest is dead letters.
async fn check_ledger(shop: &Shop, program: &Program, genuine: usize) {
    shop.until(&format!(
        "select count(*) filter (where s.status = 'completed') = {genuine}
            and count(*) filter (where s.status = 'failed') = 4 * {COUNT} - {genuine}
        from postrider.message m cross join postrider.message_status(m.id) s"
    ))
    .await;
    let sql = "select jsonb_agg(format('received msg_%s %s', m.id, m.payload))
        from postrider.message m cross join postrider.message_status(m.id) s
        where s.status = 'completed'";
    let mut expected: Vec<String> = serde_json::from_value(shop.ask::<Value>(sql).await).unwrap();
    expected.sort();
    assert_eq!(program.lines(genuine).await, expected);
    let refused =
        "select bool_and(d.cause = 'rejected' and d.last_error like '%401%') from postrider.dlq d";
    assert!(shop.ask::<bool>(refused).await);
}

/// It takes one new message here, and nothing else.
fn check_refusals(program: &Program, request: &Request) {
    let genuine = Sent::new(&request.headers, &request.body);
    assert_eq!(program.post(&genuine), 204, "a repeat is accepted");
    let altered = [&genuine.body[..], b" "].concat();
    let other_time = genuine.headers["webhook-timestamp"].parse::<i64>().unwrap() + 1;
    let signature = &genuine.headers["webhook-signature"];
    let good = signature.split(' ').find(|part| part.starts_with("v1,")).unwrap();
    for (about, request, status) in [
        ("an altered body", genuine.clone().with_body(&altered), 401),
        ("no body", genuine.clone().with_body(b""), 401),
        ("another id", genuine.clone().with("webhook-id", "msg_1"), 401),
        ("another time", genuine.clone().with("webhook-timestamp", &other_time.to_string()), 401),
        ("no time", genuine.clone().with("webhook-timestamp", "now"), 401),
        ("no id", genuine.clone().without("webhook-id"), 401),
        ("no timestamp", genuine.clone().without("webhook-timestamp"), 401),
        ("no signature", genuine.clone().without("webhook-signature"), 401),
        ("an empty one", genuine.clone().with("webhook-signature", ""), 401),
        ("no base64", genuine.clone().with("webhook-signature", "v1,% v1"), 401),
        (
            "a version that is none",
            genuine.clone().with("webhook-signature", &good.replace("v1", "v2")),
            401,
        ),
        ("signed long ago", Sent::signed(KEY, "msg_old", -360, "{}"), 401),
        ("signed in a while", Sent::signed(KEY, "msg_early", 360, "{}"), 401),
        ("by another key", Sent::signed(STRANGE_KEY, "msg_strange", 0, "{}"), 401),
        ("bytes that are no text", Sent::signed(KEY, "msg_bytes", 0, "{}").with_body(&[0xff]), 401),
        ("too much", Sent::signed(KEY, "msg_large", 0, &"x".repeat(2 << 20)), 413),
        ("a few minutes ago", Sent::signed(KEY, "msg_few", -240, "{}"), 204),
        ("the same once more", Sent::signed(OTHER_KEY, "msg_few", 0, "{}"), 204),
    ] {
        assert_eq!(program.post(&request), status, "{about}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_go_takes_what_is_genuine_once() {
    check(Language::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_java_takes_what_is_genuine_once() {
    check(Language::Java).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_node_takes_what_is_genuine_once() {
    check(Language::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_python_takes_what_is_genuine_once() {
    check(Language::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_ruby_takes_what_is_genuine_once() {
    check(Language::Ruby).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_rust_takes_what_is_genuine_once() {
    check(Language::Rust).await;
}
