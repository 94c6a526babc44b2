//! The worker of the crate for applications, on the carrier PostgreSQL: what becomes of executions when
//! handlers, workers and the database fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::durable::{late_to_write, stop_writing};
use crate::shop::Shop;
use crate::shop::pulse::Pulse;
use crate::shop::serving::LONG;
use postrider_client::{
    Error, Execution, ExecutionError, Stop, Summary, Worker, WorkerBuilder, WorkerTrouble,
};
use postrider_testkit::proxy::Proxy;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Where a worker has to be lost, it is after so long without a heartbeat.
const IMPATIENT: Duration = Duration::from_secs(8);

/// A shop with a role `app` with the rights of applications, where workers are told soon what others
/// do, and are not taken for lost because the machine is busy.
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

/// Workers are soon taken for lost.
async fn be_impatient(shop: &Shop) {
    shop.execute(&format!(
        "select postrider.set_setting('worker_stale_after', '{}')",
        IMPATIENT.as_secs()
    ))
    .await;
}

impl Shop {
    fn builder(&self) -> WorkerBuilder {
        builder(&self.postgres.url_as("app", "shop"))
    }

    /// A proxy in front of the database, and the address of the database behind it.
    fn behind_proxy(&self) -> (Proxy, String) {
        let url = self.postgres.url_as("app", "shop");
        let port = self.postgres.port();
        let proxy = Proxy::start(([127, 0, 0, 1], port).into()).unwrap();
        let through = url.replace(&port.to_string(), &proxy.port().to_string());
        (proxy, through)
    }

    async fn submit(&self, action: &str, options: &str) -> i64 {
        self.ask(&format!("select postrider.submit_execution('{action}'{options})")).await
    }

    async fn until_status(&self, execution: i64, status: &str) {
        self.until(&format!(
            "select status = '{status}' from postrider.executions where id = {execution}"
        ))
        .await;
    }

    async fn error(&self, execution: i64) -> Value {
        self.ask(&format!(
            "select jsonb_build_object('reason', reason, 'attempt', attempt) || coalesce(error, '{{}}')
            from postrider.executions where id = {execution}"
        ))
        .await
    }
}

fn builder(url: &str) -> WorkerBuilder {
    Worker::builder()
        .url(url)
        .name("worker-1")
        .capacity(4)
        .stop_grace(Duration::from_millis(200))
        .on_trouble(|trouble| eprintln!("{trouble}"))
}

/// A worker in a task of its own.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Summary, Error>>,
}

impl Running {
    fn start(worker: WorkerBuilder) -> Self {
        let (stop, stopped) = oneshot::channel();
        let stopped = async move {
            let _ = stopped.await;
        };
        Self { stop, task: tokio::spawn(worker.build().unwrap().run_until(stopped)) }
    }

    async fn stop(self) -> Summary {
        let _ = self.stop.send(());
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap().unwrap()
    }

    async fn end(self) -> Result<Summary, Error> {
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap()
    }
}

/// A handler that says that it has begun, and then waits for ever; and that it was dropped.
#[derive(Clone)]
struct Endless {
    begun: mpsc::UnboundedSender<i64>,
    running: Arc<AtomicUsize>,
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Endless {
    fn new() -> (Self, mpsc::UnboundedReceiver<i64>) {
        let (begun, beginnings) = mpsc::unbounded_channel();
        (Self { begun, running: Arc::default() }, beginnings)
    }

    async fn run(self, execution: Execution) -> Result<Value, ExecutionError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _guard = Guard(Arc::clone(&self.running));
        let _ = self.begun.send(execution.id());
        std::future::pending().await
    }

    fn handle(&self, builder: WorkerBuilder) -> WorkerBuilder {
        let endless = self.clone();
        builder.handle("endless", move |execution| endless.clone().run(execution))
    }

