//! A real server: it starts, is looked into, crashes, comes back, and never stays behind. A start is
//! dear, so each server answers many questions.

use std::io::{BufRead, BufReader};

use serde_json::json;

use super::client::{Client, arguments};
use super::shared::{Share, virtual_host};
use super::*;

const HELPER: &str = "POSTRIDER_XTASK_HELPER";

/// Waits for something that the server does by itself.
async fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_server_is_private_survives_a_kill_and_leaves_nothing() {
    let options = Options::default().set("consumer_timeout", 500).set("channel_tick_interval", 200);
    let mut server = PrivateRabbitmq::start(options).unwrap();
    let host = server.host();
    let setting = "{ok, Value} = application:get_env(rabbit, consumer_timeout), Value.";
    assert_eq!(host.evaluate(setting).unwrap(), "500");
    assert!(host.evaluate("1 + one.").unwrap_err().to_string().contains("badarith"));
    assert!(server.version().starts_with(|c: char| c.is_ascii_digit()));

    // What is declared is seen, and dead letters say why.
    let client = Client::connect(&server.url()).await.unwrap();
    let dead = json!({ "x-message-ttl": 1, "x-dead-letter-exchange": "",
                       "x-dead-letter-routing-key": "dead" });
    client.declare_queue("short", arguments(&dead)).await.unwrap();
    client.declare_queue("dead", arguments(&json!({}))).await.unwrap();
    client.declare_queue("durable", arguments(&json!({}))).await.unwrap();
    let queue = host.queue("short").unwrap().unwrap();
    assert_eq!((queue.arguments, queue.is_durable), (dead, true));
    assert_eq!((host.exchanges().unwrap(), host.bindings().unwrap()), (vec![], vec![]));
    client.publish("", "short", b"body").await.unwrap();
    let message = client.wait_for("dead").await.unwrap();
    assert_eq!(message.body, b"body");
    assert_eq!(message.headers["x-death"][0]["reason"], "expired");
    client.publish("", "nowhere", b"").await.unwrap_err();

    // A consumer that does not answer loses its channel, and the message comes back.
    client.publish("", "durable", b"kept").await.unwrap();
    let slow = Client::connect(&server.url()).await.unwrap();
    let consumer = slow
        .channel
        .basic_consume("durable".into(), "slow".into(), Default::default(), Default::default())
        .await
        .unwrap();
    let held = |queue: Queue| (queue.ready, queue.unacknowledged);
    // It was taken by then, for half a second, which is too short to be looked at.
    eventually("the log says why", || server.log().contains("Timeout value used: 500 ms")).await;
    eventually("the message comes back", || {
        host.queue("durable").unwrap().map(held) == Some((1, 0))
    })
    .await;
    drop(consumer);

    assert_eq!(host.close_connections("test").unwrap(), 2);
    eventually("connections are closed", || host.connection_count().unwrap() == 0).await;
    client.get("durable").await.unwrap_err();

    // What is declared is on disk up to two seconds later.
    host.evaluate("ok = mnesia:sync_log().").unwrap();
    let (port, first) = (server.port(), server.pid().unwrap());
    let helpers = descendants(first);
    assert!(!helpers.is_empty());
    server.kill().unwrap();
    assert!(helpers.iter().all(|&pid| !child::is_alive(pid)));
    assert!(Client::connect(&server.url()).await.is_err());
    server.start_again().unwrap();
    assert_eq!(server.port(), port);
    assert!(server.start_again().is_err(), "a second server on the same data must be refused");
    let client = Client::connect(&server.url()).await.unwrap();
    assert_eq!(client.get("durable").await.unwrap().unwrap().body, b"kept");
    client.publish("", "durable", b"still there").await.unwrap();
    server.restart().unwrap();
    let client = Client::connect(&server.url()).await.unwrap();
    assert_eq!(client.get("durable").await.unwrap().unwrap().body, b"still there");

    let (folder, pid) = (server.folder.data().parent().unwrap().to_owned(), server.pid().unwrap());
    let helpers = descendants(pid);
    drop(server);
    assert!(!folder.exists());
    assert!(!child::is_alive(pid) && helpers.iter().all(|&pid| !child::is_alive(pid)));
}

#[tokio::test]
async fn a_shared_server_gives_everybody_a_virtual_host_that_goes_with_the_lease() {
    let share = Share::start().unwrap();
    // SAFETY: nextest runs each test in a process of its own; under `cargo test` no other test of this
    // crate touches the environment while it is changed here, other than through Rust's lock.
    unsafe { std::env::set_var(shared::VARIABLE, share.address()) };
    let (one, two) = (virtual_host().unwrap(), virtual_host().unwrap());
    // SAFETY: as above.
    unsafe { std::env::remove_var(shared::VARIABLE) };
    assert_eq!(one.port(), two.port());
    let client = Client::connect(&one.url()).await.unwrap();
    client.declare_queue("queue", arguments(&json!({}))).await.unwrap();
    assert_eq!(one.queues().unwrap().len(), 1);
    assert_eq!(two.queues().unwrap().len(), 0);
    assert_eq!((one.connection_count().unwrap(), two.connection_count().unwrap()), (1, 0));

    let gone = format!("rabbit_vhost:exists(<<\"{}\">>).", one.name());
    drop(one);
    eventually("the virtual host is removed", || two.evaluate(&gone).unwrap() == "false").await;
    let pid = share.pid().unwrap();
    drop(share);
    assert!(!child::is_alive(pid));
    assert!(two.queues().is_err());
}

/// Not a test by itself: a process for [`a_process_that_is_killed_takes_its_server_with_it`].
#[test]
fn helper_process() {
    if std::env::var_os(HELPER).is_none() {
        return;
    }
    let server = PrivateRabbitmq::start(Options::default()).unwrap();
    let pid = server.pid().unwrap();
    println!("\n{HELPER} {pid} {}", server.folder.data().parent().unwrap().display());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_process_that_is_killed_takes_its_server_with_it() {
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rabbitmq::tests::helper_process", "--nocapture"])
        .env(HELPER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = BufReader::new(helper.stdout.take().unwrap())
        .lines()
        .map_while(std::io::Result::ok)
        .find(|line| line.starts_with(HELPER))
        .expect("the helper starts a server");
    let [_, pid, folder] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let (pid, folder) = (pid.parse::<u32>().unwrap(), PathBuf::from(folder));
    assert!(child::is_alive(pid) && folder.exists());
    let mut all = descendants(pid);
    all.push(pid);

    helper.kill().unwrap();
    helper.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    assert!(child::wait_until_gone(&all, deadline), "the server still runs");
    while folder.exists() {
        assert!(Instant::now() < deadline, "the folder is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}
