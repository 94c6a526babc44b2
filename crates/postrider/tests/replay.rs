//! Replays: one message, a range, and jobs that dispatchers take further, whoever dies.

use std::time::Duration;

use crate::shop::{
    Shop,
    producing::{check_refusal, check_refusals, id_of, ids_of},
    serving::LONG,
};
use postrider_testkit::receiver::{Behaviour, Keep, Receiver};
use serde_json::json;
use tokio_postgres::Client;

const ALL_FINISHED: &str = "select not exists (
        select from postrider.message m where m.xid >= postrider.done_before())
    and not exists (select from postrider.deferred)";
const REPLAYED: &str = "select count(*) from postrider.message m where m.replay_of is not null";
const DAY: &str = "now() - interval '1 day', now() + interval '1 day'";

fn start(behaviour: Behaviour) -> Receiver {
    Receiver::start_with(behaviour, Keep { body: true, headers: true }).unwrap()
}

/// So many messages to the endpoint `a`, which accepts everything, all delivered.
async fn delivered(shop: &Shop, count: usize) {
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    shop.send_many("a", count).await;
    shop.until(ALL_FINISHED).await;
}

async fn create(client: &Client, arguments: &str) -> i64 {
    id_of(client, &format!("select postrider.create_replay({arguments})")).await
}

fn has_state(id: i64, state: &str) -> String {
    format!("select r.state = '{state}' from postrider.replays r where r.id = {id}")
}

