//! The command line: executions, workers and actions.

use crate::shop::Shop;
use serde_json::{Value, json};
use tokio_postgres::Client;

/// A worker made of SQL.
struct SqlWorker {
    client: Client,
    id: i32,
}

impl SqlWorker {
    async fn register(shop: &Shop, name: &str, pool: &str) -> Self {
        let client = shop.client().await;
        // It has no heart, and commands take their time.
        shop.execute("select postrider.set_setting('worker_stale_after', '3600')").await;
        let sql = "select worker_id from postrider.register_worker($1, $2, 10)";
        let id = client.query_one(sql, &[&name, &pool]).await.unwrap().get(0);
        Self { client, id }
    }

    /// Waits for an execution and starts it: its id and fence.
    async fn start(&self) -> (i64, i64) {
        let take = "select t.execution_id, t.fence
            from postrider.take_executions($1, 1, '30 seconds') t";
        let taken = self.client.query_one(take, &[&self.id]).await.unwrap();
        let start = "select s.execution_id, s.fence from postrider.start_execution($1, $2) s";
        let (id, fence): (i64, i64) = (taken.get(0), taken.get(1));
        let started = self.client.query_one(start, &[&id, &fence]).await.unwrap();
        (started.get(0), started.get(1))
    }

    /// Starts one, and it completes.
    async fn complete(&self, result: &Value) -> i64 {
        let (id, fence) = self.start().await;
        let sql = "select postrider.complete_execution($1, $2, $3)";
        assert!(
            self.client.query_one(sql, &[&id, &fence, result]).await.unwrap().get::<_, bool>(0)
        );
        id
    }

    /// Starts one, and it fails. Returns its id and the status it then has.
    async fn fail(&self, reason: &str, error: &Value) -> (i64, String) {
        let (id, fence) = self.start().await;
        let sql = "select postrider.fail_execution($1, $2, $3, $4)";
        let row = self.client.query_one(sql, &[&id, &fence, &reason, error]).await.unwrap();
        (id, row.get(0))
    }
}

#[track_caller]
fn submit(shop: &Shop, arguments: &[&str]) -> i64 {
    let run = shop.run(&[&["execution", "submit"], arguments, &["--json"]].concat());
    run.json()["id"].as_i64().unwrap()
}

#[track_caller]
fn show(shop: &Shop, id: i64) -> Value {
    shop.run(&["execution", "show", &id.to_string(), "--json"]).json()
}

