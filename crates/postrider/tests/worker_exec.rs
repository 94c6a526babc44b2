//! `postrider worker --exec`: real commands, and what becomes of them and of their executions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::shop::Shop;
use crate::shop::asking::{Asked, listener};
use crate::shop::serving::LONG;
use postrider_testkit::process::{Dispatcher, DispatcherOptions};
use postrider_testkit::receiver::{Answer, Behaviour, Ending, Receiver};
use serde_json::{Value, json};

async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create role app login in role postrider_application;
        select postrider.set_setting('worker_heartbeat_interval', '1');
        select postrider.set_setting('worker_stale_after', '3600')",
    )
    .await;
    shop
}

/// `postrider worker` with a shell script as its command.
struct Scene {
    folder: PathBuf,
    process: Dispatcher,
}

impl Scene {
    async fn start(shop: &Shop, script: &str, more: &[&str]) -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exec-{}", shop.postgres.port()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut options = DispatcherOptions::serve(
            env!("CARGO_BIN_EXE_postrider"),
            &shop.postgres.url_as("app", "shop"),
        );
        let place = folder.to_str().unwrap();
        let arguments = [
            "worker",
            "--name",
            "w1",
            "--capacity",
            "4",
            "--exec",
            "/bin/sh",
            "--kill-after-seconds",
            "1",
        ];
        let rest = ["--", "-c", script, "handler", place];
        options.arguments =
            arguments.iter().chain(more).chain(&rest).map(|text| (*text).to_owned()).collect();
        let process = Dispatcher::start(&options).unwrap();
        shop.until("select count(*) = 1 from postrider.workers where status = 'active'").await;
        Self { folder, process }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The process id that a command has written into a file.
    async fn pid(&self, name: &str) -> i32 {
        let file = self.file(name);
        let text =
            wait_for(|| std::fs::read_to_string(&file).ok().filter(|t| t.ends_with('\n'))).await;
        text.trim().parse().unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn wait_for<O>(mut look: impl FnMut() -> Option<O>) -> O {
    let mut pause = tokio::time::interval(Duration::from_millis(10));
    let wait = async {
        loop {
            pause.tick().await;
            if let Some(found) = look() {
                return found;
            }
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("it never came")
}

/// Whether a process is there and no zombie.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    })
}

async fn until_gone(pid: i32) {
    wait_for(|| (!is_running(pid)).then_some(())).await;
}

async fn submit(shop: &Shop, action: &str, options: &str) -> i64 {
    shop.ask(&format!("select postrider.submit_execution('{action}'{options})")).await
}

async fn ended(shop: &Shop, id: i64, status: &str) -> Value {
    shop.until(&format!("select status = '{status}' from postrider.executions where id = {id}"))
        .await;
    shop.ask(&format!(
        "select jsonb_build_object(
            'reason', reason, 'result', result, 'error', error, 'attempt', attempt)
        from postrider.executions where id = {id}"
    ))
    .await
}

#[tokio::test]
async fn an_exit_code_and_the_output_decide() {
    let shop = open().await;
    let script = r#"
        case "$POSTRIDER_ACTION" in
        echo) cat ;;
        text) echo "attempt $POSTRIDER_ATTEMPT of $POSTRIDER_EXECUTION_ID" ;;
        secret) env | grep -c -e DATABASE_URL -e postgres: ; exit 0 ;;
        soft) echo "try later" >&2; exit 75 ;;
        hard) yes noise | head -c 10000 >&2; echo "broken" >&2; exit 3 ;;
        killed) kill -9 $$ ;;
        detached) setsid sleep 20 & echo kept ;;
        large) head -c 3000000 /dev/zero | tr '\0' x ;;
        esac"#;
    let scene = Scene::start(&shop, script, &[]).await;
    let echo = submit(&shop, "echo", ", '{\"a\": [1, \"ü\"]}'").await;
    let text = submit(&shop, "text", "").await;
    let secret = submit(&shop, "secret", "").await;
    let soft = submit(&shop, "soft", "").await;
    let hard = submit(&shop, "hard", ", p_max_retries => 3").await;
    let killed = submit(&shop, "killed", "").await;
    let large = submit(&shop, "large", "").await;
    let detached = submit(&shop, "detached", "").await;

    assert_eq!(ended(&shop, echo, "completed").await["result"], json!({ "a": [1, "ü"] }));
    assert_eq!(ended(&shop, text, "completed").await["result"], format!("attempt 1 of {text}"));
    assert_eq!(ended(&shop, secret, "completed").await["result"], 0);
    let soft = ended(&shop, soft, "failed").await;
    assert_eq!(soft["reason"], "transient_error", "{soft}");
    assert_eq!(soft["error"]["details"]["stderr"], "try later");
    let hard = ended(&shop, hard, "failed").await;
    assert_eq!((&hard["reason"], &hard["attempt"]), (&json!("permanent_error"), &json!(1)));
    let tail = hard["error"]["details"]["stderr"].as_str().unwrap();
    assert!(tail.ends_with("broken") && tail.len() <= 4_096, "{} bytes", tail.len());
    let killed = ended(&shop, killed, "failed").await;
    assert_eq!(killed["error"]["details"]["signal"], 9, "{killed}");
    let large = ended(&shop, large, "failed").await;
    assert!(large["error"]["message"].as_str().unwrap().contains("max_payload_size"), "{large}");
    // Who has left the process group keeps the pipe open.
    assert_eq!(ended(&shop, detached, "completed").await["result"], "kept");
    drop(scene);
}

