//! Real servers: they start, crash, come back, replicate, and never stay behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

const HELPER: &str = "POSTRIDER_XTASK_HELPER";

async fn ask(server: &PrivatePostgres, sql: &str) -> String {
    let client = server.connect().await.unwrap();
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_server_starts_with_the_settings_asked_for_and_leaves_nothing() {
    let options = Options::default().set("work_mem", "7MB").set("application_name", "it's");
    let server = PrivatePostgres::start(options).unwrap();
    let cases = [
        ("max_connections", "200"),
        ("max_prepared_transactions", "0"),
        ("fsync", "off"),
        ("work_mem", "7MB"),
        ("server_encoding", "UTF8"),
        ("listen_addresses", "127.0.0.1"),
    ];
    for (name, expected) in cases {
        let value = ask(&server, &format!("select current_setting('{name}')")).await;
        assert_eq!(value, expected, "{name}");
    }
    assert!(server.version().starts_with(|c: char| c.is_ascii_digit()));
    assert!(server.socket_dir().join(format!(".s.PGSQL.{}", server.port())).exists());
    server.create_database("shop").await.unwrap();
    server.create_database("shop").await.unwrap_err();
    server.execute("shop", "create table t (); drop table t").await.unwrap();

    let (folder, pid) = (server.data_dir().parent().unwrap().to_owned(), server.pid().unwrap());
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
    assert!(!child::is_alive(pid));
}

#[tokio::test]
async fn committed_data_survives_a_kill_and_a_restart_on_the_same_port() {
    let mut server = PrivatePostgres::start(Options::default()).unwrap();
    server.create_database("shop").await.unwrap();
    server.execute("shop", "create table t (n int); insert into t values (1)").await.unwrap();
    let session = server.connect_to("shop").await.unwrap();
    let (port, first) = (server.port(), server.pid().unwrap());
    let children = child::children_of(first);
    assert!(!children.is_empty());

    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(children.iter().all(|&pid| !child::is_alive(pid)));
    assert!(session.simple_query("select 1").await.is_err());
    assert!(server.connect().await.is_err());

    server.start_again().unwrap();
    assert!(server.log().contains("automatic recovery in progress"));
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), Some(first));
    server.execute("shop", "insert into t values (2)").await.unwrap();

    server.restart().unwrap();
    server.stop().unwrap();
    server.stop().unwrap();
    server.start_again().unwrap();
    assert!(server.start_again().is_err(), "a second server on the same data must be refused");
    let client = server.connect_to("shop").await.unwrap();
    let count: i64 = client.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 2);
}

#[tokio::test]
async fn a_standby_follows_and_can_be_promoted_after_the_primary_crashed() {
    let mut primary = PrivatePostgres::start(Options::default()).unwrap();
    let standby = primary.standby().unwrap();
    assert_ne!(primary.port(), standby.port());
    assert_eq!(ask(&standby, "select pg_is_in_recovery()::text").await, "true");

    // With remote_apply a commit returns when the standby shows it.
    let client = primary.connect().await.unwrap();
    let follow = "alter system set synchronous_standby_names = '*'; select pg_reload_conf()";
    for statement in follow.split("; ") {
        client.simple_query(statement).await.unwrap();
    }
    let client = primary.connect().await.unwrap();
    client.batch_execute("set synchronous_commit = remote_apply").await.unwrap();
    client.batch_execute("create table t as select 41 as n").await.unwrap();
    let seen = ask(&standby, "select n::text from t").await;
    assert_eq!(seen, "41");

    primary.kill().unwrap();
    assert_eq!(ask(&standby, "select pg_promote()::text").await, "true");
    standby.execute("postgres", "insert into t values (42)").await.unwrap();
}

#[test]
fn several_run_at_once() {
    let servers: Vec<PrivatePostgres> = std::thread::scope(|scope| {
        let start = || PrivatePostgres::start(Options::default()).unwrap();
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // The threads that started them are gone; the servers are not.
    assert!(servers.iter().all(|server| accepts_sessions(server.port())));
    assert_ne!(servers[0].port(), servers[1].port());
}

/// Not a test by itself: a process for [`a_process_that_is_killed_takes_its_server_with_it`].
#[test]
fn helper_process() {
    if std::env::var_os(HELPER).is_none() {
        return;
    }
    let server = PrivatePostgres::start(Options::default()).unwrap();
    let pid = server.pid().unwrap();
    println!("\n{HELPER} {pid} {}", server.data_dir().parent().unwrap().display());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_process_that_is_killed_takes_its_server_with_it() {
    for signal in [libc::SIGKILL, libc::SIGINT] {
        let mut helper = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "postgres::tests::helper_process", "--nocapture"])
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
        let mut all = child::children_of(pid);
        all.push(pid);

        // SAFETY: kill has no memory effects; the helper is our child and not yet reaped.
        unsafe { libc::kill(helper.id() as libc::pid_t, signal) };
        helper.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        assert!(child::wait_until_gone(&all, deadline), "signal {signal}: server still runs");
        while folder.exists() {
            assert!(Instant::now() < deadline, "signal {signal}: the folder is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
