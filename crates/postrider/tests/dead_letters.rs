//! Dead letters: their history, how they are put back, told of, and forgotten.

use std::time::{Duration, Instant};

use crate::shop::{
    Shop,
    producing::{check_refusals, id_of},
    serving::LONG,
};
use postrider_testkit::{
    process::Dispatcher,
    receiver::{Answer, Behaviour, Receiver, Request},
};
use serde_json::{Value, json};

/// Much longer than a look into the database, and much shorter than any wait for a lock.
const SOON: Duration = Duration::from_secs(30);

const IS_SETTLED: &str = "select not exists (select from postrider.deferred)
    and not exists (
        select
        from postrider.subscriptions s
        where postrider.has_unread_messages(s.id)
    )";

/// The `n` of a payload.
fn number_in(body: &[u8]) -> i64 {
    serde_json::from_slice::<Value>(body).unwrap()["n"].as_i64().unwrap()
}

fn numbers(receiver: &Receiver) -> Vec<i64> {
    receiver.requests().iter().map(|request| number_in(&request.body)).collect()
}

impl Shop {
    /// Makes dead letters of new messages `{"n": 1}` and so on, as a dispatcher does, of which none
    /// runs.
    async fn bury(&self, endpoint: &str, count: usize, cause: &str, error: &str) {
        let client = self.client().await;
        let send = format!(
            "select postrider.send_batch('{endpoint}', array_agg(jsonb_build_object('n', n)
                order by n))
            from generate_series(1, {count}) n"
        );
        let ids: Vec<i64> = client.query_one(&send, &[]).await.unwrap().get(0);
        let bury = "select postrider.bury(
                array_agg(m.id), array_agg(m.targets[1]), array_agg(s.endpoint_id),
                array_agg($2::text), array_agg(0), array_agg($3::text))
            from postrider.message m
            join postrider.subscriptions s on s.id = m.targets[1]
            where m.id = any ($1)";
        client.execute(bury, &[&ids, &cause, &error]).await.unwrap();
        self.read_all().await;
    }

    /// As if everything in the log had been read and were finished or waited.
    async fn read_all(&self) {
        let read = "insert into postrider.done (bucket, at, offsets)
            select m.id >> 22, now(), int2send(((m.id >> 10) & 4095)::smallint)
            from postrider.message m
            where not postrider.is_done(m.id)";
        self.execute(read).await;
    }

    async fn history(&self, message_id: i64) -> Vec<Value> {
        let sql = format!(
            "select l.error_history
            from postrider.dlq l
            where l.message_id = {message_id}
            order by l.id desc
            limit 1"
        );
        self.ask::<Value>(&sql).await.as_array().unwrap().clone()
    }
}

/// Round, number and outcome of each attempt.
fn outline(history: &[Value]) -> Vec<(i64, i64, String)> {
    let line = |entry: &Value| {
        let number = |name: &str| entry[name].as_i64().unwrap();
        let outcome = entry["outcome"].as_str().unwrap().to_owned();
        assert!(number("duration_ms") >= 0 && entry["at"].is_string(), "{entry}");
        (number("round"), number("attempt"), outcome)
    };
    history.iter().map(line).collect()
}

