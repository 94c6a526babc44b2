//! Worker fleets, the behaviour of the SQL functions on the carrier PostgreSQL.

use crate::shop::{
    Shop,
    executing::{DUE, Held, STALE, answer, register, run_one, start, status, submit, take, taken},
    producing::{check_refusal, check_refusals, id_of, pid_of, until_blocked},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

/// What waits for its time does so for longer than a test takes.
const LATER: &str = "update postrider.live_execution
    set due_at = clock_timestamp() + interval '1 hour'
    where is_delayed";

/// Makes an execution with this status: it, with its last fence, and one that has passed.
async fn bring(client: &Client, worker: i32, wanted: &str) -> (Held, i64) {
    let arguments = "'a', '{}', p_worker => 'w', p_max_retries => 1";
    let id = submit(client, arguments).await;
    let fence = async || {
        let sql = format!("select fence from postrider.live_execution where id = {id}");
        answer(client, &sql).await.parse::<i64>().unwrap_or(-1)
    };
    let first = fence().await;
    if wanted == "requested" {
        return (Held { id, fence: first }, first - 1);
    }
    let scheduled = take(client, worker, 1).await[0];
    assert_eq!(scheduled.id, id);
    if wanted == "scheduled" {
        return (scheduled, first);
    }
    let running = start(client, scheduled).await.unwrap();
    let (call, passed) = match wanted {
        "running" => return (running, scheduled.fence),
        "cancelling" => (format!("cancel_execution({id})"), scheduled.fence),
        "delayed" => {
            (format!("fail_execution({id}, {}, 'transient_error')", running.fence), running.fence)
        }
        "completed" => (format!("complete_execution({id}, {})", running.fence), scheduled.fence),
        "failed" => (format!("fail_execution({id}, {}, 'no')", running.fence), scheduled.fence),
        "timeout" | "cancelled" => {
            if wanted == "cancelled" {
                answer(client, &format!("select postrider.cancel_execution({id})")).await;
            }
            let sql = format!("update postrider.live_execution set due_at = now() where id = {id}");
            client.batch_execute(&sql).await.unwrap();
            ("check_executions(10)".to_owned(), scheduled.fence)
        }
        _ => unreachable!("{wanted}"),
    };
    answer(client, &format!("select postrider.{call}")).await;
    assert_eq!(status(client, id).await, wanted);
    let last = if wanted == "delayed" { fence().await } else { running.fence };
    (Held { id, fence: last }, passed)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_status_allows_what_it_allows_and_refuses_the_rest() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let worker = register(&client, "'w', p_capacity => 100").await.id;
    // What a call with the last fence says, and the status then.
    let functions = [
        "start",
        "complete",
        "fail",
        "fail_for_good",
        "release",
        "extend",
        "cancel",
        "dead_letter",
    ];
    let no = "none = | false = | null = | null = | false = | false =";
    let table = [
        ("requested", format!("{no} | cancelled cancelled | passed =")),
        ("delayed", format!("{no} | cancelled cancelled | passed =")),
        (
            "scheduled",
            "started running | false = | requested delayed | failed failed | true requested | false = \
             | cancelled cancelled | returned requested"
                .to_owned(),
        ),
        (
            "running",
            "none = | true completed | requested delayed | failed failed | true requested | true = \
             | cancelling cancelling | running ="
                .to_owned(),
        ),
        (
            "cancelling",
            "none = | true completed | cancelled cancelled | cancelled cancelled | true cancelled \
             | false = | cancelling = | running ="
                .to_owned(),
        ),
        ("completed", format!("{no} | completed = | terminal =")),
        ("failed", format!("{no} | failed = | terminal =")),
        ("timeout", format!("{no} | timeout = | terminal =")),
        ("cancelled", format!("{no} | cancelled = | terminal =")),
    ];
    let call = |function: &str, id: &str, fence: &str| match function {
        "start" => format!("select 'started' from postrider.start_execution({id}, {fence})"),
        "complete" => format!("select postrider.complete_execution({id}, {fence}, '1')::text"),
        "fail" => format!("select postrider.fail_execution({id}, {fence}, 'transient_error')"),
        "fail_for_good" => {
            format!("select postrider.fail_execution({id}, {fence}, 'permanent_error')")
        }
        "release" => format!("select postrider.release_execution({id}, {fence})::text"),
        "extend" => format!("select postrider.extend_execution({id}, {fence}, '1 h')::text"),
        "cancel" => format!("select postrider.cancel_execution({id})"),
        _ => format!("select postrider.handle_dead_letter({id}, {fence}, null, null)"),
    };
    let mut wrong = Vec::new();
    for (from, expected) in &table {
        let (held, passed) = bring(&client, worker, from).await;
        for (function, cell) in functions.iter().zip(expected.split(" | ")) {
            let (said, then) = cell.trim().split_once(' ').unwrap();
            let then = if then == "=" { from } else { then };
            let mut cases = vec![(held.fence, said, then)];
            if *function != "cancel" {
                let refusal = match *function {
                    "start" => "none",
                    "fail" | "fail_for_good" => "null",
                    "dead_letter" => match said {
                        "returned" => "passed",
                        other => other,
                    },
                    _ => "false",
                };
                cases.extend([(passed, refusal, *from), (held.fence + 1000, refusal, *from)]);
            }
            for (fence, said, then) in cases {
                client.batch_execute("begin").await.unwrap();
                let sql = call(function, &held.id.to_string(), &fence.to_string());
                let found = (answer(&client, &sql).await, status(&client, held.id).await);
                let finals = format!(
                    "select count(*) from postrider.execution_end where is_final and execution_id = {}",
                    held.id
                );
                let final_count = answer(&client, &finals).await;
                client.batch_execute("rollback").await.unwrap();
                let is_over =
                    ["completed", "failed", "timeout", "cancelled"].contains(&found.1.as_str());
                if (found.0.as_str(), found.1.as_str()) != (said, then)
                    || final_count != i32::from(is_over).to_string()
                {
                    wrong.push(format!(
                        "{from}, {function}, fence {fence} of {held:?}: {found:?} with {final_count} \
                         final rows, expected {said} {then}"
                    ));
                }
            }
        }
        // The worker is to get the next one only.
        client.batch_execute("truncate postrider.live_execution").await.unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (function, unknown) in functions
        .iter()
        .zip(["none", "false", "null", "null", "false", "false", "42704", "unknown"])
    {
        assert_eq!(answer(&client, &call(function, "999999", "1")).await, unknown, "{function}");
        if *function != "dead_letter" {
            assert_eq!(answer(&client, &call(function, "null", "1")).await, "22004", "{function}");
        }
        if !["cancel", "dead_letter"].contains(function) {
            assert_eq!(answer(&client, &call(function, "1", "null")).await, "22004", "{function}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_valid_is_refused_with_the_bound_and_nothing_is_written() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let worker = register(&client, "'w'").await.id;
    register(&client, "'r', p_carrier => 'rabbitmq'").await;
    client.batch_execute("select postrider.set_setting('max_payload_size', '1024')").await.unwrap();
    client.batch_execute("select postrider.set_setting('max_unknown_workers', '1')").await.unwrap();
    submit(&client, "'a', p_worker => 'awaited'").await;
    let long = "repeat('x', 201)";
    let name = "must be 1 to 200 letters, digits, _ . : or -, the first a letter or digit, got";
    let submit = |rest: &str| format!("select postrider.submit_execution({rest})");
    let cases: Vec<(String, &str, String)> = vec![
        (submit("null"), "22004", "Action must not be null".into()),
        (submit("'a', null"), "22004", "p_parameters must not be null".into()),
        (submit("''"), "22023", format!("p_action {name} ''")),
        (submit("E'a\\n'"), "22023", format!("p_action {name} 'a\n'")),
        (submit(long), "22023", format!("p_action {name} '{}'", "x".repeat(200))),
        (submit("'a', p_worker => '-w'"), "22023", format!("p_worker {name} '-w'")),
        (
            submit("'a', p_worker => 'other'"),
            "53400",
            "Worker 'other' has never registered, and role \"postgres\" has named 1 such workers, which is the limit \
             (max_unknown_workers)"
                .into(),
        ),
        (
            submit("'a', p_pool => 'ü'"),
            "22023",
            "p_pool must be 1 to 100 letters, digits, _ . : or -, the first a letter or digit, got 'ü'".into(),
        ),
        (
            submit("'a', p_ttl => '999 ms'"),
            "22023",
            "p_ttl must be between 1 second and 30 days, got 00:00:00.999".into(),
        ),
        (
            submit("'a', p_ttl => '30 days 1 s'"),
            "22023",
            "p_ttl must be between 1 second and 30 days, got 30 days 00:00:01".into(),
        ),
        (
            submit("'a', p_timeout => '0'"),
            "22023",
            "p_timeout must be between 1 millisecond and 30 days, got 00:00:00".into(),
        ),
        (submit("'a', p_priority => 11"), "22023", "p_priority must be between 0 and 10, got 11".into()),
        (submit("'a', p_priority => -1"), "22023", "p_priority must be between 0 and 10, got -1".into()),
        (
            submit("'a', p_max_retries => 1001"),
            "22023",
            "p_max_retries must be between 0 and 1000, got 1001".into(),
        ),
        (
            submit("'a', p_idempotency_key => ''"),
            "22023",
            "p_idempotency_key must have 1 to 255 characters, got 0".into(),
        ),
        (
            submit("'a', to_jsonb(repeat('x', 1023))"),
            "22023",
            "p_parameters must be at most 1024 bytes (max_payload_size), got 1025".into(),
        ),
        (
            "select postrider.complete_execution(1, 1, to_jsonb(repeat('x', 1023)))".into(),
            "22023",
            "p_result must be at most 1024 bytes (max_payload_size), got 1025".into(),
        ),
        (
            "select postrider.fail_execution(1, 1, 'x', to_jsonb(repeat('x', 1023)))".into(),
            "22023",
            "p_error must be at most 1024 bytes (max_payload_size), got 1025".into(),
        ),
        ("select postrider.fail_execution(1, 1, null)".into(), "22004", "p_reason must not be null".into()),
        (
            "select postrider.fail_execution(1, 1, 'No way')".into(),
            "22023",
            "p_reason must be a word of 1 to 63 lower-case letters, digits and _, got 'No way'".into(),
        ),
        (
            "select postrider.register_worker(null)".into(),
            "22004",
            "p_name, p_pool and p_capacity must not be null".into(),
        ),
        (
            "select postrider.register_worker('x', p_capacity => 0)".into(),
            "22023",
            "p_capacity must be between 1 and 10000, got 0".into(),
        ),
        (
            "select postrider.register_worker('x', p_labels => '[]')".into(),
            "22023",
            "p_labels must be an object of at most 8192 bytes".into(),
        ),
        (
            "select postrider.register_worker('x', p_carrier => 'pigeon')".into(),
            "22023",
            "p_carrier must be postgres or rabbitmq, got 'pigeon'".into(),
        ),
        ("select postrider.take_executions(null)".into(), "22004", "p_worker must not be null".into()),
        ("select postrider.take_executions(99)".into(), "42704", "Worker 99 does not exist".into()),
        (
            "select postrider.take_executions(1, 0)".into(),
            "22023",
            "p_limit must be between 1 and 10000, got 0".into(),
        ),
        (
            "select postrider.take_executions(1, 1, '61 s')".into(),
            "22023",
            "p_wait must be between 0 seconds and 60 seconds, got 00:01:01".into(),
        ),
        (
            "select postrider.take_executions(2)".into(),
            "55000",
            "Worker 'r' gets its executions by rabbitmq".into(),
        ),
        (
            format!("select postrider.take_executions({worker}, p_epoch => 7)"),
            "55000",
            "Worker 'w' has to register again: another process has its name (epoch 1, not 7)".into(),
        ),
        ("select postrider.worker_heartbeat(99)".into(), "42704", "Worker 99 does not exist".into()),
        ("select postrider.deregister_worker(null)".into(), "22004", "p_worker must not be null".into()),
        ("select postrider.cordon_worker('x')".into(), "42704", "Worker 'x' does not exist".into()),
        ("select postrider.cordon_worker(null)".into(), "22004", "Worker name must not be null".into()),
        (
            "select postrider.drop_worker('w')".into(),
            "55000",
            "Worker 'w' is registered: stop it first".into(),
        ),
        ("select postrider.retry_execution(5)".into(), "42704", "Execution 5 does not exist".into()),
        (
            "select postrider.set_action('a', p_concurrency => 0)".into(),
            "22023",
            "p_concurrency must be between 1 and 10000, got 0".into(),
        ),
        ("select postrider.drop_action(null)".into(), "22004", "Action must not be null".into()),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(sql, code, text)| (sql.as_str(), *code, text.as_str())).collect();
    check_refusals(&client, &cases).await;
    for level in ["repeatable read", "serializable"] {
        client.batch_execute(&format!("begin isolation level {level}")).await.unwrap();
        let text = format!(
            "take_executions needs a transaction with isolation level READ COMMITTED, this is {}",
            level.to_uppercase()
        );
        let take = format!("select postrider.take_executions({worker})");
        check_refusal(&client, (&take, "25001", &text)).await;
        client.batch_execute("rollback").await.unwrap();
    }

    // Names that are known are not new, and one that registers makes room.
    for known in ["awaited", "w", "r"] {
        client.batch_execute(&submit(&format!("'a', p_worker => '{known}'"))).await.unwrap();
    }
    register(&client, "'late'").await;
    assert_eq!(shop.refusal(&submit("'a', p_worker => 'other'")).await, "53400");
    // Each role has names of its own.
    client.batch_execute("set role postrider_producer").await.unwrap();
    client.batch_execute(&submit("'a', p_worker => 'theirs'")).await.unwrap();
    assert_eq!(answer(&client, &submit("'a', p_worker => 'other'")).await, "53400");
    client.batch_execute("reset role").await.unwrap();
    assert_eq!(answer(&client, &submit("'a', p_worker => 'other'")).await, "53400");
    register(&client, "'awaited'").await;
    client.batch_execute(&submit("'a', p_worker => 'other'")).await.unwrap();
}

async fn row(client: &Client, columns: &str, id: i64) -> Value {
    let sql = format!(
        "select to_jsonb(e) from (select {columns} from postrider.executions where id = {id}) e"
    );
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn submitting_takes_defaults_and_is_part_of_the_transaction() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let columns = "pool, addressed_to, priority, extract(epoch from ttl) as ttl, \
        extract(epoch from timeout) as timeout, max_retries, status, attempt";
    let plain = submit(&client, "'a'").await;
    let expected = json!({ "pool": "default", "addressed_to": null, "priority": 0, "ttl": 300.0,
        "timeout": 3600.0, "max_retries": 0, "status": "requested", "attempt": 1 });
    assert_eq!(row(&client, columns, plain).await, expected);
    shop.execute(
        "select postrider.set_action('a', '7 s', '1500 ms', 3, 5);
        select postrider.set_setting('worker_queue_ttl_ms', '9000')",
    )
    .await;
    let of_action = submit(&client, "'a', p_worker => 'nobody'").await;
    let expected = json!({ "pool": null, "addressed_to": "nobody", "priority": 5, "ttl": 7.0,
        "timeout": 1.5, "max_retries": 3, "status": "requested", "attempt": 1 });
    assert_eq!(row(&client, columns, of_action).await, expected);
    let nobody =
        "select status || ' ' || pool || ' ' || epoch from postrider.workers where name = 'nobody'";
    assert_eq!(answer(&client, nobody).await, "inactive default 0");
    let own = submit(&client, "'a', '{}', 'nobody', 'p', '2 s', '3 s', 1, 2").await;
    let expected = json!({ "pool": "p", "addressed_to": "nobody", "priority": 1, "ttl": 2.0,
        "timeout": 3.0, "max_retries": 2, "status": "requested", "attempt": 1 });
    assert_eq!(row(&client, columns, own).await, expected);
    let other = submit(&client, "'b'").await;
    assert_eq!(row(&client, "extract(epoch from ttl) as ttl", other).await, json!({ "ttl": 9.0 }));

    // A savepoint and a whole transaction that roll back leave nothing.
    let count = "select (select count(*) from postrider.execution) || ' '
        || (select count(*) from postrider.live_execution)";
    client.batch_execute("begin; savepoint s").await.unwrap();
    submit(&client, "'a'").await;
    client.batch_execute("rollback to s").await.unwrap();
    assert_eq!(answer(&client, count).await, "4 4");
    submit(&client, "'a', p_idempotency_key => 'k'").await;
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(answer(&client, count).await, "4 4");

    // One key, twice in a row, and twice at once: the first commits, or rolls back.
    let first = submit(&client, "'a', p_idempotency_key => 'k'").await;
    let same = "'a', p_idempotency_key => 'k', p_worker => 'elsewhere', p_priority => 7";
    assert_eq!(submit(&client, same).await, first, "where and when is not what it is about");
    for (arguments, differs) in [
        ("'other', p_idempotency_key => 'k'", "action"),
        ("'a', '{\"n\": 1}', p_idempotency_key => 'k'", "parameters"),
    ] {
        let sql = format!("select postrider.submit_execution({arguments})");
        let text = format!("Idempotency key 'k' conflict: same key with different {differs}");
        check_refusal(&client, (&sql, "23505", &text)).await;
    }
    for (end, is_same) in [("commit", true), ("rollback", false)] {
        client.batch_execute("begin").await.unwrap();
        let arguments = format!("'a', p_idempotency_key => '{end}'");
        let first = submit(&client, &arguments).await;
        let second = shop.client().await;
        let pid = pid_of(&second).await;
        let second = tokio::spawn(async move { submit(&second, &arguments).await });
        until_blocked(&shop, pid).await;
        client.batch_execute(end).await.unwrap();
        assert_eq!(second.await.unwrap() == first, is_same, "{end}");
    }
    // The same at once with something else: what was committed counts.
    for (end, expected) in [("commit", "23505"), ("rollback", "t")] {
        client.batch_execute("begin").await.unwrap();
        submit(&client, &format!("'a', p_idempotency_key => 'other {end}'")).await;
        let second = shop.client().await;
        let pid = pid_of(&second).await;
        let sql = format!(
            "select postrider.submit_execution('b', p_idempotency_key => 'other {end}') > 0"
        );
        let second = tokio::spawn(async move { answer(&second, &sql).await });
        until_blocked(&shop, pid).await;
        client.batch_execute(end).await.unwrap();
        assert_eq!(second.await.unwrap(), expected, "{end}");
    }

    // The result and what the worker writes count together or not at all.
    shop.clear_fleet().await;
    shop.execute("create table public.written (n integer)").await;
    let worker = register(&client, "'w'").await.id;
    let id = submit(&client, "'a', '{\"n\": 1}'").await;
    let held = run_one(&client, worker).await;
    let work = format!(
        "begin; insert into public.written values (1);
        select postrider.complete_execution({id}, {}, '{{\"ok\": true}}')",
        held.fence
    );
    for (end, then) in [("rollback", "running 0"), ("commit", "completed 1")] {
        client.batch_execute(&format!("{work}; {end}")).await.unwrap();
        let sql = format!(
            "select status || ' ' || (select count(*) from public.written)
            from postrider.executions where id = {id}"
        );
        assert_eq!(answer(&client, &sql).await, then);
    }
    assert_eq!(
        row(&client, "result, error", id).await,
        json!({ "result": { "ok": true }, "error": null })
    );
    // Asked for again.
    let again = id_of(&client, &format!("select postrider.retry_execution({id})")).await;
    let columns = "parameters, retry_reason, original_execution, status";
    let expected = json!({ "parameters": { "n": 1 }, "retry_reason": "manual_retry",
        "original_execution": id, "status": "requested" });
    assert_eq!(row(&client, columns, again).await, expected);
    assert_eq!(shop.refusal(&format!("select postrider.retry_execution({again})")).await, "55000");
    answer(&client, &format!("select postrider.cancel_execution({again})")).await;
    let twice = id_of(&client, &format!("select postrider.retry_execution({again})")).await;
    assert_eq!(row(&client, columns, twice).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_get_what_is_theirs_by_priority_age_and_limit() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 6").await.id;
    let other = register(&client, "'other', 'elsewhere'").await.id;
    let low = submit(&client, "'a'").await;
    let high = submit(&client, "'b', p_priority => 9").await;
    let high_too = submit(&client, "'a', p_priority => 9").await;
    let own = submit(&client, "'z', p_worker => 'w'").await;
    let both = submit(&client, "'a', p_worker => 'w', p_pool => 'elsewhere'").await;
    assert_eq!(taken(&client, other, 10).await, [0; 0]);
    // What is addressed to it is scheduled first.
    assert_eq!(taken(&client, w, 1).await, [own]);
    assert_eq!(taken(&client, w, 2).await, [high, both]);
    assert_eq!(taken(&client, w, 10).await, [high_too, low]);
    assert_eq!(taken(&client, w, 10).await, [0; 0]);
    // Never more than its capacity.
    for _ in 0..3 {
        submit(&client, "'a'").await;
    }
    assert_eq!(taken(&client, w, 10).await.len(), 1);
    assert_eq!(taken(&client, w, 10).await.len(), 0);
    let view = "select status || ' ' || scheduled_count from postrider.workers where name = 'w'";
    assert_eq!(answer(&client, view).await, "busy 6");

    // Cordoned: nothing new, what it has goes on.
    shop.clear_fleet().await;
    let w = register(&client, "'w', p_capacity => 6").await;
    submit(&client, "'a'").await;
    let held = run_one(&client, w.id).await;
    let waiting = submit(&client, "'a', p_worker => 'w'").await;
    assert_eq!(answer(&client, "select postrider.cordon_worker('w')").await, "t");
    assert_eq!(answer(&client, "select postrider.cordon_worker('w')").await, "f");
    assert_eq!(taken(&client, w.id, 10).await, [0; 0]);
    assert_eq!(answer(&client, "select status from postrider.workers").await, "cordoned");
    let complete = format!("select postrider.complete_execution({}, {})", held.id, held.fence);
    assert_eq!(answer(&client, &complete).await, "t");
    assert_eq!(answer(&client, "select postrider.uncordon_worker('w')").await, "t");
    assert_eq!(taken(&client, w.id, 10).await, [waiting]);

    // Gone: refused, and dropped when nothing waits for it.
    let leave = format!("select postrider.deregister_worker({}, {})", w.id, w.epoch);
    assert_eq!(answer(&client, &leave).await, "t");
    assert_eq!(answer(&client, &leave).await, "f");
    assert_eq!(status(&client, waiting).await, "requested");
    assert_eq!(
        shop.refusal(&format!("select postrider.worker_heartbeat({})", w.id)).await,
        "55000"
    );
    assert_eq!(shop.refusal("select postrider.drop_worker('w')").await, "55000");
    answer(&client, &format!("select postrider.cancel_execution({waiting})")).await;
    client.batch_execute("select postrider.drop_worker('w')").await.unwrap();
    assert_eq!(answer(&client, "select count(*) from postrider.workers").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_execution_ends_with_the_error_object() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    for (arguments, worker_id, queue) in [
        ("'a', p_worker => 'nobody', p_ttl => '2 s'", json!(1), json!("worker:1")),
        ("'a', p_ttl => '2 s'", json!(null), json!("pool:default")),
    ] {
        let id = submit(&client, arguments).await;
        assert_eq!(answer(&client, "select postrider.check_executions(10)").await, "0");
        let expires: Value = row(&client, "expires_at", id).await["expires_at"].clone();
        shop.until("select postrider.check_executions(10) = 1").await;
        let mut expected = json!({
            "error": "Worker queue TTL expired",
            "message": "Worker did not process execution within configured TTL",
            "reason": "queue_timeout", "ttl_ms": 2000, "expired_at": expires,
            "queue": queue, "carrier": "postgres" });
        if !worker_id.is_null() {
            expected["worker_id"] = worker_id;
        }
        let found = row(&client, "status, reason, error", id).await;
        assert_eq!(
            found,
            json!({ "status": "failed", "reason": "queue_timeout", "error": expected })
        );
        let letter = format!(
            "select outcome || ' ' || carrier || ' ' || reason || ' ' || attempt
            from postrider.execution_dead_letter where execution_id = {id}"
        );
        assert_eq!(answer(&client, &letter).await, "failed postgres queue_timeout 1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_succeed_another_time_is_retried_as_often_as_allowed() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let worker = register(&client, "'w', p_capacity => 100").await.id;
    let retried = [
        "worker_unavailable",
        "queue_timeout",
        "worker_heartbeat_stale",
        "transient_error",
        "manual_retry",
    ];
    for reason in retried.into_iter().chain(["permanent_error", "whatever", "timeout"]) {
        let most = if retried.contains(&reason) { 2 } else { 0 };
        for max_retries in 0..=2 {
            let id = submit(&client, &format!("'a', p_max_retries => {max_retries}")).await;
            for attempt in 1..=(max_retries.min(most) + 1) {
                let held = run_one(&client, worker).await;
                let fail = format!(
                    "select postrider.fail_execution({id}, {}, '{reason}', '{{\"n\": {attempt}}}')",
                    held.fence
                );
                let is_last = attempt > max_retries.min(most);
                let expected = if is_last { "failed" } else { "requested" };
                assert_eq!(
                    answer(&client, &fail).await,
                    expected,
                    "{reason}, {max_retries}, {attempt}"
                );
                // It waits for its time, and nobody takes it before: its time is later than this test.
                client.batch_execute(LATER).await.unwrap();
                assert_eq!(taken(&client, worker, 10).await, [0; 0]);
                client.batch_execute(DUE).await.unwrap();
            }
            let rows = format!(
                "select string_agg(concat_ws(' ', attempt, is_final, status, reason, error ->> 'n'), ', ' order by id)
                from postrider.execution_end where execution_id = {id}"
            );
            let attempts = max_retries.min(most) + 1;
            let expected: Vec<_> = (1..=attempts)
                .map(|n| {
                    let is_final = if n == attempts { "t" } else { "f" };
                    format!("{n} {is_final} failed {reason} {n}")
                })
                .collect();
            assert_eq!(answer(&client, &rows).await, expected.join(", "));
        }
    }
    // 1, 2, 4 … 300 s, 20 % more or less.
    for (retry, seconds) in [(1, 1.0), (2, 2.0), (3, 4.0), (9, 256.0), (10, 300.0), (1000, 300.0)] {
        for (dice, factor) in [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)] {
            let sql = format!("select postrider.execution_retry_delay({retry}, {dice})");
            let found: f64 = answer(&client, &sql).await.parse().unwrap();
            assert!((found - seconds * factor).abs() < 1e-9, "{retry} {dice}: {found}");
        }
    }
    // The wait itself is that long, and the time to live begins after it.
    submit(&client, "'a', p_max_retries => 1, p_ttl => '60 s'").await;
    let held = run_one(&client, worker).await;
    answer(
        &client,
        &format!("select postrider.fail_execution({}, {}, 'transient_error')", held.id, held.fence),
    )
    .await;
    let sql = "select extract(epoch from l.due_at - e.ended_at) between 0.8 and 1.5
            and l.expires_at - l.due_at = '60 s' and l.attempt = 2
        from postrider.live_execution l join postrider.execution_end e on e.execution_id = l.id";
    assert_eq!(answer(&client, sql).await, "t");

    // Giving back uses no attempt, started or not; what was started has a row in the history.
    shop.clear_fleet().await;
    let worker = register(&client, "'w', p_capacity => 100").await.id;
    let id = submit(&client, "'a'").await;
    for is_started in [false, true, true] {
        let mut held = take(&client, worker, 1).await[0];
        if is_started {
            held = start(&client, held).await.unwrap();
        }
        let release = format!("select postrider.release_execution({id}, {})", held.fence);
        assert_eq!(answer(&client, &release).await, "t");
        assert_eq!(answer(&client, &release).await, "f");
    }
    run_one(&client, worker).await;
    let rows = "select count(*) || ' ' || bool_and(status = 'released' and started_at is not null and attempt = 1)
        || ' ' || (select attempt from postrider.live_execution) from postrider.execution_end";
    assert_eq!(answer(&client, rows).await, "2 true 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_too_long_times_out_and_what_does_not_stop_is_cancelled() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 100").await;
    let quick = "'a', p_timeout => '1 ms', p_max_retries => 2";
    let late = submit(&client, quick).await;
    run_one(&client, w.id).await;
    shop.until("select postrider.check_executions(10) = 1").await;
    let found = row(&client, "status, reason, error ->> 'error' as error", late).await;
    assert_eq!(
        found,
        json!({ "status": "timeout", "reason": "timeout", "error": "Execution timeout" })
    );
    let extended = submit(&client, quick).await;
    let held = run_one(&client, w.id).await;
    let extend = format!("select postrider.extend_execution({extended}, {}, '1 h')", held.fence);
    assert_eq!(answer(&client, &extend).await, "t");
    assert_eq!(answer(&client, "select postrider.check_executions(10)").await, "0");
    // A worker is told, and has cancel_timeout.
    let cancel = format!("select postrider.cancel_execution({extended})");
    assert_eq!(answer(&client, &cancel).await, "cancelling");
    let told =
        format!("select execution_id from postrider.worker_heartbeat({}, {})", w.id, w.epoch);
    assert_eq!(answer(&client, &told).await, extended.to_string());
    let due = "select round(extract(epoch from due_at - cancel_requested_at)) from postrider.live_execution";
    assert_eq!(answer(&client, due).await, "30");
    client
        .batch_execute("update postrider.live_execution set due_at = clock_timestamp()")
        .await
        .unwrap();
    assert_eq!(answer(&client, "select postrider.check_executions(10)").await, "1");
    let found = row(&client, "status, reason, error ->> 'message' as error", extended).await;
    let message = "Worker did not stop within cancel_timeout";
    assert_eq!(found, json!({ "status": "cancelled", "reason": "cancelled", "error": message }));
    let complete = format!("select postrider.complete_execution({extended}, {})", held.fence);
    assert_eq!(answer(&client, &complete).await, "f");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_worker_loses_what_it_had_by_policy() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    for policy in ["reroute", "fail"] {
        for retries in [0, 1] {
            shop.clear_fleet().await;
            shop.execute(&format!(
                "select postrider.set_setting('stale_worker_policy', '{policy}')"
            ))
            .await;
            let w = register(&client, "'w', p_capacity => 100").await;
            let submit_one = async |rest: &str| {
                submit(&client, &format!("'a', p_max_retries => {retries}, {rest}")).await
            };
            let running = submit_one("p_worker => 'w'").await;
            run_one(&client, w.id).await;
            let running_both = submit_one("p_worker => 'w', p_pool => 'default'").await;
            run_one(&client, w.id).await;
            let scheduled = submit_one("p_pool => 'default'").await;
            let scheduled_own = submit_one("p_worker => 'w'").await;
            take(&client, w.id, 2).await;
            let both = submit_one("p_worker => 'w', p_pool => 'default'").await;
            let own = submit_one("p_worker => 'w'").await;
            client.batch_execute(STALE).await.unwrap();
            assert_eq!(answer(&client, "select postrider.check_workers()").await, "1");
            assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
            let failed = if retries == 0 { "failed" } else { "delayed" };
            let waiting = if policy == "fail" { failed } else { "requested" };
            for (what, id, expected) in [
                ("running", running, failed),
                ("running_both", running_both, failed),
                ("scheduled", scheduled, "requested"),
                ("scheduled_own", scheduled_own, waiting),
                ("both", both, "requested"),
                ("own", own, waiting),
            ] {
                assert_eq!(status(&client, id).await, expected, "{what}, {policy}, {retries}");
            }
            let reasons = "select string_agg(distinct reason, ' ' order by reason)
                from postrider.execution_end";
            let expected = match policy {
                "fail" => "worker_heartbeat_stale worker_unavailable",
                _ => "worker_heartbeat_stale",
            };
            assert_eq!(answer(&client, reasons).await, expected);
            let refused = format!("select postrider.worker_heartbeat({}, {})", w.id, w.epoch);
            assert_eq!(shop.refusal(&refused).await, "55000");
            // Somebody else in the pool gets what the pool may have, retries included.
            let other = register(&client, "'other', p_capacity => 100").await;
            client.batch_execute(DUE).await.unwrap();
            take(&client, other.id, 100).await;
            let mut expected = vec![scheduled, both];
            if retries == 1 {
                expected.insert(0, running_both);
                // The retry was let go by the call before; the next one sees it in its pool.
                take(&client, other.id, 100).await;
            }
            let sql = format!(
                "select array_agg(id order by id) from postrider.live_execution where worker_id = {}",
                other.id
            );
            let found: Vec<i64> = client.query_one(&sql, &[]).await.unwrap().get(0);
            assert_eq!(found, expected, "{policy}, {retries}");
        }
    }
    // One who was never there, or is gone, does not keep what its pool may have.
    shop.clear_fleet().await;
    let other = register(&client, "'other', p_capacity => 100").await.id;
    let id = submit(&client, "'a', p_worker => 'nobody', p_pool => 'default'").await;
    assert_eq!(taken(&client, other, 1).await, [id]);

    // Registered anew: what the process before had running has failed, and its calls are refused.
    shop.clear_fleet().await;
    let first = register(&client, "'w', p_capacity => 100").await;
    let running = submit(&client, "'a'").await;
    let held = run_one(&client, first.id).await;
    let scheduled = submit(&client, "'a', p_worker => 'w'").await;
    let old = take(&client, first.id, 1).await[0];
    let second = register(&client, "'w', p_capacity => 100").await;
    assert_eq!((second.id, second.epoch), (first.id, first.epoch + 1));
    let found = row(&client, "status, reason", running).await;
    assert_eq!(found, json!({ "status": "failed", "reason": "worker_unavailable" }));
    let complete = format!("select postrider.complete_execution({running}, {})", held.fence);
    assert_eq!(answer(&client, &complete).await, "f");
    assert_eq!(start(&client, old).await, None);
    for call in ["take_executions({w}, p_epoch => 1)", "worker_heartbeat({w}, 1)"] {
        let sql = format!("select postrider.{}", call.replace("{w}", &first.id.to_string()));
        assert_eq!(shop.refusal(&sql).await, "55000");
    }
    assert_eq!(taken(&client, second.id, 5).await, [scheduled]);

    // It changes its carrier: nobody reads what lies in RabbitMQ for it.
    shop.clear_fleet().await;
    register(&client, "'w', p_carrier => 'rabbitmq'").await;
    let id = submit(&client, "'a', p_worker => 'w'").await;
    assert_eq!(
        answer(&client, "select execution_id from postrider.dispatch_executions(10)").await,
        id.to_string()
    );
    let w = register(&client, "'w', p_carrier => 'postgres'").await;
    assert_eq!(taken(&client, w.id, 1).await, [id]);
}

/// However much it had, and whatever is asked of it meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_worker_had_is_recovered_bit_by_bit() {
    /// A thousand of what it had, and as many of what waits for it.
    const MOST_AT_ONCE: i64 = 2_000;
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.set_setting('stale_worker_policy', 'fail'),
                postrider.set_setting('worker_stale_after', '1800')",
        )
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 10000").await;
    register(&client, "'other'").await;
    client
        .batch_execute(
            "select postrider.submit_execution('a', p_worker => 'w', p_ttl => '1 h')
            from generate_series(1, 3500)",
        )
        .await
        .unwrap();
    assert_eq!(take(&client, w.id, 1_200).await.len(), 1_200);
    client.batch_execute(STALE).await.unwrap();
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "2");
    // It was addressed to it when it was lost already, and waits for its return.
    let later = submit(&client, "'a', p_worker => 'w', p_ttl => '1 h'").await;
    let ended = "select count(*) from postrider.execution_end
        where is_final and status = 'failed' and reason = 'worker_unavailable'";
    let mut counts = vec![shop.ask::<i64>(ended).await];
    while counts.last().is_some_and(|count| *count < 3_500) {
        assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
        counts.push(shop.ask(ended).await);
        assert!(counts.len() < 10, "{counts:?}");
    }
    println!("{counts:?}");
    let mut steps =
        std::iter::once(counts[0]).chain(counts.windows(2).map(|pair| pair[1] - pair[0]));
    assert!(steps.all(|step| (1..=MOST_AT_ONCE).contains(&step)), "{counts:?}");
    for _ in 0..2 {
        assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
    }
    assert_eq!(status(&client, later).await, "requested");
    let marked = "select count(*) from postrider.worker w where w.lost_fence is not null";
    assert_eq!(answer(&client, marked).await, "0");
    let again = register(&client, "'w'").await;
    assert_eq!(taken(&client, again.id, 5).await, [later]);
    what_is_to_fail_goes_to_no_queue(&shop, &client).await;
}

/// RabbitMQ takes what is for a worker that is not there, but for what waited when it was lost.
async fn what_is_to_fail_goes_to_no_queue(shop: &Shop, client: &Client) {
    shop.clear_fleet().await;
    register(client, "'r', p_carrier => 'rabbitmq'").await;
    let submit_many = "select postrider.submit_execution('a', p_worker => 'r', p_ttl => '1 h')
        from generate_series(1, 2500)";
    client.batch_execute(submit_many).await.unwrap();
    client.batch_execute(STALE).await.unwrap();
    assert_eq!(answer(client, "select postrider.check_workers()").await, "1");
    let later = submit(client, "'b', p_worker => 'r', p_ttl => '1 h'").await;
    let dispatch = "select string_agg(d.execution_id::text, ' ')
        from postrider.dispatch_executions(10) d";
    let waiting = "select count(*) from postrider.live_execution l where l.action = 'a'";
    let mut round_count = 0;
    while shop.ask::<i64>(waiting).await > 0 {
        assert_eq!(answer(client, dispatch).await, "null");
        assert_eq!(answer(client, "select postrider.check_workers()").await, "0");
        round_count += 1;
        assert!(round_count < 10);
    }
    assert!(round_count > 0);
    assert_eq!(answer(client, "select postrider.check_workers()").await, "0");
    assert_eq!(answer(client, dispatch).await, later.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pool_may_have_does_not_lie_in_rabbitmq_for_a_lost_worker() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let dispatch = "select coalesce(string_agg(execution_id || ' for ' || worker_id, ', '
            order by execution_id), '')
        from postrider.dispatch_executions(10)";
    let w = register(&client, "'w', p_carrier => 'rabbitmq'").await.id;
    client.batch_execute(STALE).await.unwrap();
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "1");
    let other = register(&client, "'other', 'default', 10, p_carrier => 'rabbitmq'").await.id;

    // Addressed to it after it was lost: as a retry is that it has left behind.
    let own = submit(&client, "'a', p_worker => 'w'").await;
    let both = submit(&client, "'a', p_worker => 'w', p_pool => 'default'").await;
    assert_eq!(answer(&client, dispatch).await, format!("{own} for {w}"));
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
    assert_eq!(answer(&client, dispatch).await, format!("{both} for {other}"));

    // Scheduled for it by a dispatcher that did not yet see that it is lost.
    shop.clear_fleet().await;
    let w = register(&client, "'w', p_carrier => 'rabbitmq'").await.id;
    let id = submit(&client, "'a', p_pool => 'default'").await;
    let mut slow = shop.client().await;
    let transaction = slow.transaction().await.unwrap();
    let scheduled: String = transaction.query_one(dispatch, &[]).await.unwrap().get(0);
    assert_eq!(scheduled, format!("{id} for {w}"));
    client.batch_execute(STALE).await.unwrap();
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "1");
    transaction.commit().await.unwrap();
    assert_eq!(status(&client, id).await, "scheduled");
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
    assert_eq!(status(&client, id).await, "requested");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_prefers_healthy_workers_with_room() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let worker = register(&client, "'w'").await;
    let health = async |failures: usize, count: usize, failures_first: bool| {
        let order = if failures_first { "n" } else { "-n" };
        let sql = format!(
            "truncate postrider.execution_end;
            insert into postrider.execution_end (
                execution_id, attempt, is_final, status, worker_id, action, requested_at, started_at)
            select n, 1, true, case when n <= {failures} then 'failed' else 'completed' end,
                {}, 'a', now(), now()
            from generate_series(1, {count}) n order by {order}",
            worker.id
        );
        client.batch_execute(&sql).await.unwrap();
        answer(&client, &format!("select health from postrider.probe_worker({})", worker.id)).await
    };
    for (failures, count, failures_first, expected) in [
        (0, 0, true, "healthy"),
        (2, 2, true, "healthy"),
        (3, 3, true, "degraded"),
        (9, 9, true, "degraded"),
        (10, 30, false, "unhealthy"),
        (9, 40, false, "degraded"),
        (2, 10, true, "healthy"),
        (3, 10, true, "degraded"),
        (6, 10, true, "degraded"),
        (7, 10, true, "unhealthy"),
        (7, 9, true, "healthy"),
    ] {
        assert_eq!(
            health(failures, count, failures_first).await,
            expected,
            "{failures} of {count}"
        );
    }
    for (waiting, expected) in
        [(49, "healthy"), (50, "degraded"), (99, "degraded"), (100, "unhealthy")]
    {
        shop.clear_fleet().await;
        let w = register(&client, "'w', p_capacity => 1000").await.id;
        client
            .batch_execute(&format!(
                "select postrider.submit_execution('a') from generate_series(1, {waiting})"
            ))
            .await
            .unwrap();
        assert_eq!(take(&client, w, 1000).await.len(), waiting);
        assert_eq!(
            answer(&client, &format!("select health from postrider.probe_worker({w})")).await,
            expected
        );
    }

    shop.clear_fleet().await;
    let mut ids = Vec::new();
    for (name, capacity, health) in [
        ("sick", 9, "unhealthy"),
        ("weak", 9, "degraded"),
        ("small", 1, "healthy"),
        ("large", 2, "healthy"),
    ] {
        let w = register(&client, &format!("'{name}', p_capacity => {capacity}")).await.id;
        client
            .batch_execute(&format!(
                "update postrider.worker set health = '{health}' where id = {w}"
            ))
            .await
            .unwrap();
        ids.push(w);
    }
    let [sick, weak, small, large] = ids[..] else { unreachable!() };
    // For a second it is for the best one. This test takes longer, or has no time to wait.
    let age = async |age: &str| {
        let sql = format!(
            "update postrider.live_execution set requested_at = clock_timestamp() - interval '{age}'"
        );
        client.batch_execute(&sql).await.unwrap();
    };
    let first = submit(&client, "'a'").await;
    age("-1 hour").await;
    for w in [sick, weak, small] {
        assert_eq!(taken(&client, w, 9).await, [0; 0], "the large one has room");
    }
    assert_eq!(taken(&client, large, 9).await, [first]);
    let more = submit(&client, "'a'").await;
    age("-1 hour").await;
    // Both have room for one now.
    assert_eq!(taken(&client, small, 9).await, [more]);
    let third = submit(&client, "'a'").await;
    age("-1 hour").await;
    assert_eq!(taken(&client, weak, 9).await, [0; 0]);
    // After a second anybody, but no one who is unhealthy as long as others are there.
    age("2 seconds").await;
    assert_eq!(taken(&client, sick, 9).await, [0; 0]);
    assert_eq!(taken(&client, weak, 9).await, [third]);
    client
        .batch_execute(
            "select postrider.cordon_worker(n) from unnest(array['weak', 'small', 'large']) n",
        )
        .await
        .unwrap();
    let fourth = submit(&client, "'a'").await;
    assert_eq!(taken(&client, sick, 9).await, [fourth], "it is alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_has_no_more_than_its_limit_at_a_time() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 100").await.id;
    client
        .batch_execute(
            "select postrider.set_action('limited', p_concurrency => 2, p_max_retries => 9)",
        )
        .await
        .unwrap();
    let mut ids = Vec::new();
    for _ in 0..9 {
        ids.push(submit(&client, "'limited'").await);
    }
    let free = submit(&client, "'zfree'").await;
    let held = take(&client, w, 50).await;
    assert_eq!(held.iter().map(|h| h.id).collect::<Vec<_>>(), [ids[0], ids[1], free]);
    assert_eq!(taken(&client, w, 50).await, [0; 0]);
    // Each way to end, a retry and giving back make room for the next one, and for one only.
    let mut running = start(&client, held[1]).await.unwrap();
    let ends = [
        "complete_execution({})",
        "fail_execution({}, 'no')",
        "fail_execution({}, 'transient_error')",
        "cancel_execution({id})",
        "expire",
    ];
    for (next, end) in (2..).zip(ends) {
        if end == "cancel_execution({id})" || end == "expire" {
            submit(&client, "'other'").await;
        }
        let call = end
            .replace("{id}", &running.id.to_string())
            .replace("{}", &format!("{}, {}", running.id, running.fence));
        if end == "expire" {
            client
                .batch_execute(&format!(
                    "update postrider.live_execution set due_at = clock_timestamp() where id = {}",
                    running.id
                ))
                .await
                .unwrap();
            client.batch_execute("select postrider.check_executions(10)").await.unwrap();
        } else {
            answer(&client, &format!("select postrider.{call}")).await;
            if end == "cancel_execution({id})" {
                client.batch_execute(&format!("update postrider.live_execution set due_at = clock_timestamp() where id = {}", running.id)).await.unwrap();
                client.batch_execute("select postrider.check_executions(10)").await.unwrap();
            }
        }
        let got: Vec<_> = take(&client, w, 50).await;
        let limited: Vec<_> = got.iter().filter(|h| ids.contains(&h.id)).collect();
        assert_eq!(limited.iter().map(|h| h.id).collect::<Vec<_>>(), [ids[next]], "{end}");
        running = start(&client, *limited[0]).await.unwrap();
    }
    let release = format!("select postrider.release_execution({}, {})", running.id, running.fence);
    assert_eq!(answer(&client, &release).await, "t");
    assert_eq!(taken(&client, w, 50).await, [running.id], "the oldest");
    // A lower limit counts from then on, none at all as well.
    client
        .batch_execute("select postrider.set_action('limited', p_concurrency => 1)")
        .await
        .unwrap();
    assert_eq!(
        answer(&client, &format!("select postrider.cancel_execution({})", running.id)).await,
        "cancelled"
    );
    assert_eq!(taken(&client, w, 50).await, [0; 0]);
    client.batch_execute("select postrider.drop_action('limited')").await.unwrap();
    assert_eq!(taken(&client, w, 50).await, [ids[7], ids[8]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_are_announced_and_large_values_pass_as_far_as_allowed() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 100").await.id;
    let cancel_one = async || {
        let id = submit(&client, "'a', p_correlation_id => '00000000-0000-0000-0000-00000000000a'")
            .await;
        answer(&client, &format!("select postrider.cancel_execution({id})")).await;
        id
    };
    cancel_one().await;
    let messages = "select count(*) from postrider.message";
    assert_eq!(answer(&client, messages).await, "0");
    client
        .batch_execute("select postrider.create_event_type('postrider.execution_ended')")
        .await
        .unwrap();
    let id = cancel_one().await;
    let message: Value =
        client.query_one("select payload from postrider.message", &[]).await.unwrap().get(0);
    assert_eq!((&message["execution_id"], &message["status"]), (&json!(id), &json!("cancelled")));
    // It cannot be published, and it has ended.
    client
        .batch_execute(
            "create function public.refuse() returns trigger language plpgsql as
                $$begin raise exception 'full' using errcode = '53400'; end$$;
            create trigger refuse before insert on postrider.message
            for each row execute function public.refuse()",
        )
        .await
        .unwrap();
    for _ in 0..2 {
        let id = cancel_one().await;
        assert_eq!(status(&client, id).await, "cancelled");
    }
    let logged = "select count(*) from postrider.event_log where event = 'execution.not_published'";
    assert_eq!(answer(&client, logged).await, "1");
    client.batch_execute("drop trigger refuse on postrider.message").await.unwrap();

    // 10 MB of parameters, result and error.
    let big = "to_jsonb(repeat('x', 10000000))";
    let limit = async |bytes: usize| {
        let sql = format!("select postrider.set_setting('max_payload_size', '{bytes}')");
        client.batch_execute(&sql).await.unwrap();
    };
    let most = "select maximum from postrider.setting where name = 'max_payload_size'";
    let most: usize = answer(&client, most).await.parse().unwrap();
    assert!(most >= 10_000_002, "{most}");
    for (bytes, is_accepted) in [(10_000_001, false), (10_000_002, true)] {
        limit(most).await;
        submit(&client, "'a'").await;
        let completing = run_one(&client, w).await;
        submit(&client, "'a'").await;
        let failing = run_one(&client, w).await;
        limit(bytes).await;
        for sql in [
            format!("select postrider.submit_execution('other', {big})"),
            format!(
                "select postrider.complete_execution({}, {}, {big})",
                completing.id, completing.fence
            ),
            format!(
                "select postrider.fail_execution({}, {}, 'no', {big})",
                failing.id, failing.fence
            ),
        ] {
            let found = answer(&client, &sql).await;
            assert_eq!(found != "22023", is_accepted, "{found}: {}", &sql[..60]);
        }
    }
    assert_eq!(
        answer(
            &client,
            "select length(result::text) from postrider.executions where result is not null"
        )
        .await,
        "10000002"
    );
    let taken =
        "select length(parameters::text) from postrider.take_executions($w) where action = 'other'";
    assert_eq!(answer(&client, &taken.replace("$w", &w.to_string())).await, "10000002");
}

/// Names, ids, epochs and fences can be guessed; the role that registered the worker cannot.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_belongs_to_the_role_that_registered_it() {
    let shop = Shop::open_migrated().await;
    let admin = shop.client().await;
    let sql = "create role one login in role postrider_worker;
        create role two login in role postrider_worker;
        create role boss login in role postrider_admin;
        create role deputy login in role one;
        create role pooler login in role one, two";
    admin.batch_execute(sql).await.unwrap();
    let one = shop.postgres.connect_as("one", "shop").await.unwrap();
    let worker = register(&one, "'w', p_capacity => 100").await;
    for _ in 0..3 {
        submit(&admin, "'a', '{}', p_worker => 'w'").await;
    }
    let held = take(&one, worker.id, 2).await;
    let running = start(&one, held[0]).await.unwrap();
    let (id, fence) = (running.id, running.fence);
    let calls = [
        format!("take_executions({}, 1)", worker.id),
        format!("take_executions({}, 1, p_epoch => {})", worker.id, worker.epoch),
        format!("worker_executions({})", worker.id),
        format!("worker_heartbeat({})", worker.id),
        format!("deregister_worker({}, {})", worker.id, worker.epoch),
        format!("start_execution({}, {})", held[1].id, held[1].fence),
        format!("start_execution({}, {}, {})", held[1].id, held[1].fence, worker.epoch),
        format!("extend_execution({id}, {fence}, '1 h')"),
        format!("fail_execution({id}, {fence}, 'no')"),
        format!("release_execution({id}, {fence})"),
        format!("complete_execution({id}, {fence})"),
    ];
    let pooler = shop.postgres.connect_as("pooler", "shop").await.unwrap();
    pooler.batch_execute("set role two").await.unwrap();
    let before = row(&admin, "status, deadline_at", id).await;
    for (who, denied) in [("two", "two"), ("boss", "boss"), ("pooler", "two")] {
        let stranger = match who {
            "pooler" => &pooler,
            _ => &shop.postgres.connect_as(who, "shop").await.unwrap(),
        };
        for call in &calls {
            if who == "boss" && call.starts_with("deregister_worker") {
                continue;
            }
            let error = stranger.batch_execute(&format!("select postrider.{call}")).await;
            let error = error.expect_err(&format!("{who}: {call}"));
            let error = error.as_db_error().unwrap();
            assert_eq!(error.code().code(), "42501", "{who}: {call}: {error:?}");
            let text = format!("Worker 'w' was registered by role \"one\", not by \"{denied}\"");
            assert_eq!(error.message(), text, "{call}");
        }
    }
    assert_eq!(row(&admin, "status, deadline_at", id).await, before);

    // Who has the role's rights acts for it, as another login or after set role.
    let deputy = shop.postgres.connect_as("deputy", "shop").await.unwrap();
    pooler.batch_execute("set role one").await.unwrap();
    for client in [&deputy, &pooler, &admin] {
        let extend = format!("select postrider.{}", calls[7]);
        assert_eq!(answer(client, &extend).await, "t", "{extend}");
    }
    assert!(start(&deputy, held[1]).await.is_some());

    // While it lives nobody else registers the name.
    let two = shop.postgres.connect_as("two", "shop").await.unwrap();
    let again = "select epoch from postrider.register_worker('w')";
    assert_eq!(answer(&two, again).await, "55006");
    let refused = two.batch_execute(again).await.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    let text = "Worker 'w' lives, and was registered by role \"one\", not by \"two\"";
    let told = (refused.message(), refused.detail());
    assert_eq!(told, (text, Some("worker_stale_after is 30 s")));
    assert_eq!(row(&admin, "status", id).await["status"], "running");
    // When it is not heard of any more, whoever registers the name has it, and everybody can see it.
    admin.batch_execute(STALE).await.unwrap();
    assert_eq!(register(&two, "'w'").await.id, worker.id);
    assert_eq!(answer(&one, &format!("select postrider.{}", calls[3])).await, "42501");
    // Who had it hears that, and stops as when a process of its own role takes the name.
    let late = format!("select postrider.worker_heartbeat({}, {})", worker.id, worker.epoch);
    assert_eq!(answer(&one, &late).await, "55000");
    assert_eq!(answer(&two, &format!("select postrider.{}", calls[3])).await, "none");
    let by = "select details ->> 'by' from postrider.event_log
        where event = 'worker.registered' order by id desc limit 1";
    assert_eq!(answer(&admin, by).await, "two");
    // One that has left is anybody's.
    assert_eq!(answer(&one, again).await, "55006");
    assert_eq!(
        answer(&two, &format!("select postrider.deregister_worker({})", worker.id)).await,
        "t"
    );
    register(&one, "'w'").await;
    assert_eq!(answer(&two, again).await, "55006");
    // The role admin may let every worker leave, and take every name.
    let boss = shop.postgres.connect_as("boss", "shop").await.unwrap();
    let leave = format!("select postrider.deregister_worker({})", worker.id);
    assert_eq!(answer(&boss, &leave).await, "t");
    register(&one, "'w'").await;
    register(&boss, "'w'").await;
    assert_eq!(answer(&one, again).await, "55006");
    register(&admin, "'w'").await;
    assert_eq!(answer(&boss, &leave).await, "t");
    register(&one, "'w'").await;
    // A registration of a former version is anybody's, until the next one.
    admin.batch_execute("update postrider.worker set registered_by = null").await.unwrap();
    assert_eq!(answer(&one, &format!("select postrider.{}", calls[3])).await, "none");
}

/// Whose the worker is, is judged when nobody else can change it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_loses_a_workers_name_meanwhile_does_nothing_for_it() {
    let shop = Shop::open_migrated().await;
    let admin = shop.client().await;
    let sql = "create role one login in role postrider_worker;
        create role two login in role postrider_worker";
    admin.batch_execute(sql).await.unwrap();
    let connect = async |role| shop.postgres.connect_as(role, "shop").await.unwrap();
    let one = connect("one").await;
    let again = "select epoch from postrider.register_worker('w')";

    // Of two that register at the same time one has the name.
    for (end, expected) in [("rollback", "1"), ("commit", "55006")] {
        one.batch_execute("begin").await.unwrap();
        register(&one, "'w'").await;
        let two = connect("two").await;
        let pid = pid_of(&two).await;
        let second = tokio::spawn(async move { answer(&two, again).await });
        until_blocked(&shop, pid).await;
        one.batch_execute(end).await.unwrap();
        assert_eq!(second.await.unwrap(), expected, "{end}");
        admin.batch_execute("update postrider.worker set status = 'inactive'").await.unwrap();
    }

    // While a start waits for an execution that somebody has locked, another role gets the worker's name.
    let worker = register(&one, "'w'").await;
    let id = submit(&admin, "'a', p_worker => 'w'").await;
    let held = take(&one, worker.id, 1).await;
    assert_eq!(held[0].id, id);
    let holder = shop.client().await;
    let hold = format!("begin; select from postrider.live_execution where id = {id} for update");
    holder.batch_execute(&hold).await.unwrap();
    let start = format!("select 'started' from postrider.start_execution({id}, {})", held[0].fence);
    let pid = pid_of(&one).await;
    let starting = tokio::spawn(async move { answer(&one, &start).await });
    until_blocked(&shop, pid).await;
    admin.batch_execute(STALE).await.unwrap();
    register(&connect("two").await, "'w'").await;
    holder.batch_execute("rollback").await.unwrap();
    assert_eq!(starting.await.unwrap(), "55000");
    assert_eq!(status(&admin, id).await, "scheduled");
}