/// Nobody's user: who is not root may look at processes of the same user only.
const NOBODY: u32 = 65_534;

#[tokio::test]
async fn a_command_gets_no_secret_of_the_worker() {
    let shop = open().await;
    let script = r#"case "$POSTRIDER_ACTION" in
        environment) env | cut -d= -f1 | sort | tr '\n' ' ' ;;
        parent) cat /proc/$PPID/environ >/dev/null 2>&1 && echo read || echo refused ;;
        esac"#;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_postrider"));
    command
        .args(["worker", "--name", "w1", "--pass-env", "WANTED", "--exec", "/bin/sh", "--"])
        .args(["-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("DATABASE_URL", shop.postgres.url_as("app", "shop"))
        .env("AWS_SECRET_ACCESS_KEY", "s3cret")
        .env("WANTED", "1")
        .env("LC_ALL", "C");
    // SAFETY: has no effects.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
        std::os::unix::process::CommandExt::gid(&mut command, NOBODY);
    }
    let mut worker = command.spawn().unwrap();
    let environment = submit(&shop, "environment", "").await;
    let parent = submit(&shop, "parent", "").await;
    let environment = ended(&shop, environment, "completed").await["result"].clone();
    let parent = ended(&shop, parent, "completed").await["result"].clone();
    worker.kill().unwrap();
    worker.wait().unwrap();

    let names: Vec<_> = environment.as_str().unwrap().split_whitespace().collect();
    // What the shell sets by itself.
    let of_the_shell = ["_", "OLDPWD", "PWD", "SHLVL"];
    let is_unexpected = |name: &&&str| {
        let expected = ["LC_ALL", "PATH", "WANTED"].contains(*name);
        !expected && !name.starts_with("POSTRIDER_") && !of_the_shell.contains(*name)
    };
    assert_eq!(names.iter().find(is_unexpected), None, "{names:?}");
    for name in ["LC_ALL", "PATH", "WANTED", "POSTRIDER_EXECUTION_ID"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(parent, "refused");
}

/// Whether the worker sleeps: it says so at its queues.
const SLEEPS: &str = "select exists (
    select
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid and a.usename = 'app'
    where l.locktype = 'advisory' and l.classid = 1886352248 and l.granted)";
/// Whether anybody waits for an advisory lock.
const WAITS: &str =
    "select exists (select from pg_locks where locktype = 'advisory' and not granted)";

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_the_doorbells_of_queues_keeps_no_execution_waiting() {
    let shop = open().await;
    shop.execute("create role stranger login").await;
    let config = shop.postgres.url_as("stranger", "shop").parse::<tokio_postgres::Config>();
    let (stranger, connection) = config.unwrap().connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let _scene = Scene::start(&shop, "cat", &[]).await;
    // Those of who submits, those of who sleeps, and both.
    for (classes, mode) in
        [("1886352247", "_shared"), ("1886352248", "_shared"), ("1886352247, 1886352248", "")]
    {
        shop.until(SLEEPS).await;
        // Who asks for a lock that the sleeper has gets it when it wakes up.
        let holds = format!(
            "select pg_advisory_lock{mode}(c, k)
            from unnest(array[{classes}]) c cross join generate_series(0, 255) k"
        );
        stranger.batch_execute(&holds).await.unwrap();
        for _ in 0..10 {
            let id = submit(&shop, "echo", ", '1'").await;
            ended(&shop, id, "completed").await;
            let id = submit(&shop, "echo", ", '1', 'w1'").await;
            ended(&shop, id, "completed").await;
            assert!(!shop.ask::<bool>(WAITS).await, "{classes}{mode}");
        }
        stranger.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
    }
    shop.until(SLEEPS).await;
}