fn expected(lines: &[(i64, i64, &str)]) -> Vec<(i64, i64, String)> {
    lines.iter().map(|(round, number, outcome)| (*round, *number, (*outcome).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_complete_when_a_dispatcher_was_lost_and_after_a_redrive() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('record_attempts', 'all')").await;
    // 1 hangs at once; 2 hangs at its second attempt; 3 hangs and has an ordering key, as 4 behind it.
    let receiver = Receiver::start(Behaviour::custom(|arrival| {
        match (number_in(arrival.body), arrival.earlier_count) {
            (1 | 3, 0) | (2, 1) => Answer::default(),
            (2, 0) => Answer::status(503),
            _ => Answer::status(400),
        }
    }))
    .unwrap();
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    shop.endpoint("hooks", config, policy).await;
    let killed = shop.serve().await;
    let mut ids = Vec::new();
    for number in 1..=4 {
        let key = if number > 2 { "'k'" } else { "null" };
        let send = format!(
            "select postrider.send_with_options(
                'hooks', '{{\"n\": {number}}}', p_ordering_key => {key})"
        );
        ids.push(shop.ask::<i64>(&send).await);
    }
    receiver.wait_for(4, LONG).await.unwrap();
    killed.sigkill();
    killed.wait(LONG).await.unwrap();
    shop.end_leases().await;
    let _successor = shop.serve().await;
    shop.until("select count(*) = 4 from postrider.dead_letter").await;

    let unknown = [(1, 1, "unknown"), (1, 2, "rejected")];
    let cases = [
        (ids[0], unknown.to_vec(), 1),
        (ids[1], vec![(1, 1, "unavailable"), (1, 2, "unknown"), (1, 3, "rejected")], 2),
        (ids[2], unknown.to_vec(), 1),
        (ids[3], vec![(1, 1, "rejected")], 0),
    ];
    for (id, lines, retry_count) in &cases {
        let history = shop.history(*id).await;
        assert_eq!(outline(&history), expected(lines), "{id}");
        let sql = format!("select retry_count from postrider.dlq where message_id = {id}");
        assert_eq!(shop.ask::<i32>(&sql).await, *retry_count);
        assert_eq!(lines.len() as i32, retry_count + 1, "each retry has an attempt before it");
    }
    let lost = &shop.history(ids[1]).await[1];
    assert_eq!(lost["error"], "Recovered from stale processing state");
    assert!(lost["status"].is_null(), "{lost}");
    assert_eq!(shop.history(ids[1]).await[0]["status"], 503);

    // A second death: both rounds, also when the first one's attempts are gone with their partition.
    let gone = format!("delete from postrider.attempt where message_id = {}", ids[1]);
    shop.execute(&gone).await;
    shop.execute("select postrider.redrive_all()").await;
    shop.until("select count(*) = 8 from postrider.dead_letter").await;
    for (id, mut lines, _) in cases {
        lines.push((2, 1, "rejected"));
        assert_eq!(outline(&shop.history(id).await), expected(&lines), "{id}");
        let sql = format!(
            "select retry_count from postrider.dlq where message_id = {id} and status = 'failed'"
        );
        assert_eq!(shop.ask::<i32>(&sql).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_keeps_the_newest_attempts() {
    let shop = Shop::open_to_producers().await;
    shop.bury("a", 1, "rejected", "first").await;
    let sql = "update postrider.dead_letter
        set status = 'redriven', redriven_at = now(), error_history = (
            select jsonb_agg(jsonb_build_object(
                'round', 7, 'attempt', n, 'outcome', 'rejected',
                'at', timestamptz '2026-01-01' + n * interval '1 minute') order by n)
            from generate_series(1, 1500) n
        );
        insert into postrider.attempt
        select l.message_id, l.target, l.endpoint_id, n, timestamptz '2026-01-01'
            + n * interval '1 minute', 1, 'rejected', 400, 'no'
        from postrider.dead_letter l
        cross join generate_series(1, 1501) n;
        select postrider.bury(
            array[l.message_id], array[l.target], array[l.endpoint_id], array['rejected'], array[0],
            array['second'])
        from postrider.dead_letter l";
    shop.execute(sql).await;
    let history = shop.history(shop.ask("select max(id) from postrider.message").await).await;
    assert_eq!(history.len(), 1001);
    assert_eq!((&history[0]["attempt"], &history[0]["round"]), (&json!(501), &json!(7)));
    assert_eq!((&history[1000]["attempt"], &history[1000]["round"]), (&json!(1501), &json!(8)));
}

// Putting back -----------------------------------------------------------------------------------

impl Shop {
    /// How many letters a job of `redrive_matching` has put back.
    async fn redriven(&self, filter: &str) -> i64 {
        let sql = format!("select r.job_id from postrider.redrive_matching({filter}) r");
        let id: i64 = self.ask(&sql).await;
        self.finish_jobs().await;
        self.ask(&format!("select done_count from postrider.jobs where id = {id}")).await
    }
}

/// Which letters a filter puts back, by their errors; then they are as they were.
async fn matched(shop: &Shop, filter: &str) -> Vec<String> {
    let count = shop.redriven(filter).await;
    let sql = "select coalesce(array_agg(l.last_error order by l.id), '{}')
        from postrider.dead_letter l
        where l.status = 'redriven'
        and l.redriven_by = session_user";
    let matched: Vec<String> = shop.ask(sql).await;
    let waiting: i64 = shop.ask("select count(*) from postrider.deferred").await;
    assert_eq!((waiting, matched.len() as i64), (count, count), "{filter}");
    let estimate: i64 =
        shop.ask("select estimate from postrider.jobs order by id desc limit 1").await;
    assert_eq!(estimate, count, "{filter}");
    shop.execute(
        "delete from postrider.deferred;
        update postrider.dead_letter
        set status = 'failed', redriven_at = null, redriven_by = null",
    )
    .await;
    matched
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_put_back_by_a_filter() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.create_endpoint('b', 'discard', '{}')").await;
    shop.bury("a", 1, "rejected", "[PERMANENT] HTTP 400").await;
    shop.bury("a", 1, "retries_exhausted", "[RETRYABLE] HTTP 503").await;
    shop.bury("b", 1, "retries_exhausted", "[RETRYABLE] HTTP 502").await;
    let client = shop.client().await;
    client
        .batch_execute(
            "update postrider.dead_letter l
            set failed_at = timestamptz '2026-11-21 10:00Z' + l.id * interval '1 minute';
            update postrider.dead_letter set event_type = 'order.created' where id = 3",
        )
        .await
        .unwrap();
    let (first, second, third) =
        ("[PERMANENT] HTTP 400", "[RETRYABLE] HTTP 503", "[RETRYABLE] HTTP 502");
    let cases: [(&str, &[&str]); 10] = [
        ("", &[first, second, third]),
        ("'a'", &[first, second]),
        ("p_from => '2026-11-21 10:02Z'", &[second, third]),
        ("p_to => '2026-11-21 10:02Z'", &[first]),
        ("p_from => '2026-11-21 10:02Z', p_to => '2026-11-21 10:03Z'", &[second]),
        ("p_error_pattern => 'HTTP 50[23]$'", &[second, third]),
        ("p_cause => 'rejected'", &[first]),
        ("p_event_type => 'order.created'", &[third]),
        ("'b', p_error_pattern => '503'", &[]),
        ("'a', p_cause => 'retries_exhausted', p_rate => 5", &[second]),
    ];
    for (filter, errors) in cases {
        assert_eq!(matched(&shop, filter).await, errors, "{filter}");
    }

    let refusals = [
        ("select postrider.redrive_message(null)", "22004", "Dead letter id must not be null"),
        ("select postrider.redrive_endpoint(null)", "22004", "Endpoint name must not be null"),
        ("select postrider.redrive_endpoint('x')", "42704", "Endpoint 'x' does not exist"),
        ("select postrider.redrive_matching('x')", "42704", "Endpoint 'x' does not exist"),
        (
            "select postrider.redrive_matching(p_error_pattern => 'a(')",
            "22023",
            "p_error_pattern must be a POSIX regular expression, got 'a('",
        ),
        (
            "select postrider.redrive_all(0)",
            "22023",
            "p_rate must be between 1 and 100000 deliveries per second, got 0",
        ),
        (
            "select postrider.redrive_endpoint('a', 100001)",
            "22023",
            "p_rate must be between 1 and 100000 deliveries per second, got 100001",
        ),
        (
            "set timezone = 'UTC';
            select postrider.redrive_matching(p_from => '2026-01-02', p_to => '2026-01-02')",
            "22023",
            "p_from must be before p_to, got 2026-01-02 00:00:00+00 and 2026-01-02 00:00:00+00",
        ),
    ];
    check_refusals(&client, &refusals).await;

    // Each call is on record, and by whom.
    let sql = "select postrider.redrive_matching('a', p_cause => 'gone', p_rate => 5)";
    client.execute(sql, &[]).await.unwrap();
    let event: Value =
        shop.ask("select to_jsonb(l) from postrider.event_log l order by l.id desc limit 1").await;
    let user: String = shop.ask("select session_user::text").await;
    assert_eq!((&event["event"], &event["endpoint_name"]), (&json!("job.created"), &json!("a")));
    let details = json!({"id": event["details"]["id"], "kind": "redrive", "by": user, "rate": 5,
        "filter": {"cause": "gone"}, "before": null, "after": {"state": "running"}});
    assert_eq!(event["details"], details);
}

/// What was put back is due, each delivery once, in the order of creation.
const IS_IN_ORDER: &str = "select count(*) = 1500 and count(distinct d.run_at) = 1500
        and bool_and(d.run_at < clock_timestamp())
        and array_agg(d.message_id order by d.run_at) = array_agg(d.message_id order by d.message_id)
        and bool_and(d.retry_count = 0 and d.expires_at is null)
    from postrider.deferred d";

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_put_back_in_order_each_once_and_apart() {
    let shop = Shop::open_to_producers().await;
    shop.bury("a", 1_500, "rejected", "400").await;
    // Two calls make two jobs, and no letter comes back twice.
    let two = "select (a).job_id < (b).job_id
        from (select postrider.redrive_all() as a, postrider.redrive_endpoint('a') as b) j";
    assert!(shop.ask::<bool>(two).await);
    shop.finish_jobs().await;
    assert!(shop.ask::<bool>(IS_IN_ORDER).await);
    let sql = "select count(*) = 1500 and bool_and(status = 'redriven') from postrider.dead_letter";
    assert!(shop.ask::<bool>(sql).await);
    let sql = "select sum(done_count) = 1500 and bool_and(state = 'completed') from postrider.jobs";
    assert!(shop.ask::<bool>(sql).await);

    // At a rate: the first at once, the others so much later.
    shop.execute("delete from postrider.deferred; delete from postrider.dead_letter").await;
    shop.bury("a", 10, "rejected", "400").await;
    shop.execute("select postrider.redrive_all(4)").await;
    shop.finish_jobs().await;
    let sql = "select array_agg(extract(epoch from d.run_at - (
                select min(run_at) from postrider.deferred))::float8 order by d.message_id)
        from postrider.deferred d";
    let offsets: Vec<f64> = shop.ask(sql).await;
    let wanted: Vec<f64> = (0..10).map(|place| f64::from(place) * 0.25).collect();
    assert_eq!(offsets, wanted);
    assert!(
        shop.ask::<bool>("select min(run_at) < clock_timestamp() from postrider.deferred").await
    );
}

/// Steps that are lost with their dispatcher, and two dispatchers at once: the rows and the job's position
/// change together or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_does_each_letter_once_whoever_dies() {
    let shop = Shop::open_to_producers().await;
    shop.bury("a", 1_500, "rejected", "400").await;
    shop.execute("select postrider.redrive_all()").await;
    let (one, other) = (shop.client().await, shop.client().await);
    let position = "select coalesce(position::text, '-') from postrider.job";
    one.execute("select postrider.advance_jobs()", &[]).await.unwrap();
    let before: String = shop.ask(position).await;
    // A step that comes to nothing, while another dispatcher finds the job in hand.
    one.batch_execute("begin; select postrider.advance_jobs()").await.unwrap();
    let idle: i32 = other.query_one("select postrider.advance_jobs()", &[]).await.unwrap().get(0);
    assert_eq!(idle, 1_000);
    let pid: i32 = one.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    shop.execute(&format!("select pg_terminate_backend({pid})")).await;
    shop.until(&format!("select not exists (select from pg_stat_activity where pid = {pid})"))
        .await;
    assert_eq!(shop.ask::<String>(position).await, before);
    shop.finish_jobs().await;
    assert!(shop.ask::<bool>(IS_IN_ORDER).await);
    assert_eq!(shop.ask::<i64>("select done_count from postrider.jobs").await, 1_500);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_passes_over_what_is_locked_and_comes_back_to_it() {
    let shop = Shop::open_to_producers().await;
    shop.bury("a", 500, "rejected", "400").await;
    let holder = shop.client().await;
    holder
        .batch_execute(
            "begin;
            select from postrider.dead_letter where id in (1, 250) for share;
            select postrider.redrive_message(7)",
        )
        .await
        .unwrap();
    shop.execute("select postrider.redrive_all()").await;
    let is_waiting = "(select done_count = 497 and held_count = 3 and state = 'running'
        from postrider.jobs)";
    shop.advance_jobs_until(is_waiting).await;
    // One of them is put back by the other, the others are free again; those that failed meanwhile are
    // not its own.
    let again = "update postrider.dead_letter set status = 'failed', redriven_at = null
            where id = 100;
        update postrider.dead_letter set id = default where id = 100;
        delete from postrider.deferred d using postrider.dead_letter l
        where l.status = 'failed' and l.id > 500 and d.message_id = l.message_id";
    shop.execute(again).await;
    holder.batch_execute("commit").await.unwrap();
    shop.finish_jobs().await;
    let sql =
        "select done_count = 499 and state = 'completed' and held_count = 0 from postrider.jobs";
    shop.until(sql).await;
    let sql = "select count(*) = 499 from postrider.deferred";
    assert!(shop.ask::<bool>(sql).await);
    let failed = "select array_agg(id) from postrider.dead_letter where status = 'failed'";
    assert_eq!(shop.ask::<Vec<i64>>(failed).await, [501]);
}

