//! Figures of worker fleets: each end of an attempt is in them once, whoever crashes, and after a restore;
//! what monitoring sees, what is forgotten, and the alert rules.

use std::collections::BTreeSet;

use crate::shop::{Shop, producing::pid_of};
use tokio_postgres::Client;

const ROLL_UP: &str = "select postrider.roll_up_executions(1000)";
/// What the figures say, and what is on record.
const FIGURES: &str = "select concat_ws(' ',
    (select coalesce(sum(t.attempt_count), 0) from postrider.execution_total t),
    (select coalesce(sum(s.attempt_count), 0) from postrider.execution_statistics s),
    (select coalesce(sum(s.ended_count), 0) from postrider.execution_statistics s),
    (select coalesce(sum(t.letter_count), 0) from postrider.dead_letter_total t),
    (select coalesce(sum(s.letter_count), 0) from postrider.dead_letter_statistics s))";
const RECORDS: &str = "select concat_ws(' ', e.count, e.count, e.ended, d.count, d.count)
    from (select count(*), count(*) filter (where is_final) as ended from postrider.execution_end) e,
        (select count(*) from postrider.execution_dead_letter) d";
const LETTER: &str = "select postrider.keep_dead_letter('\\x01', null, null)";

/// An attempt is retried and the execution then ends, with a dead letter.
async fn work(client: &Client) {
    let sql = "with n as (select nextval('postrider.execution_fence') as id)
        insert into postrider.execution_end (
            execution_id, attempt, is_final, status, reason, worker_id, action, pool, requested_at,
            started_at, ended_at)
        select
            n.id, a.attempt, a.attempt = 2, case a.attempt when 1 then 'failed' else 'completed' end,
            case a.attempt when 1 then 'transient_error' end, 1, 'resize', 'default',
            now() - interval '3 s', now() - interval '2 s', now()
        from n cross join generate_series(1, 2) a (attempt)";
    client.batch_execute(sql).await.unwrap();
    client.batch_execute(LETTER).await.unwrap();
}