    fn count(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// None runs now, or would if the machine had not stood still.
    async fn assert_stopped(&self, pulse: &Pulse) {
        let began = Instant::now();
        while self.count() > 0 {
            assert!(
                began.elapsed() < pulse.still(),
                "it was not stopped before others may have it"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn what_a_handler_returns_is_recorded() {
    let shop = open().await;
    let worker = Running::start(
        shop.builder()
            .handle("double", |execution| async move {
                let n: i64 = execution.parse()?;
                Ok(json!({ "double": n * 2, "attempt": execution.attempt() }))
            })
            .handle("refuse", |_| async { Err(ExecutionError::permanent("no")) })
            .handle("panic", |_| async {
                // As a panic, without a backtrace in the log.
                std::panic::resume_unwind(Box::new("out of ideas"))
            })
            .handle("large", |_| async { Ok(Value::String("x".repeat(2 << 20))) })
            .handle("nul", |_| async { Ok(json!("\0")) })
            .handle("own", |_| async {
                Err(ExecutionError::with_reason("out_of_paper", "none")
                    .details(json!({ "tray": 2 })))
            }),
    );
    shop.until("select count(*) = 1 from postrider.workers where status = 'active'").await;

    let double = shop.submit("double", ", '21'").await;
    shop.until_status(double, "completed").await;
    let result: Value =
        shop.ask(&format!("select result from postrider.executions where id = {double}")).await;
    assert_eq!(result, json!({ "double": 42, "attempt": 1 }));

    let failing = [
        ("double", ", '\"no number\"'", "permanent_error", "invalid type"),
        ("refuse", "", "permanent_error", "no"),
        ("panic", "", "transient_error", "the handler panicked: out of ideas"),
        ("large", "", "permanent_error", "p_result must be at most"),
        ("nul", "", "permanent_error", "Unicode escape"),
        ("own", "", "out_of_paper", "none"),
        ("unknown", "", "permanent_error", "no handler for 'unknown'"),
    ];
    let mut ids = Vec::new();
    for (action, options, ..) in failing {
        ids.push(shop.submit(action, options).await);
    }
    for (id, (action, _, reason, text)) in ids.into_iter().zip(failing) {
        shop.until_status(id, "failed").await;
        let error = shop.error(id).await;
        assert_eq!(error["reason"], reason, "{action}: {error}");
        assert!(error["message"].as_str().unwrap().contains(text), "{action}: {error}");
    }
    let summary = worker.stop().await;
    assert_eq!((summary.completed, summary.failed), (1, 7), "{summary:?}");
    let status: String = shop.ask("select status from postrider.workers").await;
    assert_eq!(status, "inactive");
}

/// Whatever the database's default is: neither that it was taken nor that it was submitted, by somebody who waited for nothing.
#[tokio::test]
async fn what_a_handler_was_told_outlives_a_crash() {
    let mut shop = Shop::open_migrated_with(late_to_write()).await;
    shop.execute(
        "create role app login in role postrider_application;
        alter database shop set synchronous_commit = off",
    )
    .await;
    stop_writing(&shop).await;
    let (endless, mut beginnings) = Endless::new();
    let running = Running::start(endless.handle(shop.builder()));
    let execution = shop.submit("endless", "").await;
    assert_eq!(beginnings.recv().await, Some(execution));
    let modes = "select array_agg(distinct current_setting('synchronous_commit'))";
    assert_eq!(shop.ask::<Vec<String>>(modes).await, ["off"], "or the test cannot fail");
    shop.postgres.kill().unwrap();
    running.task.abort();
    shop.postgres.start_again().unwrap();
    shop.until_status(execution, "running").await;
}

/// It would be taken for lost while it runs, and what it runs begin elsewhere.
#[tokio::test]
async fn a_heartbeat_that_was_answered_outlives_a_crash() {
    let mut shop = Shop::open_migrated_with(late_to_write()).await;
    shop.execute(
        "create role app login in role postrider_application;
        select postrider.set_setting('worker_heartbeat_interval', '1');
        alter database shop set synchronous_commit = off",
    )
    .await;
    let running = Running::start(shop.builder().handle("resize", |_| async { Ok(Value::Null) }));
    shop.until("select exists (select from postrider.worker where status = 'active')").await;
    stop_writing(&shop).await;
    let began: String = shop.ask("select clock_timestamp()::text").await;
    let beats = format!("select bool_and(heartbeat_at > '{began}') from postrider.worker");
    shop.until(&beats).await;
    shop.postgres.kill().unwrap();
    running.task.abort();
    shop.postgres.start_again().unwrap();
    assert!(shop.ask::<bool>(&beats).await, "a heartbeat was forgotten");
}

/// A session that waits for more goes on doing so.
#[tokio::test]
async fn a_workers_commits_wait_for_the_disk_at_least_and_signs_of_life_for_no_standby() {
    let shop = open().await;
    let client = shop.client().await;
    let prepare = include_str!("../../postrider-client/sql/worker_session.sql");
    for (set, waits_for_standbys, expected) in [
        ("off", true, "on"),
        ("local", true, "on"),
        ("remote_write", true, "on"),
        ("on", true, "on"),
        ("remote_apply", true, "remote_apply"),
        ("on", false, "local"),
        ("remote_apply", false, "local"),
    ] {
        client.batch_execute(&format!("set synchronous_commit = {set}")).await.unwrap();
        client.query_one(prepare, &[&"1s", &waits_for_standbys]).await.unwrap();
        let mode = client.query_one("show synchronous_commit", &[]).await.unwrap();
        assert_eq!(mode.get::<_, &str>(0), expected, "{set}, {waits_for_standbys}");
    }
}

#[tokio::test]
async fn a_transient_error_is_retried() {
    let shop = open().await;
    let worker = Running::start(shop.builder().handle("flaky", |execution| async move {
        if execution.attempt() == 1 {
            return Err(ExecutionError::transient("not yet"));
        }
        Ok(json!(execution.attempt()))
    }));
    let id = shop.submit("flaky", ", p_max_retries => 1").await;
    shop.until_status(id, "completed").await;
    let summary = worker.stop().await;
    assert_eq!((summary.completed, summary.retried), (1, 1), "{summary:?}");
}

#[tokio::test]
async fn a_cancelled_execution_is_told_and_dropped() {
    let shop = open().await;
    let (endless, mut begun) = Endless::new();
    let worker =
        Running::start(endless.handle(shop.builder()).handle("polite", |execution| async move {
            assert_eq!(execution.stopped().await, Stop::Cancelled);
            Err(ExecutionError::transient("stopped half-way"))
        }));
    let stubborn = shop.submit("endless", "").await;
    assert_eq!(begun.recv().await, Some(stubborn));
    let polite = shop.submit("polite", ", p_max_retries => 5").await;
    shop.until_status(polite, "running").await;
    for id in [stubborn, polite] {
        let status: String = shop.ask(&format!("select postrider.cancel_execution({id})")).await;
        assert_eq!(status, "cancelling");
        shop.until_status(id, "cancelled").await;
    }
    assert_eq!(endless.count(), 0, "it was dropped");
    assert_eq!(shop.error(polite).await["message"], "stopped half-way");
    assert_eq!(worker.stop().await.cancelled, 2);
}

#[tokio::test]
async fn a_handler_is_dropped_at_its_deadline_unless_it_is_extended() {
    let shop = open().await;
    let (endless, mut begun) = Endless::new();
    let builder = endless.handle(shop.builder()).handle("long", |execution| async move {
        assert!(execution.extend(LONG).await.unwrap());
        let longer = execution.remaining() > Duration::from_secs(30);
        // Beyond the deadline that it was started with.
        let late = Duration::from_secs(4);
        let _ = tokio::time::timeout(late, execution.stopped()).await;
        Ok(json!(longer && !execution.is_cancelled()))
    });
    let worker = Running::start(builder);
    let long = shop.submit("long", ", p_timeout => '3 seconds'").await;
    let late = shop.submit("endless", ", p_timeout => '1 second'").await;
    assert_eq!(begun.recv().await, Some(late));
    shop.until_status(late, "timeout").await;
    shop.until_status(long, "completed").await;
    let result: Value =
        shop.ask(&format!("select result from postrider.executions where id = {long}")).await;
    assert_eq!(result, json!(true));
    let summary = worker.stop().await;
    assert_eq!((endless.count(), summary.timed_out), (0, 1), "{summary:?}");
}

#[tokio::test]
async fn a_worker_that_ends_gives_back_what_has_not_ended() {
    let shop = open().await;
    let (endless, mut begun) = Endless::new();
    let builder = endless.handle(shop.builder()).shutdown_timeout(Duration::from_millis(100));
    let worker = Running::start(builder);
    let id = shop.submit("endless", "").await;
    assert_eq!(begun.recv().await, Some(id));
    let summary = worker.stop().await;
    assert_eq!((summary.released, endless.count()), (1, 0), "{summary:?}");
    let (status, attempt): (String, i32) = (
        shop.ask(&format!("select status from postrider.executions where id = {id}")).await,
        shop.ask(&format!("select attempt from postrider.executions where id = {id}")).await,
    );
    assert_eq!((status.as_str(), attempt), ("requested", 1));
}

/// A handler that does not stop has a minute here, which is more than the database allows.
#[tokio::test]
async fn what_is_to_be_given_back_is_stopped_before_others_may_have_it() {
    let shop = open().await;
    be_impatient(&shop).await;
    let (proxy, through) = shop.behind_proxy();
    let pulse = Pulse::of(&shop).await;
    let (endless, mut begun) = Endless::new();
    let (told, mut reasons) = mpsc::unbounded_channel();
    let handler = endless.clone();
    let builder = builder(&through)
        .shutdown_timeout(Duration::ZERO)
        .stop_grace(Duration::from_secs(60))
        .handle("endless", move |execution| {
            let (told, handler) = (told.clone(), handler.clone());
            async move {
                let stopped = execution.clone();
                let tell = async {
                    let _ = told.send(stopped.stopped().await);
                    std::future::pending().await
                };
                tokio::select! {
                    result = handler.run(execution) => result,
                    () = tell => Ok(Value::Null),
                }
            }
        });
    let Running { stop, task } = Running::start(builder);
    let id = shop.submit("endless", ", p_max_retries => 3").await;
    assert_eq!(begun.recv().await, Some(id));
    stop.send(()).unwrap();
    assert_eq!(reasons.recv().await, Some(Stop::Shutdown));
    proxy.black_hole(true);
    shop.until("select postrider.check_workers() > 0").await;
    endless.assert_stopped(&pulse).await;
    proxy.black_hole(false);
    proxy.cut();
    let summary = tokio::time::timeout(LONG, task).await.unwrap().unwrap().unwrap();
    assert_eq!(summary.completed, 0, "{summary:?}");
}

#[tokio::test]
async fn a_handler_keeps_its_place_until_it_has_ended_whatever_the_database_counts() {
    let shop = open().await;
    let (endless, mut begun) = Endless::new();
    let go = Arc::new(Notify::new());
    let (handler, wait) = (endless.clone(), Arc::clone(&go));
    let builder = shop.builder().capacity(1).stop_grace(LONG).handle("late", move |execution| {
        let (handler, wait) = (handler.clone(), Arc::clone(&wait));
        async move {
            tokio::select! {
                result = handler.run(execution) => result,
                () = wait.notified() => Ok(Value::Null),
            }
        }
    });
    let worker = Running::start(builder);
    let late = shop.submit("late", ", p_timeout => '500 milliseconds'").await;
    assert_eq!(begun.recv().await, Some(late));
    let next = shop.submit("late", "").await;
    shop.until(&format!(
        "select postrider.check_executions(100) is not null
            and (select status = 'timeout' from postrider.executions where id = {late})"
    ))
    .await;
    let running: i64 = shop.ask("select running_count::bigint from postrider.workers").await;
    assert_eq!(running, 0, "the database does not count it any more");
    let early = tokio::time::timeout(Duration::from_secs(1), begun.recv()).await;
    assert!(early.is_err(), "{early:?} while the first one goes on");
    go.notify_one();
    assert_eq!(begun.recv().await, Some(next));
    assert_eq!(endless.count(), 1, "the first one has ended");
    go.notify_one();
    shop.until_status(next, "completed").await;
    worker.stop().await;
}

/// What a worker has told, in words.
fn told(builder: WorkerBuilder) -> (WorkerBuilder, Arc<Mutex<Vec<String>>>) {
    let texts: Arc<Mutex<Vec<String>>> = Arc::default();
    let (troubles, events) = (Arc::clone(&texts), Arc::clone(&texts));
    let builder = builder
        .on_trouble(move |trouble| troubles.lock().unwrap().push(trouble.to_string()))
        .on_event(move |event| events.lock().unwrap().push(event.to_string()));
    (builder, texts)
}

#[tokio::test]
async fn an_outage_is_told_once_and_its_end_once() {
    let mut shop = open().await;
    shop.execute("select postrider.set_setting('worker_stale_after', '60')").await;
    let (builder, texts) = told(shop.builder().handle("any", |_| async { Ok(Value::Null) }));
    let worker = Running::start(builder);
    shop.until("select count(*) = 1 from postrider.workers where status = 'active'").await;
    shop.postgres.stop().unwrap();
    // Long enough for many tries of each connection.
    let until = |count: usize| {
        let texts = Arc::clone(&texts);
        async move {
            let wait = async {
                while texts.lock().unwrap().len() < count {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(LONG, wait).await.expect("it says so");
        }
    };
    until(2).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    shop.postgres.start_again().unwrap();
    until(3).await;
    let id = shop.submit("any", "").await;
    shop.until_status(id, "completed").await;
    worker.stop().await;
    let texts = texts.lock().unwrap();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].starts_with("registered as worker "), "{texts:?}");
    assert!(texts[1].contains("could not call Postrider"), "{texts:?}");
    assert_eq!(texts[2], "the database answers again");
}

#[tokio::test]
async fn a_worker_whose_heart_has_stopped_ends() {
    let shop = open().await;
    be_impatient(&shop).await;
    let (proxy, through) = shop.behind_proxy();
    let (endless, mut begun) = Endless::new();
    let builder = endless.handle(builder(&through)).on_trouble(|_| {
        if std::thread::current().name() == Some("postrider-heart") {
            // As a panic, without a backtrace in the log.
            std::panic::resume_unwind(Box::new("a bug of the application's"));
        }
    });
    let worker = Running::start(builder);
    let id = shop.submit("endless", "").await;
    assert_eq!(begun.recv().await, Some(id));
    proxy.black_hole(true);
    let error = worker.end().await.unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("the thread of the heartbeats has ended"), "{error:?}");
    assert_eq!(endless.count(), 0);
}

#[tokio::test]
async fn who_registers_a_name_ends_the_worker_that_had_it() {
    let shop = open().await;
    let (endless, mut begun) = Endless::new();
    let first = Running::start(endless.handle(shop.builder()));
    let id = shop.submit("endless", ", p_max_retries => 1").await;
    assert_eq!(begun.recv().await, Some(id));
    let second = Running::start(
        shop.builder().handle("endless", |execution| async move { Ok(json!(execution.attempt())) }),
    );
    let error = first.end().await.unwrap_err();
    assert!(matches!(error, Error::WorkerReplaced { .. }), "{error:?}");
    assert_eq!(endless.count(), 0);
    shop.until_status(id, "completed").await;
    second.stop().await;
}

/// A worker that is started again as another role, which its former process has not left to.
#[tokio::test]
async fn a_name_of_another_role_is_waited_for_until_that_worker_is_lost() {
    let shop = open().await;
    shop.execute("create role former login in role postrider_worker").await;
    let former = shop.postgres.connect_as("former", "shop").await.unwrap();
    former.batch_execute("select postrider.register_worker('worker-1')").await.unwrap();
    let (told, mut troubles) = mpsc::unbounded_channel();
    let start = || {
        let told = told.clone();
        Running::start(
            shop.builder()
                .on_trouble(move |trouble| told.send(trouble.to_string()).unwrap())
                .handle_any(|_| async { Ok(json!(1)) }),
        )
    };
    let text = "Worker 'worker-1' lives, and was registered by role \"former\", not by \"app\"";

    // It may have ended: it is silent for long enough.
    let worker = start();
    let trouble = troubles.recv().await.unwrap();
    assert!(trouble.contains(text), "{trouble}");
    shop.execute("update postrider.worker set heartbeat_at = now() - interval '2 hours'").await;
    let id = shop.submit("a", "").await;
    shop.until_status(id, "completed").await;
    worker.stop().await;

    // It lives: it is heard of after that time, too.
    former.batch_execute("select postrider.register_worker('worker-1')").await.unwrap();
    shop.execute("select postrider.set_setting('worker_stale_after', '3')").await;
    shop.execute("update postrider.worker set heartbeat_at = now() + interval '1 day'").await;
    let began = Instant::now();
    let error = start().end().await.unwrap_err();
    assert!(began.elapsed() >= Duration::from_secs(3));
    assert_eq!(error.code(), Some("55006"));
    let causes: Vec<String> =
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .map(ToString::to_string)
            .collect();
    assert!(causes.iter().any(|cause| cause.contains(text)), "{causes:?}");
}

#[tokio::test]
async fn a_worker_that_was_cut_off_stops_in_time_and_comes_back() {
    let shop = open().await;
    be_impatient(&shop).await;
    let (proxy, through) = shop.behind_proxy();
    let pulse = Pulse::of(&shop).await;
    let (endless, mut begun) = Endless::new();
    let is_lost = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_lost);
    let builder = endless.handle(builder(&through)).on_trouble(move |trouble| {
        seen.fetch_or(matches!(trouble, WorkerTrouble::Lost { .. }), Ordering::SeqCst);
    });
    let worker = Running::start(builder);
    let id = shop.submit("endless", ", p_max_retries => 3").await;
    assert_eq!(begun.recv().await, Some(id));
    proxy.black_hole(true);
    shop.until("select postrider.check_workers() > 0").await;
    endless.assert_stopped(&pulse).await;
    proxy.black_hole(false);
    proxy.cut();
    assert_eq!(tokio::time::timeout(LONG, begun.recv()).await.unwrap(), Some(id), "again");
    assert!(is_lost.load(Ordering::SeqCst));
    worker.stop().await;
}

#[tokio::test]
async fn a_standby_that_does_not_answer_stops_no_handler() {
    let shop = open().await;
    be_impatient(&shop).await;
    let (endless, mut begun) = Endless::new();
    let (builder, texts) = told(endless.handle(shop.builder()));
    let worker = Running::start(builder);
    let id = shop.submit("endless", "").await;
    assert_eq!(begun.recv().await, Some(id));
    let began: String = shop.ask("select clock_timestamp()::text").await;
    shop.wants_standby("nobody").await;
    // Longer than after which it counts as lost, and would stop its handlers.
    let beats = format!(
        "select bool_and(w.heartbeat_at > '{began}'::timestamptz + interval '{} seconds')
        from postrider.worker w",
        2 * IMPATIENT.as_secs()
    );
    shop.until(&beats).await;
    assert_eq!(endless.count(), 1, "{:?}", texts.lock().unwrap());
    shop.wants_standby("").await;
    worker.stop().await;
    let texts = texts.lock().unwrap();
    assert!(!texts.iter().any(|text| text.contains("lost")), "{texts:?}");
}

#[tokio::test]
async fn results_outlast_a_restart_of_the_database() {
    let mut shop = open().await;
    let (go, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (wait, tell) = (Arc::clone(&go), Arc::clone(&ended));
    let worker = Running::start(shop.builder().handle("slow", move |_| {
        let (wait, tell) = (Arc::clone(&wait), Arc::clone(&tell));
        async move {
            wait.notified().await;
            tell.notify_one();
            Ok(json!("kept"))
        }
    }));
    let id = shop.submit("slow", "").await;
    shop.until_status(id, "running").await;
    shop.postgres.stop().unwrap();
    go.notify_one();
    ended.notified().await;
    shop.postgres.start_again().unwrap();
    shop.until_status(id, "completed").await;
    let summary = worker.stop().await;
    assert_eq!((summary.completed, summary.not_counted), (1, 0), "{summary:?}");
}

#[tokio::test]
async fn a_handler_that_blocks_does_not_stop_the_heart() {
    let shop = open().await;
    be_impatient(&shop).await;
    // All on one thread, which the handler keeps for longer than worker_stale_after.
    let worker = Running::start(shop.builder().handle("block", |_| async {
        std::thread::sleep(IMPATIENT + Duration::from_secs(2));
        Ok(Value::Null)
    }));
    let id = shop.submit("block", "").await;
    shop.until_status(id, "completed").await;
    let lost: bool = shop.ask("select postrider.check_workers() > 0").await;
    assert!(!lost);
    let summary = worker.stop().await;
    assert_eq!(summary.completed, 1, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sleeping_worker_is_woken_and_a_busy_one_is_quick() {
    let shop = open().await;
    let worker =
        Running::start(shop.builder().capacity(200).handle("empty", |_| async { Ok(Value::Null) }));
    shop.until("select count(*) = 1 from postrider.workers where status = 'active'").await;
    let count = 2_000;
    shop.execute(&format!(
        "select postrider.submit_execution('empty') from generate_series(1, {count})"
    ))
    .await;
    let began = Instant::now();
    shop.until(&format!(
        "select count(*) = {count} from postrider.execution_end where status = 'completed'"
    ))
    .await;
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("{:.0} executions a second", f64::from(count) / seconds);
    let summary = worker.stop().await;
    assert_eq!((summary.completed, summary.not_counted), (count as u64, 0));
}

/// Any login may take the locks of doorbells: who does makes workers poll, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doorbell_that_a_stranger_holds_stops_no_worker() {
    let shop = open().await;
    let stranger = shop.client().await;
    stranger
        .batch_execute("create role stranger login; set session authorization stranger")
        .await
        .unwrap();
    for (class, mode) in [
        (1_886_352_247, ""),
        (1_886_352_247, "_shared"),
        (1_886_352_248, ""),
        (1_886_352_248, "_shared"),
    ] {
        let sql = format!(
            "select pg_advisory_unlock_all();
            select pg_advisory_lock{mode}({class}, n) from generate_series(0, 255) n"
        );
        stranger.batch_execute(&sql).await.unwrap();
        let worker = Running::start(
            shop.builder().capacity(2).handle("empty", |_| async { Ok(Value::Null) }),
        );
        for _ in 0..5 {
            let id = shop.submit("empty", "").await;
            shop.until_status(id, "completed").await;
        }
        let summary = worker.stop().await;
        assert_eq!(summary.completed, 5, "{class}{mode}");
    }
}