/// Whatever was put back before, and whatever statistics said when the step was planned.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_reads_little_beside_what_it_does() {
    let shop = Shop::open_to_producers().await;
    shop.execute("analyze postrider.dead_letter").await;
    let dispatcher = shop.client().await;
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    dispatcher.batch_execute(session).await.unwrap();
    dispatcher.batch_execute("select postrider.redrive_all()").await.unwrap();
    for _ in 0..7 {
        dispatcher.batch_execute("select postrider.advance_jobs()").await.unwrap();
    }
    shop.bury("a", 1_000, "rejected", "400").await;
    let many = "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, status, cause, retry_count,
            message_created_at, redriven_at, priority, payload)
        select
            -n, 1, 1, 'a', 'redriven', 'rejected', 0, now(), now(), 0, '{}'
        from generate_series(1, 30000) n;
        update postrider.dead_letter set message_id = message_id + 50000 where message_id < 0";
    shop.execute(many).await;
    shop.execute("select postrider.redrive_all()").await;
    let plan: Value = dispatcher
        .query_one("explain (analyze, buffers, format json) select postrider.advance_jobs()", &[])
        .await
        .unwrap()
        .get(0);
    let plan = &plan[0]["Plan"];
    let buffers =
        plan["Shared Hit Blocks"].as_i64().unwrap() + plan["Shared Read Blocks"].as_i64().unwrap();
    let done: i64 = shop.ask("select max(done_count) from postrider.jobs").await;
    println!("{buffers} buffers for {done} letters");
    assert!(done >= 100, "{done}");
    assert!(buffers < 3_000 + 60 * done, "{buffers} for {done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_cancelled_and_forgotten() {
    let shop = Shop::open_to_producers().await;
    shop.bury("a", 50, "rejected", "400").await;
    let client = shop.client().await;
    let refusals = [
        ("select postrider.cancel_job(null)", "22004", "Job id must not be null"),
        ("select postrider.cancel_job(7)", "42704", "Job 7 does not exist"),
    ];
    check_refusals(&client, &refusals).await;
    shop.execute("begin; select postrider.redrive_all(); rollback").await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.job)").await);
    let id: i64 = shop.ask("select r.job_id from postrider.redrive_all(1) r").await;
    shop.execute("select postrider.advance_jobs()").await;
    let sql = "select done_count = 5 and state = 'running' from postrider.jobs";
    assert!(shop.ask::<bool>(sql).await, "five seconds ahead of its rate");
    let cancel = format!("select postrider.cancel_job({id})");
    assert!(shop.ask::<bool>(&cancel).await);
    assert!(!shop.ask::<bool>(&cancel).await);
    shop.execute("update postrider.job set next_at = now(); select postrider.advance_jobs()").await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.deferred").await, 5);

    let dropped: i64 = shop.ask("select d.job_id from postrider.drop_endpoint('a', true) d").await;
    let text = format!("Job {dropped} cannot be cancelled: its endpoint is gone");
    let sql = format!("select postrider.cancel_job({dropped})");
    check_refusals(&client, &[(&sql, "55000", &text)]).await;
    shop.finish_jobs().await;
    let letters = "select count(*) = 5 and bool_and(endpoint_name = 'a') from postrider.dead_letter
        where cause = 'endpoint_dropped'";
    assert!(shop.ask::<bool>(letters).await);

    // They go when events of their age go, and so do replays.
    let replay = "insert into postrider.replay (
            endpoint_id, endpoint_name, from_ts, to_ts, state, position, last_id, position_at, finished_at)
        values (1, 'a', now(), now() + interval '1 hour', 'completed', 1, 1, now(), now())";
    shop.execute(replay).await;
    let forget = "select postrider.forget_jobs(10)";
    assert_eq!(shop.ask::<i32>(forget).await, 0);
    let age = "update postrider.job set finished_at = now() - interval '31 days';
        update postrider.replay set finished_at = now() - interval '31 days'";
    shop.execute(age).await;
    assert_eq!(shop.ask::<i32>(forget).await, 3);
    let left = "select exists (select from postrider.job) or exists (select from postrider.replay)";
    assert!(!shop.ask::<bool>(left).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_odd_letter_does_not_fail_the_others() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.create_endpoint('b', 'discard', '{}')").await;
    shop.bury("a", 3, "rejected", "400").await;
    shop.bury("b", 2, "rejected", "400").await;
    // One waits already, and the endpoint of others is gone.
    let waits = "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, message_created_at)
        select l.message_id, l.target, l.endpoint_id, 0, 'infinity', 3, l.message_created_at
        from postrider.dead_letter l
        where l.id = 2";
    shop.execute(waits).await;
    shop.execute("select postrider.drop_endpoint('b', true)").await;
    shop.finish_jobs().await;
    let client = shop.client().await;
    check_refusals(
        &client,
        &[(
            "select postrider.redrive_message(4)",
            "55000",
            "Endpoint 'b' of dead letter 4 has been dropped",
        )],
    )
    .await;
    assert_eq!(shop.redriven("").await, 3);
    let sql = "select array_agg(d.retry_count order by d.message_id) from postrider.deferred d";
    assert_eq!(shop.ask::<Vec<i32>>(sql).await, [0, 3, 0], "what waits is as it was");
    let sql = "select array_agg(l.status order by l.id) from postrider.dead_letter l";
    let statuses: Vec<String> = shop.ask(sql).await;
    assert_eq!(statuses, ["redriven", "redriven", "redriven", "failed", "failed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_at_a_rate_outlives_its_dispatcher() {
    const COUNT: usize = 80;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let killed = shop.serve().await;
    shop.send_many("hooks", COUNT).await;
    shop.until(&format!("select count(*) = {COUNT} from postrider.dead_letter")).await;
    receiver.set_behaviour(Behaviour::Delay {
        wait: Duration::from_millis(100),
        then: Box::new(Behaviour::Status(200)),
    });
    receiver.clear();
    let began = Instant::now();
    let made = "select d.estimate from postrider.redrive_endpoint('hooks', 10) d";
    assert_eq!(shop.ask::<i64>(made).await, 80);
    receiver.wait_for_accepted(COUNT / 4, LONG).await.unwrap();
    killed.sigkill();
    killed.wait(LONG).await.unwrap();
    let in_the_middle = receiver.accepted_count();
    // A dispatcher may be half a second ahead of the database's clock.
    let due_count = 6 + began.elapsed().as_millis() / 100;
    assert!(in_the_middle as u128 <= due_count, "{in_the_middle}: it does not keep to the rate");
    // What it can have had in hand: what was due by then, and is not recorded.
    let in_hand = "select coalesce(array_agg(d.message_id), '{}') from postrider.deferred d
        where d.run_at < clock_timestamp() + interval '1 second'";
    let in_hand: Vec<i64> = shop.ask(in_hand).await;
    shop.end_leases().await;
    let _successor = shop.serve().await;
    receiver.wait_for_accepted(COUNT, LONG).await.unwrap();
    let rate = Duration::from_millis(100 * (COUNT as u64 - 1));
    assert!(began.elapsed() >= rate, "{:?}", began.elapsed());
    shop.until(IS_SETTLED).await;
    let requests = receiver.requests();
    let again: Vec<&Request> = requests.iter().filter(|request| request.attempt > 1).collect();
    println!("{} came twice", again.len());
    // What was on its way at the kill has arrived before or not.
    assert_eq!(receiver.distinct_ids().len(), COUNT);
    assert!(requests.len() <= COUNT + again.len(), "{} of {COUNT}", requests.len());
    assert!(again.iter().all(|request| in_hand.contains(&request.id.unwrap().0)), "{again:?}");
    let lost = "select count(*) from postrider.attempt where outcome = 'unknown'";
    assert_eq!(shop.ask::<i64>(lost).await, again.len() as i64, "each has its reason on record");
    let sql = "select count(*) = 80 and bool_and(status = 'redriven') from postrider.dead_letter";
    assert!(shop.ask::<bool>(sql).await);
    let job = "select state = 'completed' and done_count = 80 from postrider.jobs";
    assert!(shop.ask::<bool>(job).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_keeps_its_order_while_its_letters_come_back_at_a_rate() {
    let shop = Shop::open_to_receivers().await;
    // 1 and 2 are refused at first. What is newer takes long enough for them to come back while 3
    // is in flight and 4 waits behind it, though the machine stands still for a while.
    let receiver = Receiver::start(Behaviour::custom(|arrival| {
        let number = number_in(arrival.body);
        let is_refused = number <= 2 && arrival.earlier_count == 0;
        let delay = Duration::from_secs(if number == 3 { 12 } else { 0 });
        Answer { delay, ..Answer::status(if is_refused { 400 } else { 200 }) }
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", config, policy).await;
    let _dispatcher = shop.serve().await;
    let send = async |number: i64| {
        let sql = format!(
            "select postrider.send_with_options(
                'hooks', '{{\"n\": {number}}}', p_ordering_key => 'k')"
        );
        shop.execute(&sql).await;
    };
    send(1).await;
    send(2).await;
    shop.until("select count(*) = 2 from postrider.dead_letter").await;
    send(3).await;
    send(4).await;
    receiver.wait_for(3, LONG).await.unwrap();
    shop.execute("select postrider.redrive_all(1)").await;
    receiver.wait_for_accepted(4, LONG).await.unwrap();
    shop.until(IS_SETTLED).await;
    let order = numbers(&receiver);
    assert_eq!(order[..4], [1, 2, 3, 1], "behind what is in flight, before what waits: {order:?}");
    assert_eq!(order.len(), 6, "{order:?}");
    assert_eq!(receiver.in_flight_peak(), 1, "one at a time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redriven_message_does_not_expire() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let dispatcher = shop.serve().await;
    let send = "select postrider.send_with_options(
        'hooks', '{\"n\": 1}', p_scheduled_at => clock_timestamp() + interval '0.5 seconds',
        p_expires_at => clock_timestamp() + interval '10 seconds', p_idempotency_key => 'once')";
    let id: i64 = shop.ask(send).await;
    shop.until("select count(*) = 1 from postrider.dead_letter").await;
    shop.until("select expires_at < clock_timestamp() from postrider.message").await;
    // It waits for a retry, and for a dispatcher, and is there for everybody who asks.
    receiver.set_behaviour(Behaviour::Status(503));
    assert_eq!(shop.ask::<i64>("select postrider.redrive_message(1)").await, id);
    shop.until("select retry_count >= 1 from postrider.deferred").await;
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 0);
    let status = format!("select status from postrider.message_status({id})");
    dispatcher.sigterm();
    dispatcher.wait(LONG).await.unwrap();
    let waits = "select count(*) = 1 and bool_and(q.expires_at is null and q.status = 'pending')
        from postrider.queue q";
    assert!(shop.ask::<bool>(waits).await);
    assert_eq!(shop.ask::<String>(&status).await, "pending");
    receiver.set_behaviour(Behaviour::Status(200));
    let _other = shop.serve().await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until(IS_SETTLED).await;
    assert_eq!(shop.ask::<String>(&status).await, "completed");
    assert!(!shop.ask::<bool>("select exists (select from postrider.ended)").await);
}

// Retention --------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn old_letters_and_events_are_forgotten() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.create_endpoint('b', 'discard', '{}');
            select postrider.create_event_type('order.created');
            select postrider.subscribe('order.created', e.name) from postrider.endpoints e;
            select postrider.set_setting('dlq_retention_days', '7');
            select postrider.set_setting('event_log_retention_days', '3')",
        )
        .await
        .unwrap();
    // A published message with a key that is delivered at one of its two targets.
    let publish = "select postrider.publish('order.created', '{}', p_idempotency_key => 'k')";
    let id = id_of(&client, publish).await;
    client
        .batch_execute(
            "insert into postrider.attempt
            select m.id, m.targets[2], 2, 1, now(), 5, 'rejected', 400, 'HTTP 400'
            from postrider.message m;
            select postrider.bury(
                array[m.id], array[m.targets[2]], array[2], array['rejected'], array[0],
                array['[PERMANENT] HTTP 400'])
            from postrider.message m",
        )
        .await
        .unwrap();
    shop.read_all().await;
    shop.bury("a", 4, "rejected", "400").await;
    // 1 is old and so is 2; 3 is locked; 4 was put back lately; 5 was put back long ago, and waits.
    client
        .batch_execute(
            "select postrider.redrive_message(4);
            select postrider.redrive_message(5);
            delete from postrider.deferred d
            using postrider.dead_letter l
            where l.id = 4
            and d.message_id = l.message_id;
            update postrider.dead_letter set failed_at = now() - interval '8 days';
            update postrider.dead_letter set redriven_at = now() - interval '8 days' where id = 5;
            update postrider.event_log set at = at - interval '4 days' where id % 2 = 0",
        )
        .await
        .unwrap();
    let other = shop.client().await;
    other.batch_execute("begin; select postrider.redrive_message(3)").await.unwrap();
    let began = Instant::now();
    assert_eq!(shop.ask::<i32>("select postrider.cleanup_dlq()").await, 2);
    assert!(began.elapsed() < SOON, "it waited for a transaction: {:?}", began.elapsed());
    // Who has removed something is on record, and nobody who has not.
    assert_eq!(shop.ask::<i32>("select postrider.cleanup_dlq()").await, 0);
    other.batch_execute("rollback").await.unwrap();
    let kept = "select array_agg(id order by id) from postrider.dead_letter";
    assert_eq!(shop.ask::<Vec<i64>>(kept).await, [3, 4, 5]);
    let by_hand =
        "select coalesce(array_agg(concat_ws(' ', event, details ->> 'count', details ->> 'by')
        order by id), '{}')
        from postrider.event_log
        where event like '%.cleaned_up'";
    assert_eq!(shop.ask::<Vec<String>>(by_hand).await, ["dlq.cleaned_up 2 postgres"]);

    // What has failed has failed for those who ask, and holds no key.
    let status = format!("select array_agg(status) from postrider.message_status({id})");
    assert_eq!(shop.ask::<Vec<String>>(&status).await, ["completed", "failed"]);
    let archived = format!(
        "select array_agg(a.status || coalesce(': ' || a.last_error, '') order by a.target)
        from postrider.archive a
        where a.id = {id}"
    );
    assert_eq!(shop.ask::<Vec<String>>(&archived).await, ["completed", "failed: HTTP 400"]);
    shop.execute("select postrider.set_setting('idempotency_window', '0')").await;
    shop.execute(&format!("select postrider.free_idempotency_keys(array[{id}])")).await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.idempotency_key)").await);

    let old =
        "select count(*)::integer from postrider.event_log where at < now() - interval '3 days'";
    let count: i32 = shop.ask(old).await;
    assert!(count > 0);
    assert_eq!(shop.ask::<i32>("select postrider.cleanup_event_log()").await, count);
    assert_eq!(shop.ask::<i32>(old).await, 0);
    assert_eq!(shop.ask::<i32>("select postrider.cleanup_event_log()").await, 0);
    let removed = format!("event_log.cleaned_up {count} postgres");
    assert_eq!(shop.ask::<Vec<String>>(by_hand).await.last(), Some(&removed));

    // A dispatcher does the same by itself.
    let age = "update postrider.event_log set at = at - interval '4 days';
        update postrider.dead_letter set redriven_at = now() - interval '8 days' where id = 4";
    shop.execute(age).await;
    let _dispatcher = shop.serve().await;
    shop.until("select not exists (select from postrider.dead_letter where id in (3, 4))").await;
    shop.until(&format!("select ({old}) = 0")).await;
    // It has removed the events as well, and says nothing of itself.
    assert_eq!(shop.ask::<Vec<String>>(by_hand).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_counts_by_endpoint() {
    let shop = Shop::open_to_producers().await;
    shop.execute("select postrider.create_endpoint('b', 'discard', '{}')").await;
    shop.bury("b", 3, "rejected", "400").await;
    shop.bury("a", 1, "rejected", "400").await;
    shop.execute("select postrider.redrive_message(1), postrider.redrive_message(4)").await;
    let summary = shop.run(&["dlq", "summary", "--json"]).json();
    let counts: Vec<_> = summary
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["endpoint_name"].clone(),
                row["failed_count"].clone(),
                row["redriven_count"].clone(),
            )
        })
        .collect();
    assert_eq!(counts, [(json!("a"), json!(0), json!(1)), (json!("b"), json!(2), json!(1))]);
    assert!(summary[0]["oldest_failed_at"].is_null() && summary[1]["newest_failed_at"].is_string());

    // The command line puts back by filter, and cleans up.
    let run = |arguments: &[&str]| shop.run(&[&["dlq"], arguments, &["--json"]].concat());
    assert_eq!(run(&["redrive", "--endpoint", "b", "--error", "^5"]).json()["redriven"], 0);
    let at = ["redrive", "--from", "2026-01-01T00:00Z", "--cause", "rejected", "--rate", "10"];
    let made = run(&[&at[..], &["--no-wait"]].concat()).json();
    assert_eq!(made, json!({"job_id": 2, "estimate": 2, "has_more": false}));
    let job = shop.run(&["job", "show", "2", "--json"]).json();
    assert_eq!((&job["state"], &job["has_dispatcher"]), (&json!("running"), &json!(false)));
    shop.run(&["job", "show", "7"]).fail(1, "Job 7 does not exist");
    let jobs = shop.run(&["job", "list", "--json"]).json();
    assert_eq!((&jobs[0]["id"], &jobs[1]["id"]), (&json!(2), &json!(1)));
    assert_eq!(shop.run(&["job", "cancel", "2", "--json"]).json()["cancelled"], true);
    shop.run(&["job", "cancel", "2"]).succeed();
    run(&["redrive", "1", "--no-wait"]).fail(2, "cannot be used with");
    run(&["redrive", "--all", "--endpoint", "b"]).fail(2, "cannot be used with");
    run(&["redrive", "1", "--rate", "5"]).fail(2, "cannot be used with");
    run(&["redrive", "--rate", "5"]).fail(2, "required");
    run(&["redrive", "--to", "2026-01-1"]).fail(2, "expected a time with its offset");
    run(&["redrive", "--all", "--rate", "0"]).fail(2, "0 is not in");
    run(&["redrive", "--error", "("]).fail(2, "p_error_pattern must be a POSIX regular expression");
    run(&["cleanup"]).fail(2, "give --yes if it is meant");
    assert_eq!(run(&["cleanup", "--yes"]).json(), json!({"removed": 0}));
    assert!(shop.run(&["dlq", "summary"]).succeed().stdout.contains("FAILED COUNT"));

    // Who waits is told of a dispatcher that is missing, and of the end.
    let mut options = shop.serve_options();
    let arguments = ["dlq", "redrive", "--all", "--yes", "--rate", "1000"];
    options.arguments = arguments.map(str::to_owned).to_vec();
    let waiting = Dispatcher::start(&options).unwrap();
    let missing = "it waits for a dispatcher: start `postrider serve`";
    waiting.wait_for_log(missing, LONG).await.unwrap();
    let _dispatcher = shop.serve().await;
    assert!(waiting.wait(LONG).await.unwrap().success());
    let said = waiting.log_lines();
    assert!(said.iter().any(|line| line == "2 messages will be delivered again."), "{said:?}");
    let run = shop.run(&["endpoint", "drop", "b", "--force", "--yes", "--json"]).json();
    assert_eq!(run["dropped"], true);
}