/// Of the bytes `signing-key-of-tests-0000`.
const SIGNING_KEY: &str = "whsec_c2lnbmluZy1rZXktb2YtdGVzdHMtMDAwMA==";

/// Requests over HTTP with secrets everywhere: one that is done, one that is refused by a constraint, whose error has the
/// row as its detail, one that has no right, and one without a token that is known.
async fn ask_in_secret(shop: &Shop, asked: Asked, token: &str) {
    shop.execute(
        "alter table postrider.message add constraint planted
            check (payload is null or not payload ? 'refused')",
    )
    .await;
    let once = asked.with("idempotency-key", "s3cret-request");
    let producer = once.bearing(token);
    let body = |payload: Value| {
        json!({
            "endpoint": "good", "payload": payload, "ordering_key": "s3cret-key",
            "headers": { "x-token": "s3cret-own" }, "metadata": { "m": "s3cret-meta" }
        })
    };
    let path = "/api/v1/messages";
    producer.post(path, &body(json!({ "card": "s3cret-card" }))).await.expect(201);
    producer.post(path, &body(json!({ "card": "s3cret-other" }))).await.expect(422);
    let other = asked.bearing(token).with("idempotency-key", "s3cret-refused");
    let refused = other.post(path, &body(json!({ "refused": "s3cret-card" }))).await;
    assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
    refused.problem(400, "check_violation");
    let viewer = once.bearing(&shop.token("watching", "viewer"));
    viewer.post(path, &body(json!(1))).await.expect(403);
    once.bearing("s3cret-token").post(path, &body(json!(1))).await.expect(401);
}

/// Gives a token that is secret, and at `/bad` none, with the secret in what it says.
fn token_endpoint() -> Receiver {
    let behaviour = Behaviour::custom(|arrival| {
        let (status, body) = match arrival.path {
            "/bad" => (
                400,
                json!({ "error": "invalid_client", "error_description": "s3cret-client is wrong" }),
            ),
            _ => (200, json!({ "access_token": "s3cret-access", "token_type": "Bearer" })),
        };
        Answer::status(status).ending(body.to_string(), Ending::Plain)
    });
    Receiver::start(behaviour).unwrap()
}

/// What endpoints have to show, that the receiver takes.
const SHOWN: [&str; 6] = ["bearer", "basic", "api_key", "hmac", "sigv4", "oauth2"];
/// Who gets no token, no way through the proxy, and no TLS.
const FAILING: [&str; 4] = ["bad", "no_token", "proxied", "tls"];

