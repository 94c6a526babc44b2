//! `queue`, `archive`, `dlq`, `blocked_keys` and `message_status`: what they show in every state of a
//! delivery, and that they read no more of a long log than they return. No dispatcher runs: what one
//! writes is written directly.

use std::collections::BTreeSet;

use crate::shop::Shop;
use serde_json::{Value, json};
use tokio_postgres::Client;

/// What a dispatcher leaves, as functions of a schema of the tests.
const DISPATCHER: &str = "
    create schema desk;
    create function desk.name_of(p_id bigint) returns text language sql as
        $$ select coalesce(payload ->> 'name', 'bytes') from postrider.message where id = p_id $$;
    create function desk.delivered(p_id bigint) returns void language sql as $$
        insert into postrider.done (bucket, at, offsets)
        values (p_id >> 22, now(), int2send(((p_id >> 10) & 4095)::smallint)) $$;
    create function desk.deferred(
        p_id bigint, p_target integer, p_run_at timestamptz, p_retry_count integer default 0,
        p_error text default null, p_is_blocked boolean default false)
    returns void language sql as $$
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, message_created_at,
            expires_at, last_error, ordering_key, is_blocked)
        select
            m.id, p_target, s.endpoint_id, m.lane >> 4, p_run_at, p_retry_count, m.created_at,
            m.expires_at, p_error, m.ordering_key, p_is_blocked
        from postrider.message m, postrider.subscriptions s
        where m.id = p_id and s.id = p_target $$;
    create function desk.attempted(p_id bigint, p_target integer, p_number integer, p_error text)
    returns void language sql as $$
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error)
        values (
            p_id, p_target, 1, p_number, now() + p_number * interval '1 second', 5, 'unavailable',
            p_error) $$;
    create function desk.buried(p_id bigint, p_target integer) returns void language sql as $$
        select postrider.bury(
            array[p_id], array[p_target], array[s.endpoint_id], array['exhausted'], array[3],
            array['[RETRYABLE] 503'])
        from postrider.subscriptions s where s.id = p_target $$;
    create function desk.ended(p_id bigint, p_target integer, p_reason text)
    returns void language sql as $$
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        values (p_id, p_target, 1, p_reason) $$;
    create function desk.claimed(p_id bigint, p_target integer, p_retry_count integer)
    returns void language sql as $$
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        select 0, s.owner, array[p_id], array[p_target], array[p_retry_count]
        from postrider.shard s where s.shard = (p_id & 1023) >> 4 $$;
    -- Everything that is committed is read; what is older than p_done_xmin is finished.
    create function desk.read_all(p_done_xmin xid8 default '3') returns void language sql as $$
        insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
        select 0, gen_random_uuid(), array_agg(s.shard), p_done_xmin, array_agg(0::bigint),
            jsonb_build_array(jsonb_build_object('state', jsonb_build_object(
                'tail', jsonb_build_object('base', pg_current_snapshot()))))
        from postrider.shard s $$;
    update postrider.shard set owner = gen_random_uuid();
    select postrider.create_endpoint(n, 'discard', '{}') from unnest(array['a', 'b', 'c']) n;";

/// A server on which a dispatcher can be played.
async fn open() -> (Shop, Client) {
    let shop = Shop::open_migrated().await;
    shop.psql("shop", &[], DISPATCHER).succeed();
    let client = shop.client().await;
    (shop, client)
}

async fn json(client: &Client, sql: &str) -> Value {
    let sql = format!("select coalesce(jsonb_agg(to_jsonb(q)), '[]') from ({sql}) q");
    let row = client.query_one(&sql, &[]).await;
    row.unwrap_or_else(|error| panic!("{error:?}: {sql}")).get(0)
}

