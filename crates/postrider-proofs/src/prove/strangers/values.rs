//! What the matrix calls each function with.

/// A value for every parameter without a default, by its name; an expression that the owner evaluates.
const VALUES: &[(&str, &str)] = &[
    ("config", r#"'{"url": "http://127.0.0.1:4/"}'"#),
    ("endpoint", "'held'"),
    ("endpoint_name", "'held'"),
    (
        "key_id",
        "(select k.id from postrider.signing_keys k where k.endpoint = 'held' and k.can_be_revealed)",
    ),
    ("name", "'made'"),
    ("new_config", r#"'{"url": "http://127.0.0.1:4/other"}'"#),
    ("p_archive_message_id", "(select min(l.message_id) from postrider.dead_letter l)"),
    ("p_attempt_count", "1"),
    ("p_batch_size", "10"),
    ("p_body", r"'\x00'"),
    ("p_changes", r#"'{"missed": "skip"}'"#),
    ("p_config", r#"'{"url": "http://127.0.0.1:4/"}'"#),
    ("p_consumer", "'held'"),
    ("p_consumer_id", "(select c.id from postrider.consumer c where c.name = 'held')"),
    ("p_content_type", "'text/plain'"),
    ("p_dlq_id", "(select min(l.id) from postrider.dead_letter l)"),
    ("p_endpoint_id", "(select e.id from postrider.endpoints e where e.name = 'held')"),
    ("p_endpoint_name", "'held'"),
    ("p_epoch", "(select w.epoch from postrider.worker w where w.name = 'held')"),
    ("p_error", r#"'"a text that is JSON, too"'"#),
    ("p_event_type", "'held'"),
    ("p_events", r#"'[{"event_type": "held", "payload": {}}]'"#),
    ("p_from_ts", "now() - interval '1 day'"),
    ("p_hash", "sha256('made')"),
    ("p_job_id", "(select min(j.id) from postrider.job j)"),
    ("p_member", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    ("p_message_id", "(select min(d.message_id) from postrider.deferred d)"),
    ("p_name", "'held'"),
    ("p_parked_id", "(select min(p.id) from postrider.parked_message p)"),
    ("p_partition", "0"),
    ("p_payload", "'{}'"),
    ("p_payloads", "array['{}']::jsonb[]::text"),
    ("p_reason", "'failed'"),
    ("p_replay_id", "(select min(r.id) from postrider.replay r)"),
    ("p_retry_count", "0"),
    ("p_role", "'viewer'"),
    ("p_states", "'{}'"),
    (
        "p_subscription_id",
        "(select max(s.id) from postrider.subscriptions s where s.event_type is not null)",
    ),
    ("p_target", "1"),
    ("p_targets", "'{1}'"),
    ("p_timeout", "'1 minute'"),
    ("p_timing", "'@yearly'"),
    ("p_to_ts", "now()"),
    ("p_worker", "(select w.id from postrider.worker w where w.name = 'held')"),
    ("p_xid", "'3'"),
    ("payload", "'{}'"),
    ("policy", "'{}'"),
    ("protocol", "'http'"),
];

/// Where one function wants something else.
const SPECIAL: &[(&str, &str, &str)] = &[
    (
        "fail_delivery",
        "p_message_id",
        "(select min(d.message_id) from postrider.deferred d
            where d.ordering_key = 'scheduled' and not d.is_blocked)",
    ),
    (
        "skip_delivery",
        "p_message_id",
        "(select min(d.message_id) from postrider.deferred d
            where d.ordering_key = 'scheduled' and not d.is_blocked)",
    ),
    ("get_setting", "name", "'dlq_retention_days'"),
    ("reset_setting", "name", "'dlq_retention_days'"),
    ("set_setting", "name", "'dlq_retention_days'"),
    ("set_setting", "value", "'31'"),
    ("create_consumer", "p_name", "'made'"),
    ("create_schedule", "p_name", "'made'"),
    ("create_token", "p_name", "'made'"),
    ("create_event_type", "p_name", "'made'"),
    ("subscribe", "p_endpoint_name", "'reborn'"),
    // `held` is paused and enabled.
    ("pause_endpoint", "p_endpoint_name", "'reborn'"),
    ("enable_endpoint", "p_endpoint_name", "'disabled'"),
    ("drop_event_type", "p_name", "'spare'"),
    ("drop_worker", "p_name", "'spare'"),
    ("drop_schedule", "p_name", "'spare'"),
    ("drop_action", "p_name", "'good'"),
    (
        "start_execution",
        "p_execution",
        "(select min(l.id) from postrider.live_execution l where l.status = 'scheduled')",
    ),
    (
        "start_execution",
        "p_fence",
        "(select l.fence from postrider.live_execution l where l.status = 'scheduled' order by l.id limit 1)",
    ),
    (
        "cancel_execution",
        "p_execution",
        "(select max(l.id) from postrider.live_execution l where l.status = 'requested')",
    ),
    (
        "retry_execution",
        "p_execution",
        "(select min(e.execution_id) from postrider.execution_end e where e.status = 'failed')",
    ),
    (
        "*",
        "p_execution",
        "(select min(l.id) from postrider.live_execution l where l.status = 'running')",
    ),
    (
        "*",
        "p_fence",
        "(select l.fence from postrider.live_execution l where l.status = 'running' order by l.id limit 1)",
    ),
];

/// A verb about one of the deliveries that `failing` has refused before, the oldest first.
macro_rules! refused {
    ($verb:literal, $arguments:literal, $place:literal) => {
        concat!(
            "select postrider.",
            $verb,
            "(w.message_id, ",
            $arguments,
            ")
            from (
                select d.message_id
                from postrider.deferred d
                join postrider.endpoints e on e.id = d.endpoint_id
                where e.name = 'failing'
                and d.retry_count > 1
                order by d.message_id
                offset ",
            $place,
            "
                limit 1
            ) w"
        )
    };
}

/// Functions that only make sense behind something else in the same transaction, or of which more than the
/// short form holds something: what is run instead. `{p_worker}` and the like stand for a parameter's value, which the
/// owner looks up: a role that calls the function may not read the table.
pub const STATEMENTS: &[(&str, &str)] = &[
    (
        "acknowledge",
        "select postrider.acknowledge('held', (
            select max(m.position) from postrider.fetch_messages('held', 3) m))",
    ),
    (
        "park_message",
        "select postrider.park_message('held', (
            select min(m.position) from postrider.fetch_messages('held', 3) m), 1, 'reason')",
    ),
    (
        "create_schedule",
        "select postrider.create_schedule('made', '@yearly', p_endpoint_name => 'held')",
    ),
    ("fetch_messages", "select * from postrider.fetch_messages('held', 3)"),
    ("erase_messages", "select * from postrider.erase_messages('key')"),
    ("drop_endpoint", "select postrider.drop_endpoint('held', true)"),
    (
        "send_with_options",
        "select postrider.send_with_options(
            'held', '{}', p_idempotency_key => 'held', p_ordering_key => 'key',
            p_scheduled_at => now() + interval '1 hour')",
    ),
    (
        "submit_execution",
        "select postrider.submit_execution('held', p_pool => 'held', p_idempotency_key => 'held')",
    ),
    // Of the action that others use, too: it takes two of three.
    ("take_executions", "select t.* from postrider.take_executions({p_worker}, 10) t"),
    ("set_action", "select postrider.set_action('good', p_concurrency => 2)"),
    // What is scheduled is refused: one that was refused before.
    ("retry_delivery", refused!("retry_delivery", "'failing'", 0)),
    ("register_worker", "select postrider.register_worker('held', 'held', 10)"),
];