async fn text(client: &Client, sql: &str) -> String {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Rolls up until nothing is left that may be; the figures are then what is on record.
async fn settle(client: &Client) {
    while client.query_one(ROLL_UP, &[]).await.unwrap().get::<_, i32>(0) > 0 {}
    assert_eq!(text(client, FIGURES).await, text(client, RECORDS).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_is_in_the_figures_once() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let nothing = "0 0 0 0 0";
    settle(&client).await;

    // A long transaction delays what comes after its beginning, and loses nothing.
    let long = shop.client().await;
    work(&client).await;
    long.batch_execute("begin; savepoint s").await.unwrap();
    work(&long).await;
    work(&client).await;
    client.batch_execute(ROLL_UP).await.unwrap();
    assert_eq!(text(&client, FIGURES).await, "2 2 1 1 1");
    long.batch_execute("commit").await.unwrap();
    settle(&client).await;
    assert_eq!(text(&client, FIGURES).await, "6 6 3 3 3");

    // A crash in the middle, and a second one at the same time.
    work(&client).await;
    long.batch_execute(&format!("begin; {ROLL_UP}")).await.unwrap();
    assert_eq!(client.query_one(ROLL_UP, &[]).await.unwrap().get::<_, i32>(0), 0);
    let pid: i32 = long.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    client.query_one("select pg_terminate_backend($1, 10000)", &[&pid]).await.unwrap();
    assert_eq!(text(&client, FIGURES).await, "6 6 3 3 3");
    settle(&client).await;

    // Many writers, some of which roll back, and several who roll up a few rows at a time.
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let client = shop.client().await;
        tasks.spawn(async move {
            for n in 0..60 {
                let end = if (n + writer) % 7 == 0 { "rollback" } else { "commit" };
                client.batch_execute("begin").await.unwrap();
                work(&client).await;
                client.batch_execute(end).await.unwrap();
            }
        });
    }
    for _ in 0..2 {
        let client = shop.client().await;
        tasks.spawn(async move {
            for _ in 0..60 {
                client.batch_execute("select postrider.roll_up_executions(3)").await.unwrap();
            }
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    settle(&client).await;
    assert_ne!(text(&client, FIGURES).await, nothing);
    // Figures are by the hour, and the hour may have changed under way.
    let seconds =
        "select string_agg(distinct concat_ws(' ', extract(epoch from f.mean_duration)::integer,
            extract(epoch from f.mean_waiting)::integer, f.completed_count = f.retried_count), ', ')
        from postrider.execution_figures f";
    assert_eq!(text(&client, seconds).await, "2 1 t");

    // Where nothing is new, nothing is written.
    let written = "select pg_current_xact_id_if_assigned()::text is null";
    client.batch_execute("begin").await.unwrap();
    client.batch_execute(ROLL_UP).await.unwrap();
    assert!(client.query_one(written, &[]).await.unwrap().get::<_, bool>(0));
    client.batch_execute("rollback").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_survive_a_restore_into_another_cluster() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    work(&client).await;
    work(&client).await;
    settle(&client).await;
    work(&client).await;
    // As if the counter of this cluster stood far behind.
    let ahead = "update postrider.execution_end set xid = (xid::text::bigint + 1000000000)::text::xid8;
        update postrider.execution_dead_letter set xid = (xid::text::bigint + 1000000000)::text::xid8;
        update postrider.execution_rollup set horizon = (horizon::text::bigint + 1000000000)::text::xid8";
    client.batch_execute(ahead).await.unwrap();
    // Since the restore: one has ended, and one is about to.
    work(&client).await;
    let slow = shop.client().await;
    slow.batch_execute("begin").await.unwrap();
    work(&slow).await;
    assert_eq!(client.query_one(ROLL_UP, &[]).await.unwrap().get::<_, i32>(0), 0);
    let foreign = "select postrider.foreign_sign() is not null";
    assert!(shop.ask::<bool>(foreign).await);
    client.batch_execute("select postrider.adopt()").await.unwrap();
    assert!(!shop.ask::<bool>(foreign).await);
    client.batch_execute(ROLL_UP).await.unwrap();
    assert_eq!(text(&client, FIGURES).await, "8 8 4 4 4");
    slow.batch_execute("commit").await.unwrap();
    settle(&client).await;
    assert_eq!(text(&client, FIGURES).await, "10 10 5 5 5");
}

async fn health(shop: &Shop) -> (String, String) {
    let sql =
        "select h.status, h.details from postrider.health_check() h where h.component = 'fleets'";
    let row = shop.client().await.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_pools_say_what_is_wrong() {
    let shop = Shop::open_migrated().await;
    let check = async |status: &str, part: &str| {
        let (is, details) = health(&shop).await;
        assert_eq!(is, status, "{details}");
        assert!(details.contains(part), "{details}");
    };
    shop.execute("select postrider.set_setting('worker_stale_after', '600')").await;
    check("healthy", "there are no workers").await;
    shop.execute("select postrider.submit_execution('a', p_pool => 'lone')").await;
    check("unhealthy", "no worker of pool lone is active, and 1 execution waits").await;
    shop.execute("select postrider.register_worker('w', 'lone', 2)").await;
    check("healthy", "1 workers of 1 pools are active").await;

    // The signal: so many seconds of work for each place.
    let signal = "select p.scaling_signal from postrider.pools p where p.pool = 'lone'";
    assert_eq!(shop.ask::<Option<f64>>(signal).await, None, "nothing has run yet");
    shop.execute(
        "select postrider.submit_execution('a', p_pool => 'lone') from generate_series(1, 9);
        insert into postrider.execution_end (
            execution_id, attempt, is_final, status, worker_id, action, pool, requested_at, started_at,
            ended_at)
        values (900, 1, true, 'completed', 1, 'a', 'lone', now(), now() - interval '4 s', now())",
    )
    .await;
    shop.execute(ROLL_UP).await;
    let value = shop.ask::<Option<f64>>(signal).await.unwrap();
    assert!((19.9..20.1).contains(&value), "10 × 4 s / 2: {value}");
    let cordon = "select postrider.cordon_worker('w')";
    shop.execute(cordon).await;
    check("unhealthy", "no worker of pool lone is active, and 10 executions wait").await;
    assert_eq!(shop.ask::<Option<f64>>(signal).await, None, "nobody takes them");
    shop.execute("select postrider.uncordon_worker('w')").await;

    shop.execute("update postrider.worker set health = 'unhealthy'").await;
    check("degraded", "worker w is unhealthy").await;
    shop.execute(
        "update postrider.worker set health = 'healthy', heartbeat_at = now() - interval '601 s'",
    )
    .await;
    check("unhealthy", "no worker of pool lone").await;
    shop.execute("select postrider.worker_heartbeat(1)").await;
    shop.execute("select t.* from postrider.take_executions(1, 1) t").await;
    check("healthy", "").await;
    shop.execute(
        "update postrider.live_execution set scheduled_at = now() - interval '301 s'
        where status = 'scheduled'",
    )
    .await;
    check("degraded", "1 execution of pool lone scheduled for more than 5 min").await;
    shop.execute(
        "update postrider.live_execution set scheduled_at = now() where status = 'scheduled'",
    )
    .await;

    shop.execute(&format!("{LETTER} from generate_series(1, 11)")).await;
    check("degraded", "11 dead letters in the last minute").await;
    shop.execute("update postrider.execution_dead_letter set at = at - interval '1 hour'").await;
    shop.execute("select postrider.register_worker('r', 'lone', p_carrier => 'rabbitmq')").await;
    check("unhealthy", "no dispatcher has a broker").await;
    shop.execute("select postrider.note_broker('one', false, null, repeat('x', 5000))").await;
    check("unhealthy", "0 of 1 dispatchers are connected to the broker: xxx").await;
    shop.execute("select postrider.note_broker('two', true, 101, null)").await;
    check("degraded", "101 messages in the dead letter queue").await;
    shop.execute(
        "update postrider.broker_report set at = now() - interval '2 h' where process = 'one'",
    )
    .await;
    shop.execute("select postrider.note_broker('two', true, 100, null)").await;
    check("healthy", "2 workers of 1 pools").await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.broker_report").await, 1);

    // A backlog of any size costs the same.
    shop.execute(
        "insert into postrider.live_execution (
            id, generation, action, queue, pool, status, priority, max_retries, ttl_ms, timeout_ms, requested_at,
            expires_at, due_at)
        select 1000 + n, postrider.enter_generation(), 'a', 'pool:big', 'big', 'requested', 0, 0, 1000, 1000, now() - interval '1 h',
            now() + interval '1 h', now() + interval '1 h'
        from generate_series(1, 30000) n",
    )
    .await;
    let waiting = "select p.waiting_count from postrider.pools p where p.pool = 'big'";
    assert_eq!(shop.ask::<i64>(waiting).await, 10_000);
    check(
        "unhealthy",
        "pool big is active, and 10000 or more executions wait, the oldest for 60 min",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_old_is_forgotten() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.submit_execution('a', p_worker => 'gone'), postrider.submit_execution('b'),
                postrider.submit_execution('c', p_worker => 'awaited');
            select postrider.cordon_worker('kept')
            from (select postrider.submit_execution('d', p_worker => 'kept')) n;
            select postrider.cancel_execution(e.id) from postrider.execution e where e.action <> 'c'",
        )
        .await
        .unwrap();
    client.batch_execute(LETTER).await.unwrap();
    let age = "update postrider.execution_end set ended_at = ended_at - interval '31 days'
            where action <> 'b';
        update postrider.execution_dead_letter set at = at - interval '31 days';
        update postrider.worker set created_at = created_at - interval '31 days'";
    client.batch_execute(age).await.unwrap();
    let forget = "select postrider.forget_executions(1000)";
    let left = "select concat_ws(' ',
        (select string_agg(e.action, ',' order by e.id) from postrider.execution e),
        (select count(*) from postrider.execution_end),
        (select count(*) from postrider.execution_dead_letter),
        (select string_agg(w.name, ',' order by w.id) from postrider.worker w))";
    // What is not in the figures stays, and so does the worker that something waits for.
    client.batch_execute(forget).await.unwrap();
    assert_eq!(text(&client, left).await, "a,b,c,d 3 1 awaited,kept");
    settle(&client).await;
    client.batch_execute(forget).await.unwrap();
    assert_eq!(text(&client, left).await, "b,c 1 0 awaited,kept");
    let statistics = "select count(*) from postrider.execution_statistics";
    assert_eq!(shop.ask::<i64>(statistics).await, 3);
    client
        .batch_execute(
            "update postrider.execution_statistics set hour = hour - interval '400 days'",
        )
        .await
        .unwrap();
    client.batch_execute(forget).await.unwrap();
    assert_eq!(shop.ask::<i64>(statistics).await, 0);
    // Counters only grow.
    let totals = "select sum(t.ended_count)::bigint from postrider.execution_total t";
    assert_eq!(shop.ask::<i64>(totals).await, 3);

    // A name that nobody has registered goes after an hour; who has left stays.
    client
        .batch_execute(
            "select postrider.register_worker('left');
            select postrider.deregister_worker(w.id) from postrider.worker w where w.name = 'left';
            select postrider.submit_execution('e', p_worker => 'new'),
                postrider.submit_execution('f', p_worker => 'misspelt'),
                postrider.submit_execution('g', p_worker => 'misspelt', p_pool => 'default');
            select postrider.cancel_execution(e.id)
            from postrider.execution e
            where e.action in ('e', 'f', 'g');
            update postrider.worker
            set created_at = created_at - interval '2 hours',
                heartbeat_at = heartbeat_at - interval '2 hours'
            where name <> 'new'",
        )
        .await
        .unwrap();
    client.batch_execute(forget).await.unwrap();
    let names = "select string_agg(w.name, ',' order by w.id) from postrider.worker w";
    assert_eq!(text(&client, names).await, "awaited,kept,left,new");
    // What was for it alone is asked for again by nobody, and the rest is for the pool.
    let again = |action: &str| {
        format!(
            "select postrider.retry_execution(e.id) from postrider.execution e
            where e.action = '{action}'"
        )
    };
    assert_eq!(shop.refusal(&again("f")).await, "55000");
    client.batch_execute(&again("g")).await.unwrap();
    let queue = "select l.queue from postrider.live_execution l where l.action = 'g'";
    assert_eq!(text(&client, queue).await, "pool:default");
    a_name_that_is_used_meanwhile_is_kept(&shop, &client).await;
}

/// Whoever forgets names has looked for what waits for them, and has locked none yet, when somebody submits something.
async fn a_name_that_is_used_meanwhile_is_kept(shop: &Shop, client: &Client) {
    // As before, but that it waits for the test there.
    let pausing =
        "create or replace function postrider.execution_queue(p_worker_id integer, p_pool text)
        returns text
        language plpgsql
        stable
        as $$
        begin
            if current_setting('application_name') = 'forgetting' then
                perform pg_advisory_xact_lock_shared(7);
            end if;
            return coalesce('worker:' || p_worker_id, 'pool:' || p_pool);
        end;
        $$;
        update postrider.worker set created_at = created_at - interval '2 hours' where name = 'new';
        select pg_advisory_lock(7)";
    client.batch_execute(pausing).await.unwrap();
    let forgetting = shop.client().await;
    forgetting.batch_execute("set application_name = 'forgetting'").await.unwrap();
    let waits = format!(
        "select exists (
            select from pg_locks l where l.pid = {} and l.locktype = 'advisory' and not l.granted)",
        pid_of(&forgetting).await
    );
    let forgotten = tokio::spawn(async move {
        forgetting.batch_execute("select postrider.forget_executions(1000)").await
    });
    shop.until(&waits).await;
    let submit = "select postrider.submit_execution('h', p_worker => 'new')";
    client.batch_execute(submit).await.unwrap();
    client.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    forgotten.await.unwrap().unwrap();
    let worker = "select coalesce(max(w.name), 'nobody')
        from postrider.live_execution l
        join postrider.worker w on l.queue = 'worker:' || w.id
        where l.action = 'h'";
    assert_eq!(text(client, worker).await, "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_time_to_live_is_warned_of() {
    let shop = Shop::open_migrated().await;
    let set = |value: u32| {
        let sql = format!("select postrider.set_setting('worker_queue_ttl_ms', '{value}')");
        shop.psql("shop", &[], &sql).succeed().stderr
    };
    assert!(set(119_999).contains("worker_queue_ttl_ms is shorter than recommended"));
    assert_eq!(set(120_000), "");
}

/// The rules are read as far as they are ours: one `key: value` a line, folded texts behind `>-`.
#[test]
fn the_alert_rules_ask_for_metrics_that_exist() {
    let rules = crate::book::text_of("docs/prometheus/postrider-fleets.rules.yml");
    let page = crate::book::Page::read("docs/reference/functions/metrics.md");
    let known: Vec<(String, Vec<String>)> = crate::book::table(page.section("Metrics"))
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), crate::book::code_spans(&row[1])))
        .collect();
    let alerts: Vec<&str> = rules.split("      - alert: ").skip(1).collect();
    assert_eq!(alerts.len(), 5);
    let mut asked = BTreeSet::new();
    for alert in alerts {
        let name = alert.lines().next().unwrap();
        for key in ["expr", "for", "labels", "severity", "annotations", "summary", "description"] {
            let lines =
                alert.lines().filter(|line| line.trim_start().starts_with(&format!("{key}: ")));
            let heads = alert.lines().filter(|line| line.trim() == format!("{key}:"));
            assert_eq!(lines.count() + heads.count(), 1, "{name}: {key}");
        }
        assert!(alert.contains("docs/fleets-troubleshooting.md"), "{name}");
        let (_, rest) = alert.split_once("expr: ").unwrap();
        let (expression, rest) = rest.split_once("        for: ").unwrap();
        let severity = rest.split_once("severity: ").unwrap().1.lines().next().unwrap();
        assert!(["warning", "critical"].contains(&severity), "{name}: {severity}");
        let labels_of = |metric: &str| {
            let found = known.iter().find(|(known, _)| known == metric);
            &found.unwrap_or_else(|| panic!("{name}: there is no metric {metric}")).1
        };
        let mut grouped: Vec<&str> =
            expression.split("by (").skip(1).map(|part| part.split_once(')').unwrap().0).collect();
        grouped.dedup();
        for part in expression.split("postrider_").skip(1) {
            let end =
                part.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(part.len());
            let (metric, rest) = part.split_at(end);
            asked.insert(metric);
            let matched = rest.strip_prefix('{').map(|rest| rest.split(['=', '!']).next().unwrap());
            for label in matched.into_iter().chain(grouped.iter().copied()) {
                assert!(labels_of(metric).iter().any(|known| known == label), "{metric}: {label}");
            }
            labels_of(metric);
        }
    }
    assert_eq!(asked.len(), 6, "{asked:?}");
}