/// Endpoints with a secret in whatever else may have one; the key of one of them.
async fn plant_in_endpoints(
    shop: &Shop,
    receiver: &Receiver,
    failing: &Receiver,
    tokens: &Receiver,
) -> String {
    let certified = rcgen::generate_simple_self_signed(["client.test".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let url = receiver.url();
    let with = |auth: Value| json!({ "url": url, "auth": auth });
    let oauth2 = |path: &str, client_auth: &str| {
        with(json!({
            "type": "oauth2", "token_url": format!("{}{path}", tokens.url()), "client_id": "me",
            "client_secret": "s3cret-client", "client_auth": client_auth
        }))
    };
    let proxy = json!({
        "url": failing.url().trim_end_matches('/'), "username": "me", "password": "s3cret-proxy"
    });
    let tls = |certificate: &str, key: &str| {
        json!({
            "url": url.replacen("http:", "https:", 1),
            "tls": { "certificate": certificate, "key": key }
        })
    };
    let sigv4 = json!({
        "type": "sigv4", "region": "eu-west-1", "service": "events", "access_key_id": "AKID",
        "secret_access_key": "s3cret-sigv4", "session_token": "s3cret-session"
    });
    let basic = json!({ "type": "basic", "username": "me", "password": "s3cret-basic" });
    let api_key = json!({ "type": "api_key", "query": "key", "value": "s3cret-api-key" });
    for (name, config) in [
        ("bearer", with(json!({ "type": "bearer", "token": "s3cret-bearer" }))),
        ("basic", with(basic)),
        ("api_key", with(api_key)),
        ("hmac", with(json!({ "type": "hmac", "header": "x-mac", "key": "s3cret-hmac" }))),
        ("sigv4", with(sigv4)),
        ("oauth2", oauth2("good", "client_secret_basic")),
        ("no_token", oauth2("bad", "client_secret_post")),
        ("proxied", json!({ "url": "http://127.0.0.1:1080/", "proxy": proxy })),
        ("tls", tls(&certificate, &key)),
        ("unopened", tls("s3cret-certificate", "s3cret-key")),
    ] {
        shop.endpoint(name, config, json!({ "max_retries": 0 })).await;
    }
    key
}

/// Every level, of a dispatcher that answers over HTTP and a worker: nothing that was planted.
#[tokio::test]
async fn no_level_of_the_log_shows_what_is_secret() {
    let shop = Shop::open_to_receivers().await;
    shop.execute(
        "create role app login password 's3cret-password' in role postrider_application;
        select postrider.set_setting('capture_response', 'on');
        select postrider.set_setting('record_attempts', 'all')",
    )
    .await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let failing = Receiver::start(Behaviour::Status(500)).unwrap();
    for (name, url) in [("good", receiver.url()), ("bad", failing.url())] {
        let config = json!({
            "url": format!("{url}?token=s3cret-token"),
            "headers": { "authorization": "s3cret-header" },
            "signing_keys": [SIGNING_KEY]
        });
        shop.endpoint(name, config, json!({ "max_retries": 0 })).await;
    }
    let tokens = token_endpoint();
    let tls_key = plant_in_endpoints(&shop, &receiver, &failing, &tokens).await;
    let url = shop.postgres.url_as("app", "shop").replace("app@", "app:s3cret-password@");
    let levels = |more: &[&str]| {
        let arguments = more.iter().map(|text| (*text).to_owned());
        arguments.chain(["--log-level".to_owned(), "trace".to_owned()]).collect::<Vec<_>>()
    };
    let mut serve = shop.serve_options();
    serve.arguments = levels(&["serve", "--listen", "127.0.0.1:0"]);
    let dispatcher = Dispatcher::start(&serve).unwrap();
    let token = shop.token("shop", "producer");
    ask_in_secret(&shop, listener(&dispatcher).await, &token).await;
    let mut worker = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    worker.arguments = levels(&["worker", "--name", "w1", "--exec", "/bin/cat"]);
    let worker = Dispatcher::start(&worker).unwrap();

    let names = [&["good", "unopened"][..], &SHOWN, &FAILING].concat().join("', '");
    shop.execute(&format!(
        "select postrider.send_with_options(n, '{{\"card\": \"s3cret-payload\"}}',
            p_ordering_key => 's3cret-key', p_idempotency_key => 's3cret-once ' || n,
            p_headers => '{{\"x-token\": \"s3cret-own\"}}', p_metadata => '{{\"m\": \"s3cret-meta\"}}')
        from unnest(array['{names}']) n"
    ))
    .await;
    let execution = submit(&shop, "echo", ", '{\"p\": \"s3cret-parameter\"}'").await;
    ended(&shop, execution, "completed").await;
    receiver.wait_for_accepted(2 + SHOWN.len(), LONG).await.unwrap();
    dispatcher.wait_for_log("endpoint cannot be opened", LONG).await.unwrap();
    let failed = format!(
        "select count(distinct a.endpoint_name) = {} from postrider.attempts a
        where a.endpoint_name in ('{}')",
        FAILING.len(),
        FAILING.join("', '")
    );
    shop.until(&failed).await;
    let told = "select coalesce(string_agg(a.error, '; '), '') from postrider.attempts a
        where a.error like '%s3cret%'";
    assert_eq!(shop.ask::<String>(told).await, "");
    assert!(worker.sigterm() && dispatcher.sigterm());
    worker.wait(LONG).await.unwrap();
    dispatcher.wait(LONG).await.unwrap();

    // As they are written, and the bytes themselves.
    let (key, digits) = (&SIGNING_KEY["whsec_".len()..], token.rsplit('_').next().unwrap());
    let line_of_key = tls_key.lines().nth(1).unwrap();
    let planted = ["s3cret", key, "signing-key-of-tests", digits, line_of_key];
    for (process, lines) in [("serve", dispatcher.log_lines()), ("worker", worker.log_lines())] {
        assert!(!lines.is_empty(), "{process}");
        let told: Vec<_> =
            lines.iter().filter(|line| planted.iter().any(|text| line.contains(text))).collect();
        assert_eq!(told, [""; 0], "{process}");
    }
}

#[tokio::test]
async fn the_log_says_where_the_worker_is_and_what_is_lost_once() {
    let mut shop = open().await;
    shop.execute("select postrider.set_setting('worker_stale_after', '60')").await;
    let scene = Scene::start(&shop, "cat", &["--pool", "images", "--log-level", "debug"]).await;
    let line = scene.process.wait_for_log("worker is starting", LONG).await.unwrap();
    let place = format!("database \\\"shop\\\" on 127.0.0.1:{}", shop.postgres.port());
    let fields = ["name=\"w1\"", "pool=\"images\"", "carrier=\"postgres\"", "capacity=4", &place];
    for field in fields {
        assert!(line.contains(field), "{field}: {line}");
    }
    scene.process.wait_for_log("worker is registered", LONG).await.unwrap();

    shop.postgres.stop().unwrap();
    scene.process.wait_for_log("worker goes on", LONG).await.unwrap();
    shop.postgres.start_again().unwrap();
    scene.process.wait_for_log("worker has recovered", LONG).await.unwrap();
    let id = submit(&shop, "echo", ", '1', 'w1'").await;
    ended(&shop, id, "completed").await;
    let began = format!("command starts execution={id} action=\"echo\" attempt=1");
    scene.process.wait_for_log(&began, LONG).await.unwrap();
    scene.process.wait_for_log("command has ended", LONG).await.unwrap();
    let lines = scene.process.log_lines();
    for said in ["worker goes on", "worker has recovered", "worker is registered"] {
        let count = lines.iter().filter(|line| line.contains(said)).count();
        assert_eq!(count, 1, "{said}: {lines:#?}");
    }
    assert!(scene.process.sigterm());
    scene.process.wait(LONG).await.unwrap();
    let lines = scene.process.log_lines();
    assert!(lines.iter().any(|line| line.contains("worker stopped completed=1")), "{lines:#?}");
}

#[tokio::test]
async fn what_ignores_sigterm_is_killed_with_all_its_children() {
    let shop = open().await;
    let script = r#"
        trap '' TERM
        sh -c 'trap "" TERM; echo $$ > "$1/child"; sleep 600' child "$1" &
        echo $$ > "$1/$POSTRIDER_ACTION"
        wait; sleep 600"#;
    let scene = Scene::start(&shop, script, &[]).await;
    let id = submit(&shop, "cancel", "").await;
    let (parent, child) = (scene.pid("cancel").await, scene.pid("child").await);
    assert!(is_running(parent) && is_running(child));
    shop.execute(&format!("select postrider.cancel_execution({id})")).await;
    ended(&shop, id, "cancelled").await;
    until_gone(parent).await;
    until_gone(child).await;

    let id = submit(&shop, "late", ", p_timeout => '10 seconds'").await;
    let parent = scene.pid("late").await;
    ended(&shop, id, "timeout").await;
    until_gone(parent).await;
}

#[tokio::test]
async fn a_stop_gives_back_without_an_attempt_and_a_kill_takes_the_command_along() {
    let shop = open().await;
    let script = "echo $$ > \"$1/$POSTRIDER_ACTION\"; exec sleep 600";
    let scene = Scene::start(&shop, script, &["--shutdown-timeout-seconds", "0"]).await;
    let id = submit(&shop, "first", "").await;
    let pid = scene.pid("first").await;
    assert!(scene.process.sigterm());
    scene.process.wait(LONG).await.unwrap();
    drop(scene);
    until_gone(pid).await;
    let (status, attempt): (String, i32) = (
        shop.ask(&format!("select status from postrider.executions where id = {id}")).await,
        shop.ask(&format!("select attempt from postrider.executions where id = {id}")).await,
    );
    assert_eq!((status.as_str(), attempt), ("requested", 1));
    shop.execute(&format!("select postrider.cancel_execution({id})")).await;

    shop.execute("select postrider.set_setting('worker_stale_after', '12')").await;
    let scene = Scene::start(&shop, script, &[]).await;
    let id = submit(&shop, "second", "").await;
    let pid = scene.pid("second").await;
    assert!(scene.process.sigkill());
    until_gone(pid).await;
    shop.until("select postrider.check_workers() > 0").await;
    assert_eq!(ended(&shop, id, "failed").await["reason"], "worker_heartbeat_stale");
}