/// Sends `{"name": name}` to `a` and returns id and target.
async fn send(client: &Client, name: &str, options: &str) -> (i64, i32) {
    let sql = format!(
        "select postrider.send_with_options('a', jsonb_build_object('name', '{name}'){options}),
            direct_subscription_id
        from postrider.endpoints where name = 'a'"
    );
    let row = client.query_one(&sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// One state of a delivery: how it comes about, and what each place says of it.
struct Case {
    name: &'static str,
    options: &'static str,
    /// `{id}` and `{target}` stand for the delivery's.
    sql: &'static str,
    /// Status, retries, whether it waits for a time, and the last error.
    queue: Option<(&'static str, i32, bool, Option<&'static str>)>,
    /// Status, retries and the last error.
    archive: Option<(&'static str, i32, Option<&'static str>)>,
}

const LATER: &str = ", p_scheduled_at => now() + interval '1 hour'";
const ERROR: Option<&str> = Some("[RETRYABLE] 503");

const CASES: &[Case] = &[
    Case {
        name: "waits for its retry",
        options: "",
        sql: "select desk.deferred({id}, {target}, now() + interval '1 minute', 2, '[RETRYABLE] 503')",
        queue: Some(("pending", 2, true, ERROR)),
        archive: None,
    },
    Case {
        name: "is due",
        options: "",
        sql: "select desk.deferred({id}, {target}, now() - interval '1 minute', 2, '[RETRYABLE] 503')",
        queue: Some(("pending", 2, false, ERROR)),
        archive: None,
    },
    Case {
        name: "is attempted again",
        options: "",
        sql: "select desk.deferred({id}, {target}, now(), 2, '[RETRYABLE] 503');
            select desk.claimed({id}, {target}, 2)",
        queue: Some(("processing", 2, false, ERROR)),
        archive: None,
    },
    Case {
        name: "was attempted again and waits",
        options: "",
        sql: "select desk.claimed({id}, {target}, 1);
            select desk.deferred({id}, {target}, now(), 2, '[RETRYABLE] 503')",
        queue: Some(("pending", 2, false, ERROR)),
        archive: None,
    },
    Case {
        name: "is blocked",
        options: ", p_ordering_key => 'k'",
        sql: "select desk.deferred({id}, {target}, 'infinity', p_is_blocked => true)",
        queue: Some(("pending", 0, false, None)),
        archive: None,
    },
    Case {
        name: "is scheduled and was read",
        options: LATER,
        sql: "select desk.deferred({id}, {target}, now() + interval '1 hour')",
        queue: Some(("pending", 0, true, None)),
        archive: None,
    },
    Case {
        name: "is in hand",
        options: "",
        sql: "select 1",
        queue: Some(("processing", 0, false, None)),
        archive: None,
    },
    Case {
        name: "is delivered",
        options: "",
        sql: "select desk.delivered({id})",
        queue: None,
        archive: Some(("completed", 0, None)),
    },
    Case {
        name: "is delivered at the third attempt",
        options: "",
        sql: "select desk.attempted({id}, {target}, 1, 'first'), desk.attempted({id}, {target}, 2, 'second');
            select desk.delivered({id})",
        queue: None,
        archive: Some(("completed", 2, Some("second"))),
    },
    Case {
        name: "is dead",
        options: "",
        sql: "select desk.buried({id}, {target})",
        queue: None,
        archive: Some(("failed", 3, ERROR)),
    },
    Case {
        name: "is redriven",
        options: "",
        sql: "select desk.buried({id}, {target});
            select postrider.redrive_message(l.id) from postrider.dead_letter l where l.message_id = {id}",
        queue: Some(("pending", 0, false, None)),
        archive: None,
    },
    Case {
        name: "is redriven and delivered",
        options: "",
        sql: "select desk.buried({id}, {target});
            update postrider.dead_letter set status = 'redriven', redriven_at = now()
                where message_id = {id};
            select desk.delivered({id})",
        queue: None,
        archive: Some(("completed", 0, None)),
    },
    Case {
        name: "has expired",
        options: "",
        sql: "select desk.attempted({id}, {target}, 1, 'first'); select desk.ended({id}, {target}, 'expired')",
        queue: None,
        archive: Some(("expired", 1, Some("first"))),
    },
    Case {
        name: "is cancelled",
        options: "",
        sql: "select desk.ended({id}, {target}, 'cancelled')",
        queue: None,
        archive: Some(("cancelled", 0, None)),
    },
];

/// Compares all places that show the delivery with what is expected.
async fn check(client: &Client, id: i64, case: &Case) {
    let name = case.name;
    let queue = json(
        client,
        &format!(
            "select status, retry_count, next_retry_at is not null as waits, last_error,
                payload ->> 'name' as name, endpoint_name, priority
            from postrider.queue where id = {id}"
        ),
    )
    .await;
    let expected: Vec<Value> = case
        .queue
        .iter()
        .map(|(status, retry_count, waits, last_error)| {
            json!({"status": status, "retry_count": retry_count, "waits": waits,
                "last_error": last_error, "name": name, "endpoint_name": "a", "priority": 0})
        })
        .collect();
    assert_eq!(queue, json!(expected), "queue: {name}");

    let archive = json(
        client,
        &format!(
            "select status, retry_count, last_error, payload ->> 'name' as name, endpoint_name,
                ended_at is not null as has_ended, completed_at = ended_at as is_completed,
                failed_at = ended_at as is_failed
            from postrider.archive where id = {id}"
        ),
    )
    .await;
    let expected: Vec<Value> = case
        .archive
        .iter()
        .map(|(status, retry_count, last_error)| {
            let at = |wanted: &str| (*status == wanted).then_some(true);
            json!({"status": status, "retry_count": retry_count, "last_error": last_error,
                "name": name, "endpoint_name": "a", "has_ended": true,
                "is_completed": at("completed"), "is_failed": at("failed")})
        })
        .collect();
    assert_eq!(archive, json!(expected), "archive: {name}");

    let status = json(
        client,
        &format!(
            "select endpoint_name, status, retry_count, next_retry_at is not null as waits,
                last_error, completed_at is not null as is_completed
            from postrider.message_status({id})"
        ),
    )
    .await;
    let (status_name, retry_count, waits, last_error) = match (case.queue, case.archive) {
        (Some(queue), _) => queue,
        (None, Some((status, retry_count, last_error))) => (status, retry_count, false, last_error),
        (None, None) => unreachable!("a delivery is somewhere"),
    };
    let expected = json!([{"endpoint_name": "a", "status": status_name, "retry_count": retry_count,
        "waits": waits, "last_error": last_error, "is_completed": status_name == "completed"}]);
    assert_eq!(status, expected, "message_status: {name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_of_a_delivery_is_shown_in_one_place() {
    let (_shop, client) = open().await;
    let mut ids = Vec::new();
    for case in CASES {
        let (id, target) = send(&client, case.name, case.options).await;
        ids.push((id, target));
    }
    client.batch_execute("select desk.read_all()").await.unwrap();
    for (case, (id, target)) in CASES.iter().zip(&ids) {
        let sql = case.sql.replace("{id}", &id.to_string());
        client.batch_execute(&sql.replace("{target}", &target.to_string())).await.unwrap();
        check(&client, *id, case).await;
    }

    // What came after the checkpoint is not in anybody's hand.
    let (unread, _) = send(&client, "is new", "").await;
    let new = Case { name: "is new", options: "", sql: "", ..PENDING };
    check(&client, unread, &new).await;
    let (scheduled, _) = send(&client, "is scheduled", LATER).await;
    let later = Case { name: "is scheduled", queue: Some(("pending", 0, true, None)), ..PENDING };
    check(&client, scheduled, &later).await;
    let sql =
        "select (select count(*) from postrider.queue) + (select count(*) from postrider.archive)
        = (select count(*) from postrider.message) as is_complete";
    assert_eq!(json(&client, sql).await, json!([{"is_complete": true}]));
}

const PENDING: Case = Case {
    name: "",
    options: "",
    sql: "",
    queue: Some(("pending", 0, false, None)),
    archive: None,
};

#[tokio::test(flavor = "multi_thread")]
async fn each_target_of_a_published_message_has_a_row_of_its_own() {
    let (_shop, client) = open().await;
    client
        .batch_execute(
            "select postrider.create_event_type('order.created'), postrider.create_event_type('unheard');
            select postrider.subscribe('order.created', n) from unnest(array['a', 'b', 'c']) n",
        )
        .await
        .unwrap();
    let sql = "select postrider.publish('order.created', '{\"name\": \"n\"}', 3::smallint)";
    let id: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    let rows = |view: &str| {
        format!(
            "select endpoint_name, event_type, status, retry_count, priority, payload, target
            from postrider.{view} where id = {id} order by target"
        )
    };
    let targets: Vec<i32> = {
        let sql = "select id from postrider.subscriptions where event_type is not null order by id";
        client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    };
    let row = |place: usize, status: &str, retry_count: i32| {
        let endpoint = ["a", "b", "c"][place];
        json!({"endpoint_name": endpoint, "event_type": "order.created",
            "status": status, "retry_count": retry_count, "priority": 3, "payload": {"name": "n"},
            "target": targets[place]})
    };
    let all = json!([row(0, "pending", 0), row(1, "pending", 0), row(2, "pending", 0)]);
    assert_eq!(json(&client, &rows("queue")).await, all);
    assert_eq!(json(&client, &rows("archive")).await, json!([]));

    let sql = format!(
        "insert into postrider.partly_done (message_id, at, targets) values ({id}, now(), '{{{}}}');
        select desk.deferred({id}, {}, now() + interval '1 hour', 1, 'later');
        select desk.read_all()",
        targets[0], targets[1]
    );
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(
        json(&client, &rows("queue")).await,
        json!([row(1, "pending", 1), row(2, "processing", 0)])
    );
    assert_eq!(json(&client, &rows("archive")).await, json!([row(0, "completed", 0)]));

    let sql = format!("select desk.buried({id}, {}); select desk.delivered({id})", targets[2]);
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(json(&client, &rows("queue")).await, json!([row(1, "pending", 1)]));
    assert_eq!(
        json(&client, &rows("archive")).await,
        json!([row(0, "completed", 0), row(2, "failed", 3)])
    );
    let sql = format!("select endpoint_name, status from postrider.message_status({id})");
    assert_eq!(
        json(&client, &sql).await,
        json!([
            {"endpoint_name": "a", "status": "completed"},
            {"endpoint_name": "b", "status": "pending"},
            {"endpoint_name": "c", "status": "failed"}
        ])
    );
    for (name, queue, archive) in [("a", 0, 1), ("b", 1, 0), ("c", 0, 1)] {
        for (view, expected) in [("queue", queue), ("archive", archive)] {
            let sql =
                format!("select count(*) from postrider.{view} where endpoint_name = '{name}'");
            assert_eq!(json(&client, &sql).await, json!([{"count": expected}]), "{view} {name}");
        }
    }

    // Who nobody listens to is neither waiting nor delivered.
    let sql = "select postrider.publish('unheard', '{}')";
    let unheard: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    for relation in ["queue where id =", "archive where id =", "message_status("] {
        let close = if relation.ends_with('(') { ")" } else { "" };
        let sql = format!("select 1 from postrider.{relation} {unheard} {close}");
        assert_eq!(json(&client, &sql).await, json!([]), "{relation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_sent_is_shown_on_every_road() {
    let (shop, client) = open().await;
    shop.allow_far_schedules().await;
    let options = "p_priority => 7::smallint, p_scheduled_at => '2100-01-01 00:00Z',
        p_idempotency_key => 'once', p_correlation_id => '00000000-0000-0000-0000-000000000001',
        p_expires_at => '2100-02-01 00:00Z', p_ordering_key => 'k', p_headers => '{\"h\": \"1\"}',
        p_metadata => '{\"m\": 1}'";
    let sql = format!("select postrider.send_bytes('a', '\\x00ff', 'image/png', {options})");
    let id: i64 = client.query_one(&sql, &[]).await.unwrap().get(0);
    let (_, target) = send(&client, "other", "").await;
    let columns = "payload, body, content_type, priority, scheduled_at, idempotency_key,
        correlation_id, expires_at, ordering_key, headers, metadata, created_at = (
            select created_at from postrider.message m where m.id = v.id) as is_created";
    let expected = json!([{
        "payload": null, "body": "\\x00ff", "content_type": "image/png", "priority": 7,
        "scheduled_at": "2100-01-01T00:00:00+00:00", "idempotency_key": "once",
        "correlation_id": "00000000-0000-0000-0000-000000000001",
        "expires_at": "2100-02-01T00:00:00+00:00", "ordering_key": "k", "headers": {"h": "1"},
        "metadata": {"m": 1}, "is_created": true
    }]);
    client.batch_execute("set timezone = 'UTC'").await.unwrap();
    let check = async |view: &str| {
        let sql = format!("select {columns} from postrider.{view} v where id = {id}");
        assert_eq!(json(&client, &sql).await, expected, "{view}");
    };
    check("queue").await;
    let sql = format!("select desk.deferred({id}, {target}, '2100-01-01 00:00Z')");
    client.batch_execute(&sql).await.unwrap();
    check("queue").await;
    let sql = format!("delete from postrider.deferred; select desk.buried({id}, {target})");
    client.batch_execute(&sql).await.unwrap();
    check("archive").await;

    let sql = "select message_id, endpoint_name, status, cause, retry_count, last_error,
            error_history, redriven_at, correlation_id, priority, event_type, ordering_key, headers,
            metadata, payload, body, content_type, failed_at >= created_at as is_later
        from postrider.dlq";
    let letter = json!([{
        "message_id": id, "endpoint_name": "a", "status": "failed", "cause": "exhausted",
        "retry_count": 3, "last_error": "[RETRYABLE] 503", "error_history": [], "redriven_at": null,
        "correlation_id": "00000000-0000-0000-0000-000000000001", "priority": 7, "event_type": null,
        "ordering_key": "k", "headers": {"h": "1"}, "metadata": {"m": 1}, "payload": null,
        "body": "\\x00ff", "content_type": "image/png", "is_later": true
    }]);
    assert_eq!(json(&client, sql).await, letter);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_or_cleaned_up_leaves_what_is_known() {
    let (_shop, client) = open().await;
    client
        .batch_execute("select postrider.create_event_type('e'), postrider.subscribe('e', 'a')")
        .await
        .unwrap();
    let (direct, target) = send(&client, "direct", "").await;
    let (dead, _) = send(&client, "dead", "").await;
    let sql = "select postrider.publish('e', '{}')";
    let published: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    let sql = format!(
        "select desk.delivered({direct}), desk.delivered({published}), desk.buried({dead}, {target});
        select postrider.drop_endpoint('a')"
    );
    client.batch_execute(&sql).await.unwrap();
    let sql = "select id, endpoint_name, status from postrider.archive order by id";
    let expected = json!([
        {"id": direct, "endpoint_name": "a", "status": "completed"},
        {"id": dead, "endpoint_name": "a", "status": "failed"},
        {"id": published, "endpoint_name": null, "status": "completed"}
    ]);
    assert_eq!(json(&client, sql).await, expected);
    let sql = "select endpoint_name, status from postrider.dlq";
    let failed = json!([{"endpoint_name": "a", "status": "failed"}]);
    assert_eq!(json(&client, sql).await, failed);
    let status = format!("select endpoint_name, status from postrider.message_status({dead})");
    assert_eq!(json(&client, &status).await, failed);

    // The log's partition is gone: the dead letter is left.
    let sql = format!("delete from postrider.message where id = {dead}");
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(json(&client, &status).await, failed);

    // The dead letter is gone as well, of a message that is in the log.
    let sql = "select postrider.send('b', '{}'), direct_subscription_id
        from postrider.endpoints where name = 'b'";
    let row = client.query_one(sql, &[]).await.unwrap();
    let (cleaned, target): (i64, i32) = (row.get(0), row.get(1));
    let sql = format!(
        "select desk.buried({cleaned}, {target}); delete from postrider.dead_letter;
        select desk.delivered(postrider.send('b', '{{}}'));
        select desk.read_all(pg_current_xact_id())"
    );
    client.batch_execute(&sql).await.unwrap();
    let sql = format!("select status, ended_at from postrider.archive where id = {cleaned}");
    assert_eq!(json(&client, &sql).await, json!([{"status": "failed", "ended_at": null}]));
    assert_eq!(json(&client, "select id from postrider.queue").await, json!([]));
    let sql = format!("select status from postrider.message_status({cleaned})");
    assert_eq!(json(&client, &sql).await, json!([{"status": "failed"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redriven_message_is_shown_from_its_dead_letter_when_the_log_has_forgotten_it() {
    let (_shop, client) = open().await;
    let (id, target) = send(&client, "old", ", 4::smallint, p_headers => '{\"h\": \"1\"}'").await;
    let sql = format!(
        "select desk.buried({id}, {target}); delete from postrider.message;
        select postrider.redrive_message(l.id) from postrider.dead_letter l"
    );
    client.batch_execute(&sql).await.unwrap();
    let sql = "select id, endpoint_name, status, payload, headers, priority from postrider.queue";
    let expected = json!([{"id": id, "endpoint_name": "a", "status": "pending",
        "payload": {"name": "old"}, "headers": {"h": "1"}, "priority": 4}]);
    assert_eq!(json(&client, sql).await, expected);
    let sql = format!("select endpoint_name, status from postrider.message_status({id})");
    assert_eq!(json(&client, &sql).await, json!([{"endpoint_name": "a", "status": "pending"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn message_status_refuses_what_is_no_message() {
    let (_shop, client) = open().await;
    for (argument, code, text) in [
        ("null", "22004", "Message id must not be null"),
        ("17", "42704", "Message 17 does not exist"),
    ] {
        let sql = format!("select postrider.message_status({argument})");
        let error = client.batch_execute(&sql).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), (code, text));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_does_not_look_below_what_is_finished() {
    let (_shop, client) = open().await;
    let floor = "select postrider.pending_floor() as floor";
    assert_eq!(json(&client, floor).await, json!([{"floor": 0}]));
    let (old, _) = send(&client, "old", "").await;
    let beat = "select * from postrider.heartbeat('00000000-0000-0000-0000-000000000001', '{}')";
    let register = "select postrider.register_dispatcher(
        '00000000-0000-0000-0000-000000000001', 'h', 1, 'v')";
    client.batch_execute(register).await.unwrap();
    client.batch_execute(beat).await.unwrap();
    let (new, _) = send(&client, "new", "").await;
    client.batch_execute("select desk.read_all()").await.unwrap();
    let ids = "select id from postrider.queue order by id";
    assert_eq!(json(&client, ids).await, json!([{"id": old}, {"id": new}]));
    let sql = format!(
        "select desk.delivered({old});
        select desk.read_all((select xid from postrider.message where id = {new}))"
    );
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(json(&client, floor).await, json!([{"floor": old | 1023}]));
    assert_eq!(json(&client, ids).await, json!([{"id": new}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_key_says_what_it_waits_for() {
    let (_shop, client) = open().await;
    let row = async |cause: &str| {
        let sql = "select ordering_key, endpoint_name, blocked_count, blocking_message_id, cause,
                last_error, age > interval '0' and blocked_since < now() as is_older
            from postrider.blocked_keys";
        let rows = json(&client, sql).await;
        assert_eq!(rows[0]["cause"], cause, "{rows}");
        assert_eq!(rows[0]["is_older"], true, "{rows}");
        assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
        rows[0].clone()
    };
    let key = ", p_ordering_key => 'k'";
    let (first, target) = send(&client, "first", key).await;
    let (second, _) = send(&client, "second", key).await;
    let (third, _) = send(&client, "third", key).await;
    for id in [second, third] {
        let sql = format!("select desk.deferred({id}, {target}, 'infinity', p_is_blocked => true)");
        client.batch_execute(&sql).await.unwrap();
    }
    let in_flight = row("in flight").await;
    assert_eq!(in_flight["blocking_message_id"], Value::Null);
    assert_eq!(
        (&in_flight["blocked_count"], &in_flight["endpoint_name"]),
        (&2.into(), &"a".into())
    );

    let sql = format!("select desk.deferred({first}, {target}, now() + interval '1 hour')");
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(row("scheduled").await["blocking_message_id"], first);
    let sql =
        "update postrider.deferred set retry_count = 1, last_error = '503' where not is_blocked";
    client.batch_execute(sql).await.unwrap();
    let retry = row("retry").await;
    assert_eq!(
        (&retry["blocking_message_id"], &retry["last_error"]),
        (&first.into(), &"503".into())
    );
    let sql = format!(
        "update postrider.deferred set run_at = now() where not is_blocked;
        select desk.claimed({first}, {target}, 1)"
    );
    client.batch_execute(&sql).await.unwrap();
    row("in flight").await;
    client.batch_execute("select postrider.disable_endpoint('a')").await.unwrap();
    row("endpoint disabled").await;

    // Nothing waits behind anything: no row.
    client.batch_execute("delete from postrider.deferred where is_blocked").await.unwrap();
    assert_eq!(json(&client, "select 1 from postrider.blocked_keys").await, json!([]));

    // Across endpoints, what is in front waits at another one.
    client.batch_execute("select postrider.set_setting('ordering_scope', 'global')").await.unwrap();
    let sql = "select postrider.send_with_options('b', '{}', p_ordering_key => 'k'),
        direct_subscription_id from postrider.endpoints where name = 'b'";
    let other = client.query_one(sql, &[]).await.unwrap();
    let (other, target): (i64, i32) = (other.get(0), other.get(1));
    let sql = format!("select desk.deferred({other}, {target}, 'infinity', p_is_blocked => true)");
    client.batch_execute(&sql).await.unwrap();
    let across = row("endpoint disabled").await;
    assert_eq!(
        (&across["endpoint_name"], &across["blocking_message_id"]),
        (&"b".into(), &first.into())
    );
}

/// 200,000 messages, nearly all delivered: 60 % to `a`, one in twenty published to `b` and `c`, three
/// to `rare`; the newest 2,000 not finished; 1,200 deferred, 1,000 dead.
const LONG_LOG: &str = "
    select postrider.create_endpoint('rare', 'discard', '{}'), postrider.create_endpoint('d', 'discard', '{}');
    select postrider.create_event_type('e');
    select postrider.subscribe('e', n) from unnest(array['b', 'c']) n;
    insert into postrider.message (id, xid, created_at, lane, priority, targets, endpoint_name, event_type, payload)
    select
        (n << 10) | lane, (case when n > 198000 then pg_current_xact_id() else '3' end)::text::xid8,
        now(), lane, 0,
        case
            when e.id is null then array(select s.id from postrider.subscriptions s where s.event_type = 'e')
            else array[e.direct_subscription_id]
        end,
        e.name, case when e.id is null then 'e' end, jsonb_build_object('n', n)
    from generate_series(1, 200000) n
    cross join lateral (select ((n >> 6) % 16 * 16)::smallint) l (lane)
    left join postrider.endpoints e on e.name = case
        when n in (1001, 100001, 199001) then 'rare' when n % 20 = 0 then null when n % 5 < 3 then 'a'
        else 'd' end;
    select setval('postrider.message_sequence', 200000);
    insert into postrider.done (bucket, at, offsets)
    select n >> 12, now(), string_agg(int2send((n & 4095)::smallint), ''::bytea)
    from generate_series(1, 198000) n where n % 200 not in (1, 3) group by n >> 12, n % 4;
    select count(desk.deferred(m.id, m.targets[1], now() + interval '1 hour', 1, '503'))
    from postrider.message m where (m.id >> 10) % 200 = 1 and m.id >> 10 <= 198000;
    select desk.buried(m.id, m.targets[1])
    from postrider.message m where (m.id >> 10) % 200 = 3 and m.id >> 10 <= 198000;
    insert into postrider.heartbeat (slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
    values (0, gen_random_uuid(), now(), now(), '4', 198000, '{}');
    select desk.read_all((select xid from postrider.message order by id desc limit 1));
    vacuum analyze;";

/// A question to a view, the indexes that answer it (of tables with rows), and the most buffers.
const QUESTIONS: &[(&str, &[&str], u64)] = &[
    ("queue where id = {deferred}", &["deferred_pkey"], 2000),
    ("queue where id = {pending}", &["message_direct_id"], 3000),
    ("queue where id = {done}", &["message_direct_id"], 2000),
    ("queue order by id desc limit 50", &["message_direct_id", "message_published_id"], 8000),
    ("queue where endpoint_name = 'a' order by id desc limit 50", &[], 8000),
    (
        "queue where endpoint_name = 'rare' order by id desc limit 50",
        &["message_endpoint_id"],
        8000,
    ),
    ("queue where endpoint_name = 'rare' limit 50", &["message_endpoint_id"], 8000),
    ("queue where endpoint_name = 'b' order by id desc limit 50", &["message_published_id"], 12000),
    ("archive where id = {done}", &["message_direct_id"], 1500),
    ("archive where id = {published}", &["message_id", "message_published_id"], 1500),
    ("archive where id = {pending}", &["message_direct_id"], 1500),
    ("archive order by id desc limit 50", &["message_direct_id", "message_published_id"], 8000),
    (
        "archive where endpoint_name = 'a' order by id desc limit 50",
        &["message_published_id"],
        8000,
    ),
    (
        "archive where endpoint_name = 'rare' order by id desc limit 50",
        &["message_endpoint_id", "message_published_id"],
        8000,
    ),
    (
        "archive where endpoint_name = 'rare' limit 50",
        &["message_endpoint_id", "message_published_id"],
        8000,
    ),
    (
        "archive where endpoint_name = 'b' order by id desc limit 50",
        &["message_published_id"],
        8000,
    ),
    ("dlq where id = {letter}", &["dead_letter_pkey"], 20),
    ("dlq where endpoint_name = 'rare' limit 50", &[], 100),
    ("dlq where endpoint_name = 'a' order by id desc limit 50", &[], 200),
    ("dlq order by id desc limit 50", &["dead_letter_pkey"], 200),
];

/// The indexes that a plan read rows by, and the tables that it read whole, with how many rows.
fn walk(plan: &Value, indexes: &mut BTreeSet<String>, whole: &mut Vec<(String, u64)>) {
    let is_used = plan["Actual Loops"].as_u64().unwrap_or_default() > 0;
    if let Some(index) = plan["Index Name"].as_str().filter(|_| is_used) {
        indexes.insert(index.to_owned());
    }
    if let ("Seq Scan", Some(table)) =
        (plan["Node Type"].as_str().unwrap(), plan["Relation Name"].as_str())
    {
        let rows = |field: &str| plan[field].as_u64().unwrap_or_default();
        whole.push((table.to_owned(), rows("Actual Rows") + rows("Rows Removed by Filter")));
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        walk(child, indexes, whole);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_is_not_read_to_show_a_few_rows_of_it() {
    let (shop, client) = open().await;
    shop.psql("shop", &[], LONG_LOG).succeed();
    let mut values = Vec::new();
    for (name, sql) in [
        ("{deferred}", "select message_id from postrider.deferred order by 1 offset 500 limit 1"),
        ("{pending}", "select id from postrider.message where id >> 10 = 199998"),
        ("{done}", "select id from postrider.message where id >> 10 = 100002"),
        ("{published}", "select id from postrider.message where id >> 10 = 100020"),
        ("{letter}", "select id from postrider.dead_letter order by id offset 500 limit 1"),
    ] {
        let value: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
        values.push((name, value.to_string()));
    }
    // Of a partition, the name of the parent's index.
    let sql = "select c.relname::text, p.relname::text from pg_inherits i
        join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent";
    let rows = client.query(sql, &[]).await.unwrap();
    let parents: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let parent = |name: String| {
        let found = parents.iter().find(|(child, _)| *child == name);
        found.map_or(name, |(_, parent)| parent.clone())
    };

    client.batch_execute("set role postrider_application").await.unwrap();
    let mut wrong = Vec::new();
    for (question, named, most) in QUESTIONS {
        let question = values
            .iter()
            .fold((*question).to_owned(), |text, (name, value)| text.replace(name, value));
        let sql =
            format!("explain (analyze, buffers, format json) select * from postrider.{question}");
        let answer: Value = client.query_one(&sql, &[]).await.unwrap().get(0);
        let plan = &answer[0]["Plan"];
        let (mut indexes, mut whole) = (BTreeSet::new(), Vec::new());
        walk(plan, &mut indexes, &mut whole);
        let indexes: BTreeSet<String> = indexes.into_iter().map(&parent).collect();
        let buffers = ["Shared Hit Blocks", "Shared Read Blocks"]
            .map(|field| plan[field].as_u64().unwrap())
            .iter()
            .sum::<u64>();
        println!("{question}: {buffers} buffers, {} ms, {indexes:?}", answer[0]["Execution Time"]);
        let is_missing = named.iter().any(|index| !indexes.contains(*index));
        // A planner may read a few thousand waiting deliveries in one go, but never the log.
        let is_whole = whole.iter().any(|(table, rows)| table.starts_with("message") && *rows > 0);
        if is_missing || is_whole || buffers > *most || answer[0].get("JIT").is_some() {
            println!("{question}: {plan:#}");
            wrong.push(format!("{question}: {buffers} buffers, {indexes:?}, {whole:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
