//! Real servers: they start, crash, come back, replicate, and never stay behind.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::shared_memory::Segment;
use super::*;

/// Says to [`helper_process`] that it is one: `running`, or `killed` for one whose server is killed.
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

    let client = primary.connect().await.unwrap();
    client.batch_execute("create table t as select 41 as n").await.unwrap();
    let is_there = "select (to_regclass('t') is not null)::text";
    let deadline = Instant::now() + Duration::from_secs(60);
    while ask(&standby, is_there).await != "true" {
        assert!(Instant::now() < deadline, "the standby does not follow");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask(&standby, "select n::text from t").await, "41");

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

#[test]
fn a_server_leaves_no_shared_memory_however_it_ends() {
    let ends: [fn(&mut PrivatePostgres); 3] = [
        |_| (),
        |server| server.kill().unwrap(),
        |server| {
            server.kill().unwrap();
            server.start_again().unwrap();
            server.kill().unwrap();
        },
    ];
    for (case, end) in ends.iter().enumerate() {
        let mut server = PrivatePostgres::start(Options::default()).unwrap();
        let first = Segment::of(&server.data_dir()).unwrap();
        assert!(first.exists());
        assert!(std::fs::read_dir(server.data_dir().join("pg_dynshmem")).unwrap().count() > 0);
        let pid = server.pid().unwrap();
        for pid in child::children_of(pid).into_iter().chain([pid]) {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            let lasting = maps.lines().find(|line| line.contains("/dev/shm/PostgreSQL"));
            assert_eq!(lasting, None, "a file in memory outlives a killed server");
        }
        end(&mut server);
        let last = Segment::of(&server.data_dir());
        drop(server);
        assert!(!first.exists(), "case {case}");
        assert!(last.is_none_or(|last| !last.exists()), "case {case}");
    }
}

/// Not a test by itself: a process for the tests that follow.
#[test]
fn helper_process() {
    let Some(what) = std::env::var_os(HELPER) else { return };
    let mut server = PrivatePostgres::start(Options::default()).unwrap();
    let pid = server.pid().unwrap();
    if what == "killed" {
        server.kill().unwrap();
    }
    println!("\n{HELPER} {pid} {}", server.data_dir().parent().unwrap().display());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A process of ours that has started a server, and what must not stay behind.
struct Helper {
    child: std::process::Child,
    /// The processes of the server.
    server: Vec<u32>,
    folder: PathBuf,
    segment: Segment,
}

impl Helper {
    fn start(what: &str, base: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "postgres::tests::helper_process", "--nocapture"])
            .env(HELPER, what)
            .env("TMPDIR", base)
            .env_remove(TEMPLATES_VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(std::io::Result::ok)
            .find(|line| line.starts_with(HELPER))
            .expect("the helper starts a server");
        let [_, pid, folder] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let (pid, folder) = (pid.parse::<u32>().unwrap(), PathBuf::from(folder));
        assert_eq!(child::is_alive(pid), what == "running");
        assert_eq!(folder.parent(), Some(base));
        let mut server = child::children_of(pid);
        server.push(pid);
        let segment = Segment::of(&folder.join("data")).unwrap();
        assert!(segment.exists());
        Self { child, server, folder, segment }
    }

    fn end(&mut self, signal: i32) {
        // SAFETY: kill has no memory effects; the helper is our child and not yet reaped.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        self.child.wait().unwrap();
    }

    fn check_that_nothing_stays(&self, case: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        assert!(child::wait_until_gone(&self.server, deadline), "{case}: the server still runs");
        while self.folder.exists() {
            assert!(Instant::now() < deadline, "{case}: the folder is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!self.segment.exists(), "{case}: the shared memory is still there");
    }
}

/// A folder for the folders of servers, which no other test sweeps.
fn own_base() -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    std::fs::set_permissions(base.path(), PermissionsExt::from_mode(0o755)).unwrap();
    base
}

#[test]
fn a_process_that_is_killed_takes_its_server_with_it() {
    let base = own_base();
    for what in ["running", "killed"] {
        for signal in [libc::SIGKILL, libc::SIGINT] {
            let mut helper = Helper::start(what, base.path());
            helper.end(signal);
            helper.check_that_nothing_stays(&format!("server {what}, signal {signal}"));
        }
    }
}

#[test]
fn what_is_left_when_the_watchdog_was_killed_too_goes_with_the_next_start() {
    let base = own_base();
    for what in ["running", "killed"] {
        let mut helper = Helper::start(what, base.path());
        let watchdogs = child::children_of(helper.child.id());
        let watchdogs: Vec<u32> =
            watchdogs.into_iter().filter(|pid| !helper.server.contains(pid)).collect();
        assert_eq!(watchdogs.len(), 1);
        assert!(child::kill(&watchdogs, Instant::now() + Duration::from_secs(60)));
        helper.end(libc::SIGKILL);
        assert!(helper.folder.exists());
        drop(Folder::create(Some(base.path())).unwrap());
        helper.check_that_nothing_stays(&format!("server {what}"));
    }
}