/// What is held besides: other branches of the same functions, with optional parameters, and verbs about deliveries to
/// `failing`, which dispatchers claim and flush meanwhile. Each of these takes another one of those that wait for long.
pub const ALSO: &[(&str, &str)] = &[
    ("fail_delivery", refused!("fail_delivery", "'failing', 'reason'", 1)),
    ("skip_delivery", refused!("skip_delivery", "null, 'reason'", 2)),
    ("retry_matching_deliveries", "select * from postrider.retry_matching_deliveries('failing')"),
    ("cancel_endpoint_messages", "select * from postrider.cancel_endpoint_messages('failing')"),
    ("drop_endpoint", "select * from postrider.drop_endpoint('failing', true)"),
    ("pause_endpoint", "select postrider.pause_endpoint('failing')"),
    ("reset_circuit_breaker", "select postrider.reset_circuit_breaker('failing')"),
    (
        "redrive_matching",
        "select * from postrider.redrive_matching('held', p_cause => 'rejected', p_rate => 1)",
    ),
    // It moves the gate that every send looks at.
    ("set_setting", "select postrider.set_setting('max_queue_size', '1')"),
    // It locks two settings.
    ("set_setting", "select postrider.set_setting('worker_heartbeat_interval', '20')"),
    ("reset_setting", "select postrider.reset_setting('stale_recovery_timeout')"),
    (
        "publish",
        "select postrider.publish(
            'held', '{}', p_idempotency_key => 'published', p_ordering_key => 'key',
            p_expires_at => now() + interval '1 hour')",
    ),
    (
        "create_schedule",
        "select postrider.create_schedule(
            'made_for_an_event', '@yearly', p_event_type => 'held', p_missed => 'skip',
            p_expires_in => '1 hour')",
    ),
    (
        "create_consumer",
        "select postrider.create_consumer(
            'ordered', array['held'], '{\"n\": 1}', p_start => 'now', p_ordering => 'transaction',
            p_partitions => 4)",
    ),
    (
        "fetch_messages",
        "select * from postrider.fetch_messages(
            'held', 3, p_partition => 0, p_wait_for_holder => true)",
    ),
    // It holds the row of a worker that has left.
    (
        "submit_execution",
        "select postrider.submit_execution('held', p_worker => 'spare', p_pool => 'held')",
    ),
    ("set_action", "select postrider.set_action('made', p_concurrency => 1, p_max_retries => 1)"),
    ("register_worker", "select * from postrider.register_worker('made', 'made', 10)"),
];

