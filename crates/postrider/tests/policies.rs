//! Delivery policies in the database and at work: what is refused, which policy applies, and when the
//! attempts come.

use std::{collections::BTreeMap, time::Duration};

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_testkit::{
    process::Dispatcher,
    receiver::{Answer, Behaviour, Receiver},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

/// How much later than computed an attempt may come on a busy machine, while nothing stands still, in seconds.
const SLACK: f64 = 0.9;

/// The statement fails with this SQLSTATE and exactly this text.
#[track_caller]
fn check(result: Result<(), tokio_postgres::Error>, code: &str, text: &str, sql: &str) {
    let error = result.expect_err(sql);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
    assert_eq!((error.code().code(), error.message()), (code, text), "{sql}");
}

/// Cases that the core answers alike.
fn shared_cases() -> Value {
    serde_json::from_str(include_str!("../testdata/retry_policy.json")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_policies_are_judged_and_computed_as_by_the_dispatcher() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let cases = shared_cases();
    let waits = "select
            postrider.validate_retry_policy($1),
            to_jsonb(postrider.retry_waits($1, $2)),
            coalesce((postrider.complete_retry_policy($1, $2) ->> 'jitter')::float8, 0)";
    for case in cases["valid"].as_array().unwrap() {
        let place = case["place"].as_str().unwrap();
        let row = client.query_one(waits, &[&case["policy"], &place]).await;
        let row = row.unwrap_or_else(|error| panic!("{case}: {error:?}"));
        // A number, or a number and how often it comes.
        let expected: Vec<Value> = case["waits"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|wait| match wait.as_array() {
                Some(pair) => vec![pair[0].clone(); pair[1].as_u64().unwrap() as usize],
                None => vec![wait.clone()],
            })
            .collect();
        assert!(row.get::<_, bool>(0), "{case}");
        assert_eq!(row.get::<_, Value>(1), Value::from(expected), "{case}");
        assert_eq!(row.get::<_, f64>(2), case["jitter"].as_f64().unwrap(), "{case}");
    }

    client.batch_execute("set role postrider_admin").await.unwrap();
    let validate = "select postrider.validate_retry_policy($1)";
    for case in cases["invalid"].as_array().unwrap() {
        let result = client.query(validate, &[&case["policy"]]).await.map(drop);
        check(result, "22023", case["error"].as_str().unwrap(), &case.to_string());
    }
    let row = client.query_one(validate, &[&None::<Value>]).await.unwrap();
    assert!(row.get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policies_of_event_types_are_read_without_reading_all_event_types() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let fill = "insert into postrider.event_types (name, patterns, metadata)
            select 't' || n, '{}',
                case when n % 5000 = 0 then '{\"_retry_policy\": {}}' else '{}' end::jsonb
            from generate_series(1, 20000) n;
            analyze postrider.event_types";
    client.batch_execute(fill).await.unwrap();
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    client.batch_execute(session).await.unwrap();
    let sql = include_str!("../../../sql/queries/endpoints/dispatcher_event_types.sql");
    assert_eq!(client.query(sql, &[]).await.unwrap().len(), 4);
    let plan = client.query(&format!("explain {sql}"), &[]).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    assert!(plan[0].starts_with("Index Scan using event_types_retry_policy"), "{plan:#?}");
}

async fn events(client: &Client, after: i64) -> Value {
    let sql =
        "select coalesce(jsonb_agg(jsonb_build_array(event, endpoint_name) order by id), '[]')
        from postrider.event_log where id > $1";
    client.query_one(sql, &[&after]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_policy_is_refused_wherever_it_is_written() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let prepare = "select postrider.create_endpoint('a', 'http', '{\"url\": \"http://a.test/\"}'),
            postrider.create_event_type('order.paid'), postrider.subscribe('order.*', 'a');
        set role postrider_admin;";
    client.batch_execute(prepare).await.unwrap();
    let count = "select max(id) from postrider.event_log";
    let before: i64 = shop.ask(count).await;
    let of_type = |what: &str| format!("update postrider.event_types set {what}");
    let of_subscription =
        |what: &str| format!("update postrider.subscriptions set {what} where event_type <> ''");
    let direct = "Subscription 1 stands for its endpoint and cannot be changed";
    for (sql, code, text) in [
        (
            of_type("metadata = '{\"_retry_policy\": 5}'"),
            "22023",
            "retry_policy must be an object",
        ),
        (
            of_type("metadata = '{\"_retry_policy\": null}'"),
            "22023",
            "retry_policy must be an object",
        ),
        (
            of_type("metadata = '{\"_retry_policy\": {\"minimum_delay\": \"5\"}}'"),
            "22023",
            "retry_policy.minimum_delay must be an integer",
        ),
        (of_type("metadata = '[]'"), "22023", "metadata must be an object, got array"),
        (
            of_type("schema = '5'"),
            "22023",
            "schema must be a JSON Schema (an object or a boolean), got number",
        ),
        (of_subscription("retry_policy = '5'"), "22023", "retry_policy must be an object"),
        (
            of_subscription("retry_policy = '{\"preset\": \"aws\"}'"),
            "22023",
            "retry_policy.preset must be one of standard-webhooks, sns, sns-managed, sns-customer",
        ),
        (of_subscription("filter = '[]'"), "22023", "filter must be an object, got array"),
        (of_subscription("enabled = null"), "22004", "enabled must not be null"),
        ("update postrider.subscriptions set enabled = false".to_owned(), "55000", direct),
        ("update postrider.subscriptions set retry_policy = '{}'".to_owned(), "55000", direct),
        (
            "update postrider.endpoints set retry_policy = '{\"minimum_delay\": 31}'".to_owned(),
            "22023",
            "retry_policy.minimum_delay must not be greater than maximum_delay",
        ),
        (
            "select postrider.create_event_type('b', p_metadata => '{\"_retry_policy\": []}')"
                .to_owned(),
            "22023",
            "retry_policy must be an object",
        ),
        (
            "select postrider.subscribe('*', 'a', null, '{\"_retry_policy\": {\"numRetries\": 8}}')"
                .to_owned(),
            "22023",
            "retry_policy: the phases have 9 retries, numRetries allows 8",
        ),
        (
            "select postrider.subscribe('*', 'a', null, '{\"retry_policy\": {}}')".to_owned(),
            "22023",
            "p_options.retry_policy is not a known key (did you mean _retry_policy?)",
        ),
        (
            "select postrider.subscribe('*', 'a', null, '{\"enable\": true}')".to_owned(),
            "22023",
            "p_options.enable is not a known key (did you mean enabled?)",
        ),
        ("select postrider.explain_policy(null)".to_owned(), "22004", "Message id must not be null"),
        ("select postrider.explain_policy(7)".to_owned(), "42704", "Message 7 does not exist"),
    ] {
        check(client.batch_execute(&sql).await, code, text, &sql);
    }
    assert_eq!(shop.ask::<i64>(count).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_an_admin_are_logged_and_told_to_dispatchers() {
    use postrider_store::connect::{Connector, DatabaseUrl};
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let prepare = "select postrider.create_endpoint('a', 'http', '{\"url\": \"http://a.test/\"}'),
            postrider.create_event_type('order.paid'), postrider.subscribe('order.*', 'a');
        set role postrider_admin;";
    client.batch_execute(prepare).await.unwrap();
    let connector = Connector::new(&DatabaseUrl::new(shop.url()), None, "test").unwrap();
    let mut session = connector.connect().await.unwrap();
    session.client.batch_execute("listen postrider").await.unwrap();
    let last = "select max(id) from postrider.event_log";
    let policy = json!({ "minimum_delay": 6 });
    let wrapped = json!({ "_retry_policy": policy });
    let of_type = "update postrider.event_types set metadata = ";
    let of_subscription = "where event_type is not null";
    let subscription =
        |what: &str| format!("update postrider.subscriptions set {what} {of_subscription}");
    // What is changed to what it is already is no change.
    for (sql, expected, told) in [
        (format!("{of_type} '{wrapped}'"), json!([["event_type.altered", null]]), "settings"),
        (format!("{of_type} '{wrapped}'"), json!([]), ""),
        (format!("{of_type} null"), json!([["event_type.altered", null]]), "settings"),
        (
            "update postrider.event_types set description = 'x'".to_owned(),
            json!([["event_type.altered", null]]),
            "",
        ),
        (
            subscription(&format!("retry_policy = '{policy}'")),
            json!([["subscription.altered", "a"]]),
            "endpoints",
        ),
        (subscription(&format!("retry_policy = '{policy}'")), json!([]), ""),
        (subscription("enabled = false"), json!([["subscription.disabled", "a"]]), ""),
        (
            subscription("enabled = true, filter = '{}'"),
            json!([["subscription.enabled", "a"], ["subscription.altered", "a"]]),
            "",
        ),
        (
            "select postrider.create_event_type('b', p_metadata => '{\"_retry_policy\": {}}')"
                .to_owned(),
            json!([["event_type.created", null]]),
            "settings",
        ),
        (
            "select postrider.drop_event_type('b')".to_owned(),
            json!([["event_type.dropped", null]]),
            "settings",
        ),
    ] {
        let before: i64 = shop.ask(last).await;
        client.batch_execute(&sql).await.unwrap();
        assert_eq!(events(&client, before).await, expected, "{sql}");
        if !told.is_empty() {
            assert_eq!(session.notifications.recv().await.unwrap().payload(), told, "{sql}");
        }
    }
    client.batch_execute("notify postrider, 'end'").await.unwrap();
    assert_eq!(session.notifications.recv().await.unwrap().payload(), "end");
}

/// Waits until every message has failed `retry_count` times; how long each delivery waits now, in
/// seconds from the end of its last attempt, by event type and endpoint.
async fn waits_of(shop: &Shop, count: usize, retry_count: u32) -> BTreeMap<String, f64> {
    shop.until(&format!(
        "select count(*) = {count} from postrider.deferred where retry_count = {retry_count}"
    ))
    .await;
    let sql = "select
            coalesce(m.event_type, 'direct') || ' ' || e.name,
            extract(epoch from d.run_at - a.started_at)::float8 - a.duration_ms / 1000.0::float8
        from postrider.deferred d
        join postrider.endpoints e on e.id = d.endpoint_id
        join postrider.message m on m.id = d.message_id
        join lateral (
            select a.started_at, a.duration_ms
            from postrider.attempt a
            where a.message_id = d.message_id and a.target = d.target
            order by a.started_at desc
            limit 1
        ) a on true";
    let rows = shop.client().await.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[track_caller]
fn assert_wait(pulse: &Pulse, wait: f64, expected: f64, longest: f64, what: &str) {
    let slack = SLACK + pulse.still().as_secs_f64();
    assert!(
        (expected - 0.01..longest + slack).contains(&wait),
        "{what}: {wait} and not {expected}"
    );
}

/// A policy whose only wait says whose it is.
fn once(seconds: u32) -> Value {
    json!({ "schedule_seconds": [seconds], "jitter": 0 })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_is_chosen_by_event_type_subscription_endpoint_and_settings() {
    let shop = Shop::open_to_receivers().await;
    shop.execute(
        "select postrider.set_setting('retry_base_delay', '3000'),
        postrider.set_setting('retry_max_delay', '3000')",
    )
    .await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let strict = json!({
        "schedule_seconds": [100], "jitter": 0, "ignore_subscription_override": true
    });
    let client = shop.client().await;
    for (name, metadata) in [
        ("plain", json!({})),
        ("typed", json!({ "_retry_policy": once(200) })),
        ("strict", json!({ "_retry_policy": strict })),
    ] {
        let create = "select postrider.create_event_type($1, p_metadata => $2)";
        client.execute(create, &[&name, &metadata]).await.unwrap();
    }
    for (name, own, options) in [
        ("bare", None, json!({})),
        ("own", Some(once(400)), json!({})),
        ("subscribed", Some(once(400)), json!({ "_retry_policy": once(300) })),
    ] {
        let create = "select postrider.create_endpoint($1, 'http', $2)";
        client.execute(create, &[&name, &json!({ "url": receiver.url() })]).await.unwrap();
        let set = "update postrider.endpoints set retry_policy = $2 where name = $1";
        client.execute(set, &[&name, &own]).await.unwrap();
        let subscribe = "select postrider.subscribe('*', $1, null, $2)";
        client.execute(subscribe, &[&name, &options]).await.unwrap();
    }
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.execute("select postrider.publish(name, '{}') from postrider.event_types").await;
    shop.execute("select postrider.send(name, '{}') from postrider.endpoints").await;

    let expected = [
        ("direct bare", 3000, "settings"),
        ("direct own", 400, "endpoint"),
        ("direct subscribed", 400, "endpoint"),
        ("plain bare", 3000, "settings"),
        ("plain own", 400, "endpoint"),
        ("plain subscribed", 300, "subscription"),
        ("strict bare", 100, "event_type"),
        ("strict own", 100, "event_type"),
        ("strict subscribed", 100, "event_type"),
        ("typed bare", 200, "event_type"),
        ("typed own", 200, "event_type"),
        ("typed subscribed", 300, "subscription"),
    ];
    let waits = waits_of(&shop, expected.len(), 1).await;
    // What people are told is what was done.
    let sql = "select
            coalesce(m.event_type, 'direct') || ' ' || p.endpoint_name,
            p.rule || ' ' || p.status || ' ' || p.wait_ms,
            p.expected_at = d.run_at
        from postrider.message m
        cross join lateral postrider.explain_policy(m.id) p
        join postrider.deferred d on d.message_id = m.id
        join postrider.endpoints e on e.id = d.endpoint_id and e.name = p.endpoint_name
        where p.attempt = 2";
    let told = client.query(sql, &[]).await.unwrap();
    let told: BTreeMap<String, (String, bool)> =
        told.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
    assert_eq!((waits.len(), told.len()), (expected.len(), expected.len()));
    for (name, wait, rule) in expected {
        let longest = if wait == 3000 { 3300.0 } else { f64::from(wait) };
        assert_wait(&pulse, waits[name], f64::from(wait), longest, name);
        assert_eq!(told[name], (format!("{rule} next {}", wait * 1000), true), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_of_an_event_type_or_a_subscription_holds_from_the_next_failure_on() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("typed", json!({ "url": receiver.url() }), json!({})).await;
    shop.endpoint("subscribed", json!({ "url": receiver.url() }), json!({})).await;
    let policy = |last: u32| json!({ "schedule_seconds": [4, last], "jitter": 0 });
    let metadata = json!({ "_retry_policy": policy(500) });
    shop.execute(&format!(
        "select postrider.create_event_type('order', p_metadata => '{metadata}'),
            postrider.subscribe('order', 'typed'),
            postrider.subscribe('order', 'subscribed', null, '{metadata}')"
    ))
    .await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.execute("select postrider.publish('order', '{}')").await;
    let waits = waits_of(&shop, 2, 1).await;
    assert_wait(&pulse, waits["order typed"], 4.0, 4.0, "typed");
    shop.execute(&format!(
        "update postrider.event_types set metadata = '{}';
        update postrider.subscriptions set retry_policy = '{}' where retry_policy is not null",
        json!({ "_retry_policy": policy(300) }),
        policy(200)
    ))
    .await;
    let waits = waits_of(&shop, 2, 2).await;
    assert_wait(&pulse, waits["order typed"], 300.0, 300.0, "typed");
    assert_wait(&pulse, waits["order subscribed"], 200.0, 200.0, "subscribed");
}

#[tokio::test(flavor = "multi_thread")]
async fn phases_follow_each_other_and_the_last_failure_is_a_dead_letter() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), json!({})).await;
    let policy = json!({
        "retries_with_no_delay": 2, "minimum_delay_retries": 1, "minimum_delay": 1,
        "backoff_retries": 0, "maximum_delay": 2, "maximum_delay_retries": 1
    });
    shop.execute(&format!(
        "select postrider.create_event_type('order'),
            postrider.subscribe('order', 'hooks', null, '{}')",
        json!({ "_retry_policy": policy })
    ))
    .await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    let id: i64 = shop.ask("select postrider.publish('order', '{}')").await;
    shop.until("select count(*) = 1 from postrider.dead_letter where cause = 'retries_exhausted'")
        .await;
    let waits: Vec<f64> = receiver.with_requests(|requests| {
        requests.windows(2).map(|two| (two[1].at - two[0].at).as_secs_f64()).collect()
    });
    println!("{waits:.2?}");
    assert_eq!(waits.len(), 4, "{waits:?}");
    for (wait, expected) in waits.iter().zip([0.0, 0.0, 1.0, 2.0]) {
        assert_wait(&pulse, *wait, expected, expected, "phases");
    }
    let told = format!(
        "select jsonb_agg(jsonb_build_array(attempt, status, wait_ms, expected_at) order by attempt)
        from postrider.explain_policy({id})"
    );
    let expected = json!([
        [1, "made", 0, null],
        [2, "made", 0, null],
        [3, "made", 0, null],
        [4, "made", 1000, null],
        [5, "made", 2000, null],
    ]);
    assert_eq!(shop.ask::<Value>(&told).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_goes_on_where_it_was_when_its_dispatcher_is_killed() {
    let shop = Shop::open_to_receivers().await;
    let pulse = Pulse::of(&shop).await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let policy = json!({ "schedule_seconds": [1, 15, 600], "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let first = shop.serve().await;
    shop.send("hooks", json!({})).await;
    waits_of(&shop, 1, 2).await;
    assert!(first.sigkill());
    first.wait(LONG).await.unwrap();
    shop.end_leases().await;
    let row =
        "select jsonb_build_array(retry_count, recovery_count, run_at) from postrider.deferred";
    let before: Value = shop.ask(row).await;
    let run_at: f64 =
        shop.ask("select extract(epoch from run_at)::float8 from postrider.deferred").await;
    assert_eq!((&before[0], &before[1]), (&json!(2), &json!(0)));
    let options = shop.serve_options();
    let second = Dispatcher::start(&options).unwrap();
    second.wait_for_log("shards acquired", LONG).await.unwrap();
    assert_eq!(shop.ask::<Value>(row).await, before);

    let waits = waits_of(&shop, 1, 3).await;
    assert_wait(&pulse, waits["direct hooks"], 600.0, 600.0, "after the takeover");
    assert_eq!(receiver.request_count(), 3);
    let started: f64 = shop
        .ask(
            "select extract(epoch from started_at)::float8 from postrider.attempt where number = 3",
        )
        .await;
    assert_wait(&pulse, started - run_at, 0.0, 0.0, "the third attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_replaces_the_wait_on_every_path() {
    let shop = Shop::open_to_receivers().await;
    let date: String = shop
        .ask(
            "select to_char(
            now() at time zone 'utc' + interval '1000 s', 'Dy, DD Mon YYYY HH24:MI:SS \"GMT\"')",
        )
        .await;
    let answer = |status: u16, value: &str| Answer::status(status).header("Retry-After", value);
    let client = shop.client().await;
    let policy = json!({ "schedule_seconds": [50, 60], "jitter": 0 });
    let mut receivers = Vec::new();
    let cases = [
        ("seconds-429", answer(429, "120"), 120.0),
        ("seconds-503", answer(503, "120"), 120.0),
        ("date-429", answer(429, &date), 1000.0),
        ("date-503", answer(503, &date), 1000.0),
        ("long", answer(503, "100000"), 86_400.0),
        ("none", answer(429, "0"), 1.0),
        ("other-status", answer(500, "120"), 50.0),
        ("nonsense", answer(503, "soon"), 50.0),
    ];
    for (name, answer, _) in &cases {
        let answer = answer.clone();
        let receiver = Receiver::start(Behaviour::custom(move |_| answer.clone())).unwrap();
        shop.endpoint(name, json!({ "url": receiver.url() }), policy.clone()).await;
        receivers.push(receiver);
    }
    // Not the first attempt: a retry, which is read from the table.
    let asked = answer(503, "130");
    let receiver = Receiver::start(Behaviour::custom(move |arrival| match arrival.earlier_count {
        0 => Answer::status(500),
        _ => asked.clone(),
    }))
    .unwrap();
    let quick = json!({ "schedule_seconds": [1, 60], "jitter": 0 });
    shop.endpoint("retried", json!({ "url": receiver.url() }), quick).await;
    // An event with phases and an ordering key.
    let published = Receiver::start(Behaviour::custom(move |_| answer(429, "140"))).unwrap();
    shop.endpoint("published", json!({ "url": published.url() }), json!({})).await;
    let metadata = json!({ "_retry_policy": {} });
    let sql = "select postrider.create_event_type('order', p_metadata => $1)";
    client.execute(sql, &[&metadata]).await.unwrap();
    shop.execute("select postrider.subscribe('order', 'published')").await;

    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    for (name, _, _) in &cases {
        // The one that is to be left alone for a second would be attempted again.
        if *name != "none" {
            shop.send(name, json!({})).await;
        }
    }
    shop.execute("select postrider.publish('order', '{}', p_ordering_key => 'k')").await;
    let waits = waits_of(&shop, cases.len(), 1).await;
    assert_wait(&pulse, waits["order published"], 140.0, 140.0, "published");
    for (name, _, expected) in cases.iter().filter(|(name, _, _)| *name != "none") {
        // A date has no parts of a second, and time has passed since it was made.
        let early = if name.starts_with("date") { 30.0 } else { 0.0 };
        let wait = waits[&format!("direct {name}")];
        assert_wait(&pulse, wait + early, *expected, expected + early + 1.0, name);
    }
    shop.send("retried", json!({})).await;
    let waits = waits_of(&shop, 1, 2).await;
    assert_wait(&pulse, waits["direct retried"], 130.0, 130.0, "retried");
    shop.send("none", json!({})).await;
    receivers[5].wait_for(2, LONG).await.unwrap();
    let wait = receivers[5].with_requests(|requests| requests[1].at - requests[0].at);
    assert!(wait >= Duration::from_millis(990) && wait < Duration::from_secs(10), "{wait:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_explained_before_during_and_after() {
    let shop = Shop::open_to_receivers().await;
    let client = shop.client().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let policy = json!({ "schedule_seconds": [20, 60] });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let told = async |id: i64| -> Value {
        let sql = "select jsonb_agg(jsonb_build_array(
                p.endpoint_name, p.rule, p.attempt, p.status, p.wait_ms,
                extract(epoch from p.expected_at - m.scheduled_at)::integer) order by p.attempt)
            from postrider.explain_policy($1) p
            join postrider.message m on m.id = $1";
        client.query_one(sql, &[&id]).await.unwrap().get(0)
    };
    let row = |attempt: u32, status: &str, wait: Option<u32>, at: Option<u32>| {
        json!(["hooks", "endpoint", attempt, status, wait, at])
    };
    let later: i64 = shop
        .ask("select postrider.send_with_options('hooks', '{}', p_scheduled_at => now() + interval '1 h')")
        .await;
    let waiting = [
        row(1, "next", Some(0), Some(0)),
        row(2, "coming", Some(20_000), Some(20)),
        row(3, "coming", Some(60_000), Some(80)),
    ];
    assert_eq!(told(later).await, json!(waiting));
    let filled: Value =
        shop.ask(&format!("select policy from postrider.explain_policy({later}) limit 1")).await;
    assert_eq!(filled, json!({ "schedule_seconds": [20, 60], "jitter": 0.1 }));

    // It ends before all attempts can be made.
    let short: i64 = shop
        .ask("select postrider.send_with_options('hooks', '{}', p_scheduled_at => now() + interval '1 h',
            p_expires_at => now() + interval '1 h 30 s')")
        .await;
    let expiring = [
        row(1, "next", Some(0), Some(0)),
        row(2, "coming", Some(20_000), Some(20)),
        row(3, "unused", Some(60_000), None),
    ];
    assert_eq!(told(short).await, json!(expiring));
    shop.execute("select postrider.disable_endpoint('hooks')").await;
    let halted = [
        row(1, "next", Some(0), None),
        row(2, "coming", Some(20_000), None),
        row(3, "coming", Some(60_000), None),
    ];
    assert_eq!(told(later).await, json!(halted));
    shop.execute("select postrider.enable_endpoint('hooks')").await;

    let _dispatcher = shop.serve().await;
    let delivered = shop.send("hooks", json!({})).await;
    shop.until(&format!("select status = 'completed' from postrider.message_status({delivered})"))
        .await;
    let ended = [
        row(1, "made", Some(0), None),
        row(2, "unused", Some(20_000), None),
        row(3, "unused", Some(60_000), None),
    ];
    assert_eq!(told(delivered).await, json!(ended));
    // A retry that was granted stays granted.
    receiver.set_behaviour(Behaviour::Status(500));
    let failing = shop.send("hooks", json!({})).await;
    waits_of(&shop, 1, 1).await;
    shop.execute("update postrider.endpoints set retry_policy = '{\"max_retries\": 0}'").await;
    let sql = format!(
        "select jsonb_agg(jsonb_build_array(attempt, status, wait_ms, expected_at is null))
        from postrider.explain_policy({failing})"
    );
    let granted = json!([[1, "made", 0, true], [2, "next", null, false]]);
    assert_eq!(shop.ask::<Value>(&sql).await, granted);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_explained_and_set_by_the_command_line() {
    let shop = Shop::open_migrated().await;
    // Without a database.
    let explain = |arguments: &[&str]| {
        crate::shop::run(
            "postgres://nobody@127.0.0.1:1/x",
            &[&["policy", "explain"], arguments].concat(),
            "",
        )
    };
    let text = explain(&[r#"{"schedule_seconds": [5, 300, 86400], "jitter": 0}"#]).succeed().stdout;
    let expected = [
        "ATTEMPT  WAIT  SINCE FIRST",
        "1        0s    0s",
        "2        5s    5s",
        "3        5m    5m 5s",
        "4        1d    1d 5m 5s",
    ];
    assert_eq!(text.lines().take(5).collect::<Vec<_>>(), expected, "{text}");
    assert!(text.contains("1d │    █\n"), "{text}");
    assert!(
        text.ends_with("3 retries within 1d 5m 5s; what fails then is a dead letter.\n"),
        "{text}"
    );
    let text = explain(&["{}"]).succeed().stdout;
    assert!(
        text.starts_with("ATTEMPT  WAIT    LONGEST WAIT  SINCE FIRST  LATEST SINCE FIRST\n"),
        "{text}"
    );
    assert!(text.contains("10 retries within 30m 10s to 33m 11s"), "{text}");
    let phased = explain(&["{}", "--for", "event-type", "--json"]).json();
    assert_eq!((&phased["max_retries"], &phased["jitter"]), (&json!(15), &json!(0.0)));
    let last = json!({
        "attempt": 16, "wait_ms": 30_000, "longest_wait_ms": 30_000, "since_first_ms": 210_000,
        "latest_since_first_ms": 210_000
    });
    assert_eq!(phased["attempts"][15], last);
    explain(&[r#"{"max_retires": 5}"#])
        .fail(2, "retry_policy.max_retires is not a known key (did you mean max_retries?)");
    explain(&["{"]).fail(2, "the policy: EOF");
    explain(&[]).fail(2, "<POLICY>");
    explain(&["{}", "--message", "5"]).fail(2, "cannot be used with");
    explain(&["--message", "5"]).fail(3, "");

    shop.run(&["endpoint", "create", "a", "--protocol", "discard"]).succeed();
    let run = |arguments: &[&str]| shop.run(arguments);
    let policy = r#"{"minimum_delay": 6}"#;
    let create = ["event-type", "create", "order", "--metadata", r#"{"n": 1}"#];
    run(&[&create[..], &["--retry-policy", policy]].concat()).succeed();
    let metadata =
        async || -> Value { shop.ask("select metadata from postrider.event_types").await };
    assert_eq!(metadata().await, json!({ "n": 1, "_retry_policy": { "minimum_delay": 6 } }));
    let alter = |arguments: &[&str]| run(&[&["event-type", "alter", "order"], arguments].concat());
    alter(&["--retry-policy", "null", "--description", "paid"]).succeed();
    assert_eq!(metadata().await, json!({ "n": 1 }));
    alter(&["--metadata", r#"{"m": 2}"#, "--retry-policy", "{}"]).succeed();
    assert_eq!(metadata().await, json!({ "m": 2, "_retry_policy": {} }));
    alter(&["--schema", "true"]).succeed();
    assert_eq!(metadata().await, json!({ "m": 2, "_retry_policy": {} }));
    let type_of: Value =
        shop.ask("select jsonb_build_array(description, schema) from postrider.event_types").await;
    assert_eq!(type_of, json!(["paid", true]));
    alter(&["--retry-policy", r#"{"minimum_delay": 31}"#])
        .fail(2, "retry_policy.minimum_delay must not be greater than maximum_delay");
    alter(&["--retry-policy", "5"]).fail(2, "expected a JSON object");
    alter(&[]).fail(2, "--retry-policy");
    run(&["event-type", "alter", "x", "--description", "y"])
        .fail(1, "Event type 'x' does not exist");

    let create = ["subscription", "create", "order", "a", "--retry-policy", policy, "--json"];
    let id = run(&create).json()["id"].to_string();
    let stored = async || -> Value {
        let sql = "select jsonb_build_array(filter, retry_policy) from postrider.subscriptions
            where event_type is not null";
        shop.ask(sql).await
    };
    assert_eq!(stored().await, json!([null, { "minimum_delay": 6 }]));
    run(&["subscription", "alter", &id, "--filter", r#"{"n": 1}"#]).succeed();
    assert_eq!(stored().await, json!([{ "n": 1 }, { "minimum_delay": 6 }]));
    run(&["subscription", "alter", &id, "--retry-policy", "null", "--filter", "null"]).succeed();
    assert_eq!(stored().await, json!([null, null]));
    run(&["subscription", "alter", &id]).fail(2, "--filter");
    run(&["subscription", "alter", "1", "--filter", "{}"]).fail(1, "stands for its endpoint");
    run(&["subscription", "alter", "99", "--filter", "{}"]).fail(1, "does not exist");

    let message: i64 = shop.ask("select postrider.publish('order', '{}')").await;
    let message = message.to_string();
    let table = run(&["policy", "explain", "--message", &message]).succeed().stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("ENDPOINT NAME  RULE        ATTEMPT  STATUS  WAIT  EXPECTED AT"));
    assert!(lines[1].starts_with("a              event_type  1        next    0s    "), "{table}");
    assert_eq!(lines.len(), 17, "{table}");
    let rows = run(&["policy", "explain", "--message", &message, "--json"]).json();
    assert_eq!((&rows[4]["wait_ms"], &rows[4]["policy"]), (&json!(5000), &json!({})));
    run(&["policy", "explain", "--message", "5"]).fail(1, "Message 5 does not exist");
}