// Telling of them --------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_published() {
    let shop = Shop::open_to_receivers().await;
    let refusing = Receiver::start(Behaviour::Status(400)).unwrap();
    let told = Receiver::start(Behaviour::Status(200)).unwrap();
    for (name, receiver) in [("hooks", &refusing), ("told", &told), ("deaf", &refusing)] {
        shop.quick_endpoint(name, &receiver.url()).await;
    }
    let dispatcher = shop.serve().await;
    // Nobody is told before the event type is there.
    let before = shop.send("hooks", json!({})).await;
    shop.until("select count(*) = 1 from postrider.dead_letter").await;
    shop.execute(
        "select postrider.create_event_type('postrider.dead_letter');
        select postrider.subscribe('postrider.*', e.name)
        from postrider.endpoints e
        where e.name in ('told', 'deaf')",
    )
    .await;
    let send = "select postrider.send_with_options(
        'hooks', '{\"secret\": 1}', p_correlation_id => '8e03978e-40d5-43e8-bc93-6894a57f9324')";
    let id: i64 = shop.ask(send).await;
    told.wait_for_accepted(1, LONG).await.unwrap();
    let event: Value = serde_json::from_slice(&told.requests()[0].body).unwrap();
    let letter: Value = shop
        .ask(&format!("select to_jsonb(l) from postrider.dlq l where l.message_id = {id}"))
        .await;
    let same = ["message_id", "endpoint_name", "cause", "retry_count", "last_error", "event_type"];
    let same = same.iter().chain(&["correlation_id"]);
    for name in same {
        assert_eq!(event[name], letter[name], "{name}");
    }
    assert_eq!(event["dlq_id"], letter["id"]);
    assert_eq!(event.as_object().unwrap().len(), 10, "{event}");
    assert!(event["created_at"].is_string() && event["failed_at"].is_string(), "{event}");

    // Told is who listens; that somebody could not be told is not told on.
    shop.until("select count(*) = 3 from postrider.dead_letter").await;
    let waiting = shop.send("hooks", json!({})).await;
    told.wait_for_accepted(2, LONG).await.unwrap();
    shop.until("select count(*) = 5 from postrider.dead_letter").await;
    shop.until(IS_SETTLED).await;
    assert_eq!(told.accepted_count(), 2);
    let events = "select count(*) from postrider.message where event_type is not null";
    assert_eq!(
        shop.ask::<i64>(events).await,
        2,
        "nobody was told of {before}, and of {waiting} once"
    );

    // A full queue does not keep a delivery from being dead, and is noted once.
    shop.execute("select postrider.disable_endpoint('told')").await;
    let client = shop.client().await;
    client.batch_execute("begin").await.unwrap();
    client.query_one("select postrider.send('hooks', '{}')", &[]).await.unwrap();
    client.query_one("select postrider.send('hooks', '{}')", &[]).await.unwrap();
    client.batch_execute("commit").await.unwrap();
    shop.until("select count(*) >= 7 from postrider.dead_letter").await;
    shop.until(IS_SETTLED).await;
    dispatcher.sigterm();
    dispatcher.wait(LONG).await.unwrap();
    shop.execute("select postrider.set_setting('max_queue_size', '1')").await;
    let before: i64 = shop.ask("select count(*) from postrider.message").await;
    let bury = "select postrider.bury(
            array[m.id], array[m.targets[1]], array[1], array['rejected'], array[0], array['400'])
        from postrider.message m
        join postrider.dead_letter l on l.message_id = m.id
        where m.event_type is null";
    shop.execute("update postrider.dead_letter set status = 'redriven', redriven_at = now()").await;
    // Numbers that nobody has read count as waiting.
    shop.execute("select setval('postrider.message_sequence', last_value + 100) from postrider.message_sequence")
        .await;
    shop.execute(bury).await;
    let after = "select count(*) filter (where status = 'failed') > 0 from postrider.dead_letter";
    assert!(shop.ask::<bool>(after).await);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, before);
    let noted = "select array_agg(l.details ->> 'error') from postrider.event_log l
        where l.event = 'dlq.not_published'";
    let noted: Vec<String> = shop.ask(noted).await;
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert!(noted[0].starts_with("[postrider] Queue backpressure"), "{noted:?}");
}