/// Functions that may change something and leave nothing behind in their transaction, and why.
pub const HOLD_NOTHING: &[(&str, &str)] = &[
    ("adopt", "the log is from here: restore.rs adopts those that are not"),
    ("enable_fast_mode", "it sets a parameter"),
];

/// What the owner does before a function is called, so that there is something to hold. Dispatchers
/// have done it as well a moment later.
const BEFORE: &[(&str, &str)] = &[
    // A dispatcher finds out in its next step that there is nothing left to do.
    (
        "cancel_replay",
        "update postrider.replay r
        set state = 'running', finished_at = null
        where r.id = (select min(o.id) from postrider.replay o)
        and r.state <> 'running'",
    ),
    (
        "cleanup_dlq",
        "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, status, cause, retry_count, failed_at,
            redriven_at, redriven_by, message_created_at, priority, payload)
        select
            l.message_id, l.target, l.endpoint_id, l.endpoint_name, 'redriven', l.cause, 0,
            now() - interval '2 years', now() - interval '2 years', 'owner', l.message_created_at,
            l.priority, l.payload
        from postrider.dead_letter l
        where l.payload is not null
        order by l.id desc
        limit 1",
    ),
    (
        "cleanup_event_log",
        "insert into postrider.event_log (at, event) values (now() - interval '2 years', 'old')",
    ),
    // Another one is sent instead of each that expires.
    (
        "mark_expired_messages",
        "update postrider.deferred d
        set expires_at = now() - interval '1 minute'
        where d.ctid = (
            select w.ctid
            from postrider.deferred w
            join postrider.endpoints e on e.id = w.endpoint_id
            where e.name = 'held'
            and w.run_at > now() + interval '1 hour'
            and w.ordering_key is null
            order by w.message_id desc
            limit 1
            for update of w skip locked
        );
        select postrider.send_with_options(
            'held', '{}', p_scheduled_at => now() + interval '1 day')",
    ),
    ("tick", "select postrider.publish('held', '{}')"),
];

/// What the owner does before the function is called.
pub fn before(function: &str) -> Option<&'static str> {
    BEFORE.iter().find(|(name, _)| *name == function).map(|(_, sql)| *sql)
}

/// The expression for a parameter.
pub fn value_of(function: &str, parameter: &str) -> Option<&'static str> {
    let special = SPECIAL
        .iter()
        .find(|(name, of, _)| *of == parameter && (*name == function || *name == "*"));
    let value = VALUES.iter().find(|(of, _)| *of == parameter);
    special.map(|(_, _, value)| *value).or(value.map(|(_, value)| *value))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn statements_are_of_functions_that_there_are() {
        let functions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/functions");
        let areas: Vec<_> =
            functions.read_dir().unwrap().map(|area| area.unwrap().path().join("api")).collect();
        for (function, statement) in STATEMENTS.iter().chain(ALSO) {
            let file = format!("{function}.sql");
            assert!(areas.iter().any(|area| area.join(&file).is_file()), "{function}");
            assert!(statement.contains(&format!("postrider.{function}(")), "{statement}");
        }
        for (function, text) in HOLD_NOTHING.iter().chain(BEFORE) {
            let file = format!("{function}.sql");
            assert!(areas.iter().any(|area| area.join(&file).is_file()), "{function}");
            assert!(!text.is_empty(), "{function}");
        }
    }
}