/// Every message that is no replay has been replayed exactly once.
async fn check_each_once(shop: &Shop, count: i64) {
    let client = shop.client().await;
    let sql = "select count(*), count(distinct m.replay_of),
            count(*) filter (where o.id is null or o.replay_of is not null)
        from postrider.message m
        left join postrider.message o on o.id = m.replay_of
        where m.replay_of is not null";
    let row = client.query_one(sql, &[]).await.unwrap();
    let found: (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(found, (count, count, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_a_new_message_that_says_what_it_repeats() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("hook", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    let send = "select postrider.send_with_options(
            'hook', '{\"n\": 1}', p_priority => 3, p_idempotency_key => 'once',
            p_correlation_id => '67e55044-10b1-426f-9247-bb680e5fe0c8',
            p_expires_at => now() + interval '1 day', p_ordering_key => 'key',
            p_headers => '{\"x-a\": \"b\", \"postrider-replay-of\": \"forged\"}', p_metadata => '{\"m\": 2}')";
    let id = id_of(&client, send).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until(&format!("select exists (select from postrider.archive a where a.id = {id})")).await;

    let replay = id_of(&client, &format!("select postrider.replay_message({id})")).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    let requests = receiver.requests();
    let (first, second) = (&requests[0], &requests[1]);
    assert_eq!((first.id.unwrap().0, second.id.unwrap().0), (id, replay));
    assert_eq!(first.body, second.body);
    let header = |request: &postrider_testkit::receiver::Request, name: &str| {
        request.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header(first, "postrider-replay-of"), None);
    assert_eq!(header(second, "postrider-replay-of"), Some(format!("msg_{id}")));
    for name in ["x-a", "postrider-correlation-id"] {
        assert_eq!(header(first, name), header(second, name), "{name}");
        assert!(header(second, name).is_some(), "{name}");
    }

    let sql = "select m.replay_of = $1 and m.idempotency_key is null and m.expires_at is null
            and m.scheduled_at is null and m.priority = 3 and m.ordering_key = 'key'
            and m.metadata = '{\"m\": 2}' and m.endpoint_name = 'hook'
        from postrider.message m where m.id = $2";
    assert!(client.query_one(sql, &[&id, &replay]).await.unwrap().get::<_, bool>(0));
    shop.until(&format!(
        "select exists (
            select from postrider.archive a
            where a.id = {replay} and a.status = 'completed' and a.replay_of = {id})"
    ))
    .await;
    let logged: String = shop
        .ask(
            "select e.details - 'by' #>> '{}' from postrider.event_log e
            where e.event = 'message.replayed'",
        )
        .await;
    let logged: serde_json::Value = serde_json::from_str(&logged).unwrap();
    assert_eq!(logged, json!({ "message_id": replay, "replay_of": id }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_has_to_wait_keeps_what_it_repeats() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("hook", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    // One of them is too large to travel with its row.
    let send = "select postrider.send('hook', '{\"n\": 1}'),
        postrider.send_bytes('hook', convert_to(string_agg(md5(n::text), ''), 'UTF8'), 'text/plain')
        from generate_series(1, 500) n";
    let row = client.query_one(send, &[]).await.unwrap();
    let ids: [i64; 2] = [row.get(0), row.get(1)];
    shop.until(ALL_FINISHED).await;
    receiver.set_behaviour(Behaviour::Status(503));
    receiver.clear();
    for id in ids {
        id_of(&client, &format!("select postrider.replay_message({id})")).await;
    }
    shop.until("select count(*) = 2 from postrider.deferred d where d.retry_count > 0").await;
    let queued =
        ids_of(&client, "select array_agg(q.replay_of order by q.id) from postrider.queue q").await;
    assert_eq!(queued, ids);
    receiver.set_behaviour(Behaviour::Status(200));
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    for request in receiver.requests() {
        let name = request.headers.get("postrider-replay-of").unwrap().to_str().unwrap().to_owned();
        assert!(ids.iter().any(|id| name == format!("msg_{id}")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_message_goes_to_those_of_its_targets_that_are_left() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_event_type('order.paid');
        select postrider.create_endpoint(n, 'discard', '{}'), postrider.subscribe('order.paid', n)
        from unnest(array['a', 'b', 'c', 'd']) n",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    let id = id_of(&client, "select postrider.publish('order.paid', '1')").await;
    shop.until(ALL_FINISHED).await;
    // Whoever came later is not asked, who has ended the subscription still exists.
    shop.execute(
        "select postrider.create_endpoint('e', 'discard', '{}');
        select postrider.subscribe('order.paid', 'e');
        select postrider.unsubscribe(s.id) from postrider.subscriptions s
        join postrider.endpoints e on e.id = s.endpoint_id
        where e.name = 'b' and s.event_type is not null;
        select postrider.disable_endpoint('c');
        select postrider.drop_endpoint('d')",
    )
    .await;
    let replay = id_of(&client, &format!("select postrider.replay_message({id})")).await;
    let targets = "select string_agg(e.name, ' ' order by e.name) from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        join postrider.subscriptions s on s.id = t.target
        join postrider.endpoints e on e.id = s.endpoint_id
        where m.id = $1 and m.event_type = 'order.paid' and m.endpoint_name is null";
    let names: String = client.query_one(targets, &[&replay]).await.unwrap().get(0);
    assert_eq!(names, "a b");
    shop.until(ALL_FINISHED).await;

    shop.execute("select postrider.disable_endpoint('a'), postrider.drop_endpoint('b')").await;
    let sql = format!("select postrider.replay_message({id})");
    check_refusal(&client, (&sql, "55000", "Endpoint 'a' is disabled")).await;
    shop.execute("select postrider.drop_endpoint('a'), postrider.drop_endpoint('c')").await;
    let text = format!("Message {id} has no endpoint left");
    check_refusal(&client, (&sql, "55000", &text)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_replayed_is_refused() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let id = id_of(&client, "select postrider.send('a', '1')").await;
    let replay = format!("select postrider.replay_message({id})");
    let not_ended = format!("Message {id} has not ended");
    let range = |arguments: &str| format!("select postrider.replay_range({arguments})");
    let job = |arguments: &str| format!("select postrider.create_replay({arguments})");
    let now = "'2030-01-01Z', '2030-01-02Z'";
    let (sql_1, sql_2, sql_3, sql_4, sql_5, sql_6, sql_7) = (
        range(&format!("null, {now}")),
        range("1, null, now()"),
        range("1, now(), null"),
        range(&format!("99, {now}")),
        range(&format!("1, {now}, 'pending'")),
        range("1, '2030-01-02Z', '2030-01-02Z'"),
        range("1, '-infinity', '2030-01-02Z'"),
    );
    let (sql_8, sql_9, sql_10, sql_11, sql_12, sql_13, sql_14) = (
        job(&format!("null, {now}")),
        job(&format!("'b', {now}")),
        job(&format!("'a', {now}, p_rate => 0")),
        job(&format!("'a', {now}, p_rate => 100001")),
        job(&format!("'a', {now}, p_filter => '[]'")),
        job(&format!("'a', {now}, p_status => 'done'")),
        job("'a', '2030-01-01Z', 'infinity'"),
    );
    client.batch_execute("set timezone = 'UTC'").await.unwrap();
    check_refusals(
        &client,
        &[
            ("select postrider.replay_message(null)", "22004", "Message id must not be null"),
            ("select postrider.replay_message(5)", "42704", "Message 5 does not exist"),
            (&replay, "55000", &not_ended),
            (&sql_1, "22004", "Endpoint id must not be null"),
            (&sql_2, "22004", "p_from_ts must not be null"),
            (&sql_3, "22004", "p_to_ts must not be null"),
            (&sql_4, "42704", "Endpoint 99 does not exist"),
            (
                &sql_5,
                "22023",
                "p_status must be completed, failed, expired, cancelled or skipped, got 'pending'",
            ),
            (
                &sql_6,
                "22023",
                "p_from_ts must be before p_to_ts, got 2030-01-02 00:00:00+00 and 2030-01-02 00:00:00+00",
            ),
            (&sql_7, "22023", "p_from_ts must be a finite time, got -infinity"),
            (&sql_8, "22004", "Endpoint name must not be null"),
            (&sql_9, "42704", "Endpoint 'b' does not exist"),
            (&sql_10, "22023", "p_rate must be between 1 and 100000, got 0"),
            (&sql_11, "22023", "p_rate must be between 1 and 100000, got 100001"),
            (&sql_12, "22023", "p_filter must be an object, got array"),
            (
                &sql_13,
                "22023",
                "p_status must be completed, failed, expired, cancelled or skipped, got 'done'",
            ),
            (&sql_14, "22023", "p_to_ts must be a finite time, got infinity"),
            ("select postrider.cancel_replay(null)", "22004", "Replay id must not be null"),
            ("select postrider.cancel_replay(5)", "42704", "Replay 5 does not exist"),
        ],
    )
    .await;
    shop.execute("select postrider.disable_endpoint('a')").await;
    let (sql_15, sql_16) = (range(&format!("1, {now}")), job(&format!("'a', {now}")));
    let disabled = "Endpoint 'a' is disabled";
    check_refusals(&client, &[(&sql_15, "55000", disabled), (&sql_16, "55000", disabled)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_replayed_in_order_and_by_status() {
    let shop = Shop::open_to_receivers().await;
    let receiver = start(Behaviour::Status(200));
    shop.quick_endpoint("hook", &receiver.url()).await;
    shop.execute(
        "select postrider.create_endpoint('other', 'discard', '{}');
        select postrider.create_event_type('order.paid');
        select postrider.subscribe('order.paid', n) from unnest(array['hook', 'other']) n",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let client = shop.client().await;
    shop.execute(
        "select postrider.send_with_options('hook', to_jsonb(n), p_ordering_key => 'key')
        from generate_series(1, 60) n;
        select postrider.send('other', '1') from generate_series(1, 10);
        select postrider.publish('order.paid', '100')",
    )
    .await;
    receiver.wait_for_accepted(61, LONG).await.unwrap();
    receiver.set_behaviour(Behaviour::Status(400));
    let dead = shop.send("hook", json!(200)).await;
    let cancelled = id_of(
        &client,
        "select postrider.send_with_options('hook', '300', p_scheduled_at => now() + interval '1 day')",
    )
    .await;
    shop.until("select count(*) = 1 from postrider.dead_letter").await;
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({cancelled})")).await);
    id_of(
        &client,
        "select postrider.send_with_options('hook', '400', p_scheduled_at => now() + interval '1 day')",
    )
    .await;
    shop.until(
        "select not exists (
            select from postrider.message m where m.xid >= postrider.done_before())",
    )
    .await;
    receiver.set_behaviour(Behaviour::Status(200));
    receiver.clear();

    let hook =
        id_of(&client, "select id::bigint from postrider.endpoints where name = 'hook'").await;
    let replay = async |status: &str| -> i32 {
        let sql = format!("select postrider.replay_range({hook}, {DAY}, {status})");
        client.query_one(&sql, &[]).await.unwrap().get(0)
    };
    // What is replayed now is not replayed by the next one.
    assert_eq!(replay("'expired'").await, 0);
    assert_eq!(replay("'failed'").await, 1);
    assert_eq!(replay("'cancelled'").await, 1);
    assert_eq!(replay("'completed'").await, 61);
    receiver.wait_for_accepted(63, LONG).await.unwrap();
    let sent = receiver.requests();
    let numbers: Vec<i64> = sent
        .iter()
        .map(|request| std::str::from_utf8(&request.body).unwrap().parse().unwrap())
        .filter(|n| *n <= 60)
        .collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    assert!(sent.iter().any(|request| &*request.body == b"200"), "{dead}");
    // To this endpoint only, published or not.
    let strangers: i64 = shop
        .ask(
            "select count(*) from postrider.message m
            cross join lateral unnest(m.targets) t (target)
            join postrider.subscriptions s on s.id = t.target
            join postrider.endpoints e on e.id = s.endpoint_id
            where m.replay_of is not null and e.name <> 'hook'",
        )
        .await;
    assert_eq!(strangers, 0);
    shop.until("select count(*) = 1 from postrider.queue").await;
    assert_eq!(replay("null").await, 63, "what is a replay itself is left out");

    // Half-open: from the first on, and before the last.
    let bounds = "select count(*) from (
            select count(*) over (order by m.created_at range between unbounded preceding and current row)
            from postrider.message m where m.endpoint_name = 'other') c";
    assert_eq!(shop.ask::<i64>(bounds).await, 10);
    let sql =
        "select postrider.replay_range(e.id, m.created_at, m.created_at + interval '1 microsecond')
            + 1000 * postrider.replay_range(e.id, m.created_at - interval '1 second', m.created_at)
        from postrider.endpoints e
        cross join (select max(created_at) as created_at from postrider.message
            where endpoint_name = 'other') m
        where e.name = 'other'";
    let found: i32 = shop.ask(sql).await;
    assert_eq!(found % 1000, 11, "ten of its own and a published one, of one transaction");
    assert_eq!(found / 1000, 0);
    let logged: String = shop
        .ask("select string_agg(e.details ->> 'replayed', ' ' order by e.id)
            from postrider.event_log e where e.event = 'range.replayed' and e.endpoint_name = 'hook'")
        .await;
    assert_eq!(logged, "0 1 1 61 63");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_has_no_room_is_refused_as_a_whole() {
    let shop = Shop::open_migrated().await;
    let dispatcher = shop.serve().await;
    delivered(&shop, 200).await;
    assert!(dispatcher.sigterm());
    dispatcher.wait(LONG).await.unwrap();
    shop.execute("select postrider.set_setting('max_queue_size', '100')").await;
    let sql = format!("select postrider.replay_range(1, {DAY})");
    assert_eq!(shop.refusal(&sql).await, "53400");
    assert_eq!(shop.ask::<i64>(REPLAYED).await, 0);
    shop.execute("select postrider.set_setting('max_queue_size', '1000')").await;
    assert_eq!(shop.ask::<i32>(&sql).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_found_by_its_index() {
    let shop = Shop::open_to_producers().await;
    shop.execute(
        "do $$
        begin
            perform postrider.set_setting('max_queue_size', '0');
            for batch in 1..100 loop
                perform postrider.send_batch('a', array_agg(jsonb_build_object('n', n)))
                from generate_series(1, 1000) n;
                commit;
            end loop;
        end;
        $$",
    )
    .await;
    shop.execute("vacuum analyze postrider.message").await;
    let moment =
        "(select m.created_at from postrider.message m order by m.id offset 50000 limit 1)";
    let script = format!(
        "load 'auto_explain';
        set auto_explain.log_min_duration = 0;
        set auto_explain.log_nested_statements = on;
        set client_min_messages = log;
        select postrider.replay_range(1, {moment}, {moment} + interval '1 ms');
        select postrider.create_replay('a', {moment}, {moment} + interval '1 ms');"
    );
    let run = shop.psql("shop", &[], &script).succeed();
    let plans: Vec<&str> = run.stderr.split("LOG:").collect();
    for marker in ["c.status = coalesce(p_status, c.status)", "min(m.id + 0)"] {
        let plan = plans.iter().find(|plan| plan.contains(marker)).expect(marker);
        assert!(plan.contains("created_at_idx") || plan.contains("message_created_at"), "{plan}");
        assert!(plan.contains("Bitmap Heap Scan"), "{plan}");
    }
    let partitions = "select count(*) from pg_indexes i
        where i.schemaname = 'postrider' and i.tablename like 'message_%' and i.indexdef like '%brin%'";
    assert_eq!(shop.ask::<i64>(partitions).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_replays_what_its_filters_let_through() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.create_event_type(t) from unnest(array['order.paid', 'order.lost']) t;
        select postrider.subscribe('*', 'a')",
    )
    .await;
    let _dispatchers = (shop.serve().await, shop.serve().await);
    let client = shop.client().await;
    shop.execute(
        "select postrider.publish('order.paid', jsonb_build_object('n', n % 3)) from generate_series(1, 90) n;
        select postrider.publish('order.lost', jsonb_build_object('n', n % 3)) from generate_series(1, 30) n;
        select postrider.send('a', '{\"n\": 1}') from generate_series(1, 10)",
    )
    .await;
    shop.until(ALL_FINISHED).await;
    let cases = [
        ("", 130),
        (", p_event_type => 'order.lost'", 30),
        (", p_filter => '{\"n\": 1}'", 50),
        (", p_status => 'failed'", 0),
        (", p_status => 'completed', p_event_type => 'order.paid', p_filter => '{\"n\": 2}'", 30),
    ];
    for (arguments, expected) in cases {
        let id = create(&client, &format!("'a', {DAY}{arguments}")).await;
        shop.until(&has_state(id, "completed")).await;
        let sql = format!(
            "select r.replayed_count, r.progress::float8, r.finished_at is not null, r.last_error is null
            from postrider.replays r where r.id = {id}"
        );
        let row = client.query_one(&sql, &[]).await.unwrap();
        let found: (i64, f64, bool, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
        assert_eq!(found, (expected, 1.0, true, true), "{arguments}");
    }
    assert_eq!(shop.ask::<i64>(REPLAYED).await, 130 + 30 + 50 + 30);
    // A range with nothing in it.
    let id = create(&client, "'a', '2001-01-01Z', '2001-01-02Z'").await;
    shop.until(&has_state(id, "completed")).await;
    let logged: String = shop
        .ask(
            "select string_agg(e.event, ' ' order by e.id) from postrider.event_log e
            where e.event like 'replay.%' and (e.details ->> 'id')::bigint = 1",
        )
        .await;
    assert_eq!(logged, "replay.created replay.completed");
    assert!(!shop.ask::<bool>("select postrider.cancel_replay(1)").await, "it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_on_exactly_where_a_killed_dispatcher_left_it() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let mut dispatcher = shop.serve().await;
    delivered(&shop, 12_000).await;
    let client = shop.client().await;
    let id = create(&client, &format!("'a', {DAY}")).await;
    for share in [1_000, 6_000] {
        shop.until(&format!("select r.replayed_count > {share} from postrider.replay r")).await;
        assert!(dispatcher.sigkill());
        dispatcher = shop.serve().await;
    }
    shop.until(&has_state(id, "completed")).await;
    check_each_once(&shop, 12_000).await;
    let count: i64 = shop.ask("select r.replayed_count from postrider.replays r").await;
    assert_eq!(count, 12_000);
    // In order.
    let is_sorted = "select bool_and(c.replay_of > c.before) from (
            select m.replay_of, lag(m.replay_of, 1, 0::bigint) over (order by m.id >> 10) as before
            from postrider.message m where m.replay_of is not null) c";
    assert!(shop.ask::<bool>(is_sorted).await);
    shop.until(ALL_FINISHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_dispatchers_share_a_job_and_keep_its_rate() {
    let shop = Shop::open_migrated().await;
    let _dispatchers = (shop.serve().await, shop.serve().await);
    delivered(&shop, 1_000).await;
    let client = shop.client().await;
    let (rate, count) = (100, 1_000);
    let id = create(&client, &format!("'a', {DAY}, p_rate => {rate}")).await;
    shop.until(
        "select r.progress between 0 and 1 and r.replayed_count > 0 from postrider.replays r",
    )
    .await;
    shop.until(&has_state(id, "completed")).await;
    check_each_once(&shop, count).await;
    // From the first step to the last one, by when they were written.
    let measured: f64 = shop
        .ask(
            "select (count(*) filter (where m.created_at > b.first_at)
                / extract(epoch from b.last_at - b.first_at))::float8
            from postrider.message m
            cross join (
                select min(r.created_at) as first_at, max(r.created_at) as last_at
                from postrider.message r where r.replay_of is not null) b
            where m.replay_of is not null
            group by b.first_at, b.last_at",
        )
        .await;
    println!("rate {measured:.1} of {rate}");
    // Of a rate that each of the two kept it would be twice as much; a busy machine makes it less, and one that
    // stands still while the last step is sent, more.
    assert!((0.3..1.7).contains(&(measured / f64::from(rate))), "{measured}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_cancelled_where_it_is() {
    let shop = Shop::open_migrated().await;
    let _dispatcher = shop.serve().await;
    delivered(&shop, 2_000).await;
    let client = shop.client().await;
    let id = create(&client, &format!("'a', {DAY}, p_rate => 50")).await;
    shop.until("select r.replayed_count > 0 from postrider.replay r").await;
    // While somebody holds the job in an open transaction, dispatchers go on with everything else.
    let cancelling = shop.client().await;
    let cancel = format!("begin; select postrider.cancel_replay({id})");
    cancelling.batch_execute(&cancel).await.unwrap();
    let other = create(&client, &format!("'a', {DAY}, p_status => 'failed'")).await;
    shop.until(&has_state(other, "completed")).await;
    cancelling.batch_execute("commit").await.unwrap();

    let count: i64 =
        shop.ask("select r.replayed_count from postrider.replays r where r.id = 1").await;
    let third = create(&client, &format!("'a', {DAY}, p_status => 'failed'")).await;
    shop.until(&has_state(third, "completed")).await;
    assert!(count < 2_000);
    assert_eq!(shop.ask::<i64>(REPLAYED).await, count, "nothing after it was cancelled");
    assert!(shop.ask::<bool>(&has_state(id, "cancelled")).await);
    let logged: i64 = shop
        .ask(
            "select (e.details ->> 'replayed')::bigint from postrider.event_log e
            where e.event = 'replay.cancelled'",
        )
        .await;
    assert_eq!(logged, count);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_for_room_and_for_its_endpoint() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hook", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("hook", 500).await;
    shop.until(ALL_FINISHED).await;
    receiver.set_behaviour(Behaviour::Status(503));
    shop.execute("select postrider.set_setting('max_queue_size', '100')").await;
    let client = shop.client().await;
    let id = create(&client, &format!("'hook', {DAY}")).await;
    shop.until(
        "select coalesce(r.last_error like 'The log is full%', false) from postrider.replays r",
    )
    .await;
    // The limit may be missed by what no checkpoint has told yet.
    let sent: i64 = shop.ask(REPLAYED).await;
    assert!((1..500).contains(&sent), "{sent}");
    receiver.set_behaviour(Behaviour::Status(200));
    shop.until(&has_state(id, "completed")).await;
    check_each_once(&shop, 500).await;

    shop.execute("select postrider.set_setting('max_queue_size', '10000')").await;
    // In one transaction: a dispatcher that makes up for a while sends all of it at once.
    client.batch_execute("begin").await.unwrap();
    let id = create(&client, &format!("'hook', {DAY}, p_rate => 100")).await;
    client.batch_execute("select postrider.disable_endpoint('hook'); commit").await.unwrap();
    let error = format!(
        "select r.last_error is not distinct from 'Endpoint ''hook'' is disabled' and r.state = 'running'
        from postrider.replays r where r.id = {id}"
    );
    shop.until(&error).await;
    shop.execute("select postrider.enable_endpoint('hook')").await;
    shop.until(&has_state(id, "completed")).await;

    let id = create(&client, &format!("'hook', {DAY}, p_rate => 1")).await;
    shop.execute("select postrider.drop_endpoint('hook', p_force => true)").await;
    shop.until(&has_state(id, "failed")).await;
    let error: String =
        shop.ask(&format!("select r.last_error from postrider.replays r where r.id = {id}")).await;
    assert_eq!(error, "Endpoint 'hook' does not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_does_it_all() {
    let shop = Shop::open_migrated().await;
    let dispatcher = shop.serve().await;
    delivered(&shop, 20).await;
    let id: i64 = shop.ask("select min(id) from postrider.message").await;
    let replayed = shop.run(&["replay", "message", &id.to_string(), "--json"]).json();
    assert_eq!(replayed["replay_of"], id);
    assert!(replayed["message_id"].as_i64().unwrap() > id);
    shop.run(&["replay", "message", "7"]).fail(1, "Message 7 does not exist");

    let range = ["--from", "2001-01-01T00:00:00Z", "--to", "2101-01-01T00:00:00Z"];
    let run = |arguments: &[&str]| shop.run(&[arguments, &range[..]].concat());
    let replayed =
        run(&["replay", "range", "a", "--yes", "--status", "completed", "--json"]).json();
    assert_eq!(replayed["replayed"], 20);
    run(&["replay", "range", "b", "--yes"]).fail(1, "Endpoint 'b' does not exist");
    run(&["replay", "range", "a", "--status", "lost"]).fail(2, "lost");
    for wrong in ["lost", "Completed", "complete", ""] {
        let refused = run(&["replay", "create", "a", "--status", wrong]).fail(2, "--status");
        for known in ["completed", "failed", "expired", "cancelled", "skipped"] {
            assert!(refused.stderr.contains(known), "{refused:?}");
        }
    }
    let none = "select not exists (select from postrider.replay)";
    assert!(shop.ask::<bool>(none).await, "a job was made");
    let create = ["replay", "create", "a", "--rate", "1", "--filter", "{\"n\": 1}"];
    let job = run(&[&create[..], &["--status", "completed", "--json"]].concat()).json();
    assert_eq!(job["replay_id"], 1);
    let status: String = shop.ask("select status from postrider.replay").await;
    assert_eq!(status, "completed");
    shop.run(&["replay", "list"]).succeed();
    let jobs = shop.run(&["replay", "list", "--json"]).json();
    assert_eq!(jobs[0]["endpoint_name"], "a");
    shop.run(&["replay", "cancel", "1"]).succeed();
    shop.run(&["replay", "cancel", "2"]).fail(1, "Replay 2 does not exist");
    drop(dispatcher);

    let partitions = shop.run(&["partition", "list", "--json"]).json();
    assert_eq!(partitions.as_array().unwrap().len(), 30);
    shop.run(&["partition", "list"]).succeed();
    let made = shop.run(&["partition", "maintain", "--months-ahead", "5", "--json"]).json();
    assert_eq!(made["created"], 12);
    let dropped = shop.run(&["partition", "cleanup", "--yes", "--json"]).json();
    assert_eq!(dropped["dropped"], 0);
    shop.run(&["partition", "cleanup", "--retention-months", "0"]).fail(2, "0");
}

/// A dispatcher that has nothing to replay looks every two seconds, and finds a job within that; a busy
/// machine may need longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_job_is_found_soon() {
    let shop = Shop::open_migrated().await;
    let _dispatcher = shop.serve().await;
    delivered(&shop, 1).await;
    let client = shop.client().await;
    let id = create(&client, &format!("'a', {DAY}")).await;
    let took = shop.until_within(LONG, &has_state(id, "completed")).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
}