#[track_caller]
fn listed(shop: &Shop, options: &[&str]) -> Vec<i64> {
    let rows = shop.run(&[&["execution", "list", "--json"], options].concat()).json();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

/// A command in the background, as one waits for it in a shell.
fn in_background(shop: &Shop, arguments: &[&str]) -> tokio::task::JoinHandle<crate::shop::Run> {
    let url = shop.url();
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        crate::shop::run(&url, &arguments, "")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_submitted_with_all_its_options() {
    let shop = Shop::open_migrated().await;
    let run = shop.run(&["execution", "submit", "resize"]).succeed();
    assert_eq!(run.stdout, "Execution 1 is submitted.\n");
    let first = show(&shop, 1);
    assert_eq!((&first["parameters"], &first["pool"]), (&json!({}), &json!("default")));
    assert_eq!((&first["ttl"], &first["timeout"]), (&json!("00:05:00"), &json!("01:00:00")));
    let correlation = "5b5ff8d4-1f54-4d6e-9b2e-6b7d3f4a8c11";
    let options = [
        "report",
        "--parameters",
        "{\"n\": 1.10}",
        "--worker",
        "big",
        "--pool",
        "reports",
        "--ttl",
        "1.5m",
        "--timeout",
        "0.5",
        "--priority",
        "7",
        "--max-retries",
        "3",
        "--idempotency-key",
        "k",
        "--correlation-id",
        correlation,
    ];
    let id = submit(&shop, &options);
    assert_eq!(submit(&shop, &options), id, "the key is taken");
    let row = show(&shop, id);
    for (field, value) in [
        ("action", json!("report")),
        ("status", json!("requested")),
        ("addressed_to", json!("big")),
        ("pool", json!("reports")),
        ("ttl", json!("00:01:30")),
        ("timeout", json!("00:00:00.5")),
        ("priority", json!(7)),
        ("max_retries", json!(3)),
        ("idempotency_key", json!("k")),
        ("correlation_id", json!(correlation)),
        ("parameters", json!({"n": 1.10})),
        ("attempts", json!([])),
        ("dead_letters", json!([])),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
    let file = format!("{}/parameters-{}.json", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&file, "[\"from a file\"]").unwrap();
    let id = submit(&shop, &["resize", "--parameters", &format!("@{file}")]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(show(&shop, id)["parameters"], json!(["from a file"]));
    let arguments = ["execution", "submit", "resize", "--parameters", "-", "--json"];
    let id = shop.run_with_input(&arguments, "\"piped\"").json()["id"].as_i64().unwrap();
    assert_eq!(show(&shop, id)["parameters"], json!("piped"));

    for (arguments, code, text) in [
        (&["resize", "--parameters", "{"][..], 2, "--parameters: EOF while parsing"),
        (&["resize", "--parameters", "@/nowhere"], 2, "/nowhere: No such file"),
        (&["resize", "--ttl", "0.5"], 2, "'--ttl <TIME>': must be between 1 second and 30 days"),
        (
            &["resize", "--ttl", "0s"],
            2,
            "'--ttl <TIME>': must be between 1 second and 30 days, got 0s",
        ),
        (&["resize", "--timeout", "31d"], 2, "must be between 1 millisecond and 30 days, got 31d"),
        (&["resize", "--ttl", "soon"], 2, "expected a time such as 30s"),
        (&["resize", "--priority", "11"], 2, "11 is not in 0..=10"),
        (&["a b"], 2, "p_action must be 1 to 200 letters"),
        (&["resize", "--wait-timeout", "1s"], 2, "--wait"),
    ] {
        shop.run(&[&["execution", "submit"], arguments].concat()).fail(code, text);
    }
    assert_eq!(listed(&shop, &[]).len(), 4, "what was refused was not submitted");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_can_wait_for_the_end_of_an_execution() {
    let shop = Shop::open_migrated().await;
    let worker = SqlWorker::register(&shop, "w1", "default").await;
    let waiting = ["execution", "submit", "sum", "--wait"];
    let command = in_background(&shop, &waiting);
    worker.complete(&json!({"sum": 3})).await;
    let run = command.await.unwrap().succeed();
    assert_eq!(run.stdout, "{\"sum\": 3}\n");
    assert!(run.stderr.contains("execution 1 is submitted; waiting for its end"), "{run:?}");

    let command = in_background(&shop, &[&waiting[..], &["--json"]].concat());
    worker.complete(&Value::Null).await;
    let row = command.await.unwrap().json();
    assert_eq!((&row["id"], &row["status"]), (&json!(2), &json!("completed")));

    let command = in_background(&shop, &waiting);
    let error = json!({"error": "no such image"});
    assert_eq!(worker.fail("permanent_error", &error).await, (3, "failed".to_owned()));
    let said = "Execution 3 has ended as failed: permanent_error, {\"error\": \"no such image\"}";
    assert_eq!(command.await.unwrap().fail(1, said).stdout, "");

    let command = in_background(&shop, &[&waiting[..], &["--json"]].concat());
    worker.fail("permanent_error", &error).await;
    let run = command.await.unwrap();
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let row: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&row["status"], &row["error"]), (&json!("failed"), &error));

    let run = shop.run(&[&waiting[..], &["--wait-timeout", "0.1s"]].concat());
    run.fail(1, "Execution 5 has not ended in time; it goes on");
    assert_eq!(show(&shop, 5)["status"], "requested");
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_are_listed_from_the_newest() {
    let shop = Shop::open_migrated().await;
    let run = shop.run(&["execution", "list"]).succeed();
    assert_eq!(run.stdout, "There are no such executions.\n");
    let worker = SqlWorker::register(&shop, "w1", "images").await;
    let images = ["resize", "--pool", "images"];
    let completed = submit(&shop, &images);
    worker.complete(&json!("done")).await;
    let failed = submit(&shop, &images);
    worker.fail("permanent_error", &json!({})).await;
    let cancelled = submit(&shop, &["report"]);
    shop.run(&["execution", "cancel", &cancelled.to_string()]).succeed();
    let running = submit(&shop, &images);
    worker.start().await;
    let addressed = submit(&shop, &["report", "--worker", "w1"]);
    let requested = submit(&shop, &["report", "--pool", "other"]);
    for (options, ids) in [
        (&[][..], &[requested, addressed, running, cancelled, failed, completed][..]),
        (&["--limit", "2"], &[requested, addressed]),
        (&["--limit", "2", "--before", &addressed.to_string()], &[running, cancelled]),
        (&["--before", "1"], &[]),
        (&["--status", "requested"], &[requested, addressed]),
        (&["--status", "running"], &[running]),
        (&["--status", "scheduled"], &[]),
        (&["--status", "completed"], &[completed]),
        (&["--status", "failed"], &[failed]),
        (&["--status", "timeout"], &[]),
        (&["--status", "cancelled"], &[cancelled]),
        (&["--status", "requested", "--action", "report", "--pool", "other"], &[requested]),
        (&["--action", "resize"], &[running, failed, completed]),
        (&["--pool", "images", "--limit", "1"], &[running]),
        (&["--worker", "w1"], &[addressed, running, failed, completed]),
        (&["--worker", "w1", "--status", "failed"], &[failed]),
    ] {
        assert_eq!(listed(&shop, options), ids, "{options:?}");
    }
    let table = shop.run(&["execution", "list"]).succeed().stdout;
    assert!(table.starts_with("ID  ACTION  STATUS"), "{table}");
    // Times have no room, which the last line says.
    assert_eq!(table.lines().count(), 8, "{table}");
    shop.run(&["execution", "list", "--worker", "w2"]).fail(1, "Worker 'w2' does not exist\n");
    shop.run(&["execution", "list", "--status", "lost"]).fail(2, "requested, scheduled, running");
    shop.run(&["execution", "list", "--limit", "0"]).fail(2, "0 is not in 1..=10000");
}

/// More than one look, and what is looked for stands at its two ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_read_by_index_a_part_at_a_time() {
    let shop = Shop::open_migrated().await;
    let first = submit(&shop, &["rare"]);
    let fill = "insert into postrider.execution (
            action, parameters, pool, priority, ttl_ms, timeout_ms, max_retries)
        select 'common', '{}', 'default', 0, 1000, 1000, 0
        from generate_series(1, 25000);
        insert into postrider.execution_end (
            execution_id, attempt, is_final, status, action, requested_at)
        select id, 1, true, case when id % 5000 = 0 then 'failed' else 'completed' end, action, now()
        from postrider.execution
        where action = 'common';
        analyze postrider.execution, postrider.execution_end";
    shop.client().await.batch_execute(fill).await.unwrap();
    let last = submit(&shop, &["rare"]);
    assert_eq!(listed(&shop, &["--action", "rare"]), [last, first]);
    let failed = [25_000, 20_000, 15_000, 10_000, 5_000];
    assert_eq!(listed(&shop, &["--status", "failed"]), failed);
    assert_eq!(listed(&shop, &["--limit", "10000"]).len(), 10_000);

    let client = shop.client().await;
    client
        .batch_execute(include_str!("../../../sql/queries/watch/live_session.sql"))
        .await
        .unwrap();
    let query = include_str!("../../../sql/queries/fleet/executions.sql").trim_end();
    let prepare = "prepare list (text, text, text, text, bigint, bigint, bigint) as ";
    client.batch_execute(&format!("{prepare}{}", query.trim_end_matches(';'))).await.unwrap();
    for (values, index, most_buffers) in [
        ("null, null, null, null, 50, 20000, 50", "execution_pkey", 1_500),
        ("'completed', null, null, null, 50, 20000, 50", "execution_pkey", 1_500),
        ("'failed', null, null, null, 50, 24000, 50", "execution_end_unsuccessful", 100),
        ("'requested', null, null, null, 50, 1000000, 50", "live_execution_pkey", 100),
        ("null, 'rare', null, null, 50, 20000, 1000", "execution_pkey", 20_000),
    ] {
        let explain = "explain (analyze, buffers, format json, timing off)";
        let sql = format!("{explain} execute list ({values})");
        let plan: Value = client.query_one(&sql, &[]).await.unwrap().get(0);
        let top = &plan[0]["Plan"];
        let buffers = ["Shared Hit Blocks", "Shared Read Blocks"]
            .iter()
            .map(|name| top[name].as_i64().unwrap())
            .sum::<i64>();
        assert!(buffers <= most_buffers, "{values}: {buffers} pages\n{plan:#}");
        assert!(plan.to_string().contains(index), "{values}: {plan:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_shown_with_all_that_became_of_it() {
    let shop = Shop::open_migrated().await;
    let worker = SqlWorker::register(&shop, "w1", "default").await;
    let id = submit(&shop, &["resize", "--max-retries", "1"]);
    let error = json!({"error": "a\u{1b}[2Jb"});
    assert_eq!(worker.fail("transient_error", &error).await, (id, "requested".to_owned()));
    let text = id.to_string();
    shop.run(&["execution", "retry", &text]).fail(1, &format!("Execution {id} has not ended"));
    assert_eq!(worker.complete(&json!({"size": 7})).await, id);
    let row = show(&shop, id);
    assert_eq!((&row["status"], &row["attempt"]), (&json!("completed"), &json!(2)));
    assert_eq!(
        (&row["result"], &row["retry_reason"]),
        (&json!({"size": 7}), &json!("transient_error"))
    );
    let attempts = row["attempts"].as_array().unwrap();
    let summary: Vec<_> = attempts
        .iter()
        .map(|end| (end["attempt"].as_i64().unwrap(), end["status"].as_str().unwrap()))
        .collect();
    assert_eq!(summary, [(1, "failed"), (2, "completed")]);
    assert_eq!(
        (&attempts[0]["worker"], &attempts[0]["error"]["error"]),
        (&json!("w1"), &error["error"])
    );
    let shown = shop.run(&["execution", "show", &text]).succeed().stdout;
    assert!(shown.contains("\n\nHow its attempts ended:\nATTEMPT  STATUS "), "{shown}");
    assert!(!shown.contains("Dead letters") && !shown.contains('\u{1b}'), "{shown:?}");

    let again = shop.run(&["execution", "retry", &text]).succeed().stdout;
    assert_eq!(again, format!("Execution {id} is asked for again as {}.\n", id + 1));
    assert_eq!(show(&shop, id + 1)["original_execution"], json!(id));
    let (running, _) = worker.start().await;
    let running = running.to_string();
    let run = shop.run(&["execution", "cancel", &running]).succeed();
    assert!(run.stdout.contains("is running; its worker is told to stop"), "{run:?}");
    let run = shop.run(&["execution", "cancel", &text]).succeed();
    assert_eq!(run.stdout, format!("Execution {id} had ended already: completed.\n"));
    let waiting = submit(&shop, &["resize", "--pool", "nobody"]);
    let run = shop.run(&["execution", "cancel", &waiting.to_string(), "--json"]).json();
    assert_eq!(run, json!({ "id": waiting, "status": "cancelled" }));
    for command in ["show", "cancel", "retry"] {
        shop.run(&["execution", command, "999"]).fail(1, "Execution 999 does not exist");
        shop.run(&["execution", command, "0"]).fail(2, "0 is not in 1..");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_shown_also_unreadable_ones() {
    let shop = Shop::open_migrated().await;
    let run = shop.run(&["execution", "dead-letters"]).succeed();
    assert_eq!(run.stdout, "Nothing was dead-lettered.\n");
    let id = submit(&shop, &["resize", "--worker", "gone", "--ttl", "1s"]);
    shop.until(&format!(
        "select postrider.check_executions(100) is not null
            and exists (select from postrider.execution_end where execution_id = {id})"
    ))
    .await;
    let row = show(&shop, id);
    assert_eq!((&row["status"], &row["reason"]), (&json!("failed"), &json!("queue_timeout")));
    assert_eq!(row["dead_letters"][0]["outcome"], "failed");
    let shown = shop.run(&["execution", "show", &id.to_string()]).succeed().stdout;
    assert!(shown.contains("\n\nDead letters:\nID "), "{shown}");
    let keep = format!(
        "select postrider.keep_dead_letter('\\x1b00ff{}', '{{\"queue\": \"q\"}}', '{{}}')",
        "41".repeat(200)
    );
    shop.execute(&keep).await;
    let rows = shop.run(&["execution", "dead-letters", "--json"]).json();
    let unreadable = &rows[0];
    assert_eq!(
        (&unreadable["outcome"], &unreadable["body_bytes"]),
        (&json!("unreadable"), &json!(203))
    );
    let start = format!("\u{1b}\\000\\377{}", "A".repeat(97));
    assert_eq!(
        (&unreadable["body_start"], &unreadable["x_death"]),
        (&json!(start), &json!({"queue": "q"}))
    );
    assert_eq!((&rows[1]["execution_id"], &rows[1]["worker"]), (&json!(id), &json!("gone")));
    let table = shop.run(&["execution", "dead-letters"]).succeed().stdout;
    assert!(table.starts_with("ID ") && !table.contains('\u{1b}'), "{table:?}");
    let count = |options: &[&str]| {
        let run = shop.run(&[&["execution", "dead-letters", "--json"], options].concat());
        run.json().as_array().unwrap().len()
    };
    assert_eq!(count(&["--limit", "1"]), 1);
    assert_eq!(count(&["--outcome", "failed"]), 1);
    assert_eq!(count(&["--outcome", "retried"]), 0);
    assert_eq!(count(&["--before", &unreadable["id"].to_string()]), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_listed_cordoned_and_dropped() {
    let shop = Shop::open_migrated().await;
    assert_eq!(shop.run(&["worker", "list"]).succeed().stdout, "There are no workers.\n");
    let worker = SqlWorker::register(&shop, "resizer-1", "images").await;
    SqlWorker::register(&shop, "reporter", "reports").await;
    let names = |options: &[&str]| -> Vec<String> {
        let rows = shop.run(&[&["worker", "list", "--json"], options].concat()).json();
        let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names(&[]), ["resizer-1", "reporter"]);
    assert_eq!(names(&["--pool", "reports"]), ["reporter"]);
    submit(&shop, &["resize", "--pool", "images"]);
    worker.complete(&Value::Null).await;
    let running = submit(&shop, &["resize", "--pool", "images"]);
    worker.start().await;
    let row = shop.run(&["worker", "show", "resizer-1", "--json"]).json();
    assert_eq!((&row["status"], &row["running_count"]), (&json!("active"), &json!(1)));
    assert_eq!(
        (&row["executions"][0]["id"], &row["ended"][0]["status"]),
        (&json!(running), &json!("completed"))
    );
    let shown = shop.run(&["worker", "show", "resizer-1"]).succeed().stdout;
    assert!(
        shown.contains("\n\nWhat it has:\nID ") && shown.contains("\n\nWhat it had:\nID "),
        "{shown}"
    );

    let cordoned = shop.run(&["worker", "cordon", "resizer-1"]).succeed().stdout;
    assert_eq!(cordoned, "Worker resizer-1 is cordoned.\n");
    let cordoned = shop.run(&["worker", "cordon", "resizer-1"]).succeed().stdout;
    assert_eq!(cordoned, "Worker resizer-1 was cordoned already.\n");
    assert_eq!(shop.run(&["worker", "show", "resizer-1", "--json"]).json()["status"], "cordoned");
    let table = shop.run(&["worker", "list"]).succeed().stdout;
    assert!(table.starts_with("NAME ") && table.contains("cordoned"), "{table}");
    let uncordoned = shop.run(&["worker", "uncordon", "resizer-1", "--json"]).json();
    assert_eq!(uncordoned, json!({"name": "resizer-1", "cordoned": false, "changed": true}));
    let missing = ["worker", "--exec", "/nowhere/handler"];
    shop.run(&missing).fail(2, "--exec /nowhere/handler: there is no such program");
    shop.run(&["worker", "--exec", "no-such-program"]).fail(2, "there is no such program");
    for wrong in [["--pool", "a b"], ["--name", "a b"], ["--label", "=x"]] {
        shop.run(&[&["worker", "--exec", "cat"], &wrong[..]].concat()).fail(2, "");
    }
    shop.run(&["worker", "drop", "resizer-1"]).fail(1, "is registered: stop it first");
    for command in ["show", "cordon", "uncordon", "drop"] {
        shop.run(&["worker", command, "resizer1"])
            .fail(1, "Worker 'resizer1' does not exist (did you mean resizer-1?)");
        shop.run(&["worker", command, "nobody-like-it"]).fail(1, "does not exist\n");
    }
    shop.execute("select postrider.deregister_worker(id) from postrider.worker").await;
    let dropped = shop.run(&["worker", "drop", "reporter"]).succeed().stdout;
    assert_eq!(dropped, "Worker reporter is dropped.\n");
    assert_eq!(names(&[]), ["resizer-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_are_set_listed_and_dropped() {
    let shop = Shop::open_migrated().await;
    assert_eq!(shop.run(&["action", "list"]).succeed().stdout, "No action has anything set.\n");
    let run = shop.run(&[
        "action",
        "set",
        "resize",
        "--ttl",
        "2m",
        "--timeout",
        "0.25",
        "--max-retries",
        "3",
        "--priority",
        "5",
        "--concurrency",
        "1",
        "--description",
        "smaller",
    ]);
    assert_eq!(run.succeed().stdout, "Action resize is set.\n");
    let worker = SqlWorker::register(&shop, "w1", "default").await;
    let id = submit(&shop, &["resize"]);
    assert_eq!(
        (&show(&shop, id)["priority"], &show(&shop, id)["ttl"]),
        (&json!(5), &json!("00:02:00"))
    );
    worker.start().await;
    let row = shop.run(&["action", "list", "--json"]).json()[0].clone();
    for (field, value) in [
        ("name", json!("resize")),
        ("ttl", json!("00:02:00")),
        ("timeout", json!("00:00:00.25")),
        ("max_retries", json!(3)),
        ("priority", json!(5)),
        ("concurrency", json!(1)),
        ("scheduled_count", json!(0)),
        ("running_count", json!(1)),
        ("description", json!("smaller")),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
    // What is not mentioned has the default again.
    shop.run(&["action", "set", "resize", "--concurrency", "2"]).succeed();
    let row = shop.run(&["action", "list", "--json"]).json()[0].clone();
    assert_eq!((&row["concurrency"], &row["ttl"]), (&json!(2), &Value::Null));
    let table = shop.run(&["action", "list"]).succeed().stdout;
    assert!(table.starts_with("NAME    CONCURRENCY"), "{table}");
    shop.run(&["action", "set", "a b"]).fail(2, "p_name must be 1 to 200 letters");
    shop.run(&["action", "set", "resize", "--ttl", "0s"]).fail(2, "between 1 second and 30 days");
    shop.run(&["action", "set", "resize", "--concurrency", "0"]).fail(2, "0 is not in 1..=10000");
    shop.run(&["action", "drop", "resise"])
        .fail(1, "Action 'resise' has nothing set (did you mean resize?)");
    let dropped = shop.run(&["action", "drop", "resize", "--json"]).json();
    assert_eq!(dropped, json!({"name": "resize", "dropped": true}));
    assert_eq!(shop.run(&["action", "list", "--json"]).json(), json!([]));
}
