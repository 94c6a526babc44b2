//! Who may do what: every function, table and view of the schema tried as each role, secrets looked for
//! everywhere, and attacks by `search_path` on what runs with the owner's rights.

use std::collections::{BTreeMap, BTreeSet};

use crate::shop::Shop;
use postrider_testkit::postgres::LOCK_MODES;
use tokio_postgres::Client;

/// The roles, by the letter that stands for them below. The last one has no rights at all.
const ROLES: [(char, &str); 8] = [
    ('a', "postrider_admin"),
    ('o', "postrider_operator"),
    ('p', "postrider_application"),
    ('r', "postrider_producer"),
    ('c', "postrider_consumer"),
    ('w', "postrider_worker"),
    ('m', "postrider_monitor"),
    ('s', "stranger"),
];

/// Who may call a function: everything in the schema is here.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("cpoam", &["consumer_holders", "consumer_report"]),
    ("cpoa", &["resolve_parked_message"]),
    ("wpoam", &["check_pool_name"]),
    (
        "poam",
        &[
            "check_action_name",
            "check_endpoint_name",
            "check_event_type",
            "describe_end",
            "done_before",
            "ended_ceiling",
            "has_ended",
            "has_wide_messages",
            "is_claimed",
            "is_deferred",
            "is_taken",
            "lane_states",
            "left_kinds",
            "left_names",
            "log_ranges",
            "may_wait",
            "message_status",
            "pending_floor",
            "pool_figures",
            "target_names",
        ],
    ),
    (
        "cpa",
        &[
            "acknowledge",
            "begin_batch",
            "fetch_messages",
            "lease_partitions",
            "park_message",
            "peek_messages",
            "release_partitions",
            "tick",
        ],
    ),
    (
        "oam",
        &[
            "dlq_summary",
            "explain_policy",
            "get_endpoint_health",
            "get_setting",
            "get_worker_status",
            "health_check",
            "masked_config",
            "metrics",
            "next_firings",
            "shard_count",
        ],
    ),
    ("poa", &["cancel_execution", "cancel_message"]),
    (
        "rpa",
        &[
            "enable_fast_mode",
            "publish",
            "publish_batch",
            "send",
            "send_batch",
            "send_batch_with_priority",
            "send_bytes",
            "send_with_options",
            "submit_execution",
        ],
    ),
    (
        "wpa",
        &[
            "complete_execution",
            "deregister_worker",
            "extend_execution",
            "fail_execution",
            "register_worker",
            "release_execution",
            "start_execution",
            "take_executions",
            "worker_executions",
            "worker_heartbeat",
        ],
    ),
    (
        "oa",
        &[
            "cancel_endpoint_messages",
            "cancel_job",
            "cancel_replay",
            "cleanup_dlq",
            "cleanup_event_log",
            "cordon_worker",
            "create_replay",
            "disable_endpoint",
            "enable_endpoint",
            "fail_delivery",
            "fail_matching_deliveries",
            "maintain_archive_partitions",
            "mark_expired_messages",
            "pause_all",
            "pause_endpoint",
            "pause_schedule",
            "redrive_all",
            "redrive_endpoint",
            "redrive_matching",
            "redrive_message",
            "replay_message",
            "replay_range",
            "reset_circuit_breaker",
            "resume_all",
            "resume_endpoint",
            "resume_schedule",
            "retry_delivery",
            "retry_execution",
            "retry_matching_deliveries",
            "skip_delivery",
            "skip_matching_deliveries",
            "uncordon_worker",
        ],
    ),
    (
        "a",
        &[
            "add_signing_key",
            "adopt",
            "alter_endpoint",
            "alter_schedule",
            "cleanup_old_archive_partitions",
            "create_consumer",
            "create_endpoint",
            "create_event_type",
            "create_schedule",
            "create_token",
            "drop_action",
            "drop_consumer",
            "drop_endpoint",
            "drop_event_type",
            "drop_schedule",
            "drop_worker",
            "erase_messages",
            "reset_consumer",
            "reset_setting",
            "retire_signing_key",
            "reveal_signing_key",
            "revoke_token",
            "rotate_signing_key",
            "set_action",
            "set_setting",
            "subscribe",
            "unsubscribe",
            "validate_endpoint_config",
            "validate_retry_policy",
        ],
    ),
    (
        "",
        &[
            "acquire_shards",
            "acting_dispatchers",
            "address_literal",
            "addressed_worker",
            "admissible",
            "advance_jobs",
            "advance_replay",
            "advance_replays",
            "advance_sequences",
            "advance_ticks",
            "announce_endpoint",
            "announce_event_type",
            "announce_subscription",
            "any_waiting_action",
            "append_execution",
            "append_message",
            "append_position",
            "append_replays",
            "append_tick",
            "are_ticks_settled",
            "bring_back",
            "bring_back_executions",
            "bring_back_messages",
            "bring_back_rows",
            "bury",
            "bury_batch",
            "bury_orphans",
            "caller",
            "can_sign",
            "cancel_batch",
            "cancel_unread",
            "change_signing_keys",
            "changes_between",
            "check_auth",
            "check_clock",
            "check_config_headers",
            "check_config_object",
            "check_consumers",
            "check_dispatchers",
            "check_duration",
            "check_egress",
            "check_execution",
            "check_executions",
            "check_failovers",
            "check_fleet_name",
            "check_fleets",
            "check_generations",
            "check_key_pause",
            "check_lag",
            "check_lease_role",
            "check_locks",
            "check_options",
            "check_partitions",
            "check_reason",
            "check_replay",
            "check_retry_policy_keys",
            "check_room",
            "check_schedule",
            "check_schedules",
            "check_setting",
            "check_shards",
            "check_signature_headers",
            "check_signing_keys",
            "check_size",
            "check_tick_allowed",
            "check_token_role",
            "check_transactions",
            "check_worker_role",
            "check_workers",
            "claim_holders",
            "claim_idempotency_key",
            "claim_request",
            "complete_retry_policy",
            "config_members",
            "confirm_origin",
            "confirm_position",
            "consumer_figures",
            "consumer_lag",
            "consumer_messages",
            "consumer_start",
            "create_delivery_job",
            "create_job",
            "cron_field",
            "current_slot",
            "delivery_end",
            "describe_age",
            "describe_schedule",
            "direct_target",
            "dispatch_executions",
            "drop_old_partitions",
            "edit_distance",
            "empty_slot",
            "end_deliveries",
            "end_execution",
            "end_stale_flushes",
            "ended_status",
            "enter_generation",
            "enter_timeline",
            "erase_batch",
            "erase_letters",
            "erase_logged",
            "erase_parked",
            "error_history",
            "execution_key_holder",
            "execution_queue",
            "execution_retry_delay",
            "expire_execution",
            "expire_waiting",
            "fail_attempt",
            "fetched_batches",
            "find_signing_key",
            "fire_schedule",
            "fire_schedules",
            "flush",
            "foreign_sign",
            "forget_consumer_rows",
            "forget_dead_letters",
            "forget_dispatchers",
            "forget_events",
            "forget_executions",
            "forget_idempotency_keys",
            "forget_jobs",
            "forget_keys_to_nobody",
            "forget_requests",
            "forget_subscriptions",
            "free_idempotency_keys",
            "free_slots",
            "full_id",
            "handle_dead_letter",
            "has_consumer_lock",
            "has_ended_everywhere",
            "has_offset",
            "has_read_partition",
            "has_session",
            "has_tick_turn",
            "has_unread_messages",
            "has_waiting_messages",
            "heartbeat",
            "held_execution",
            "held_worker",
            "hold_consumer",
            "hold_deliveries",
            "hold_slots",
            "hurry_transaction",
            "idempotency_key_holder",
            "idempotency_window",
            "is_admin",
            "is_at_end",
            "is_awaited",
            "is_base64",
            "is_being_cancelled",
            "is_copy",
            "is_delivery_wanted",
            "is_done",
            "is_erasure_wanted",
            "is_generation_left",
            "is_header_template",
            "is_http_url",
            "is_in_hand",
            "is_letter_wanted",
            "is_logged",
            "is_made_void",
            "is_marked_full",
            "is_older",
            "is_operator",
            "is_partition_behind",
            "is_partition_filled",
            "is_partition_finished",
            "is_partition_unread",
            "is_position_behind",
            "is_private",
            "is_replicating",
            "is_reserved_header",
            "is_signing_key",
            "is_slot_filled",
            "is_url_template",
            "is_wanted",
            "is_web_port",
            "keep_answer",
            "keep_dead_letter",
            "keep_endpoint",
            "kept_message",
            "key_mark",
            "key_shard",
            "keys_that_sign",
            "known_circuits",
            "known_consumer",
            "known_lanes",
            "known_schedule",
            "known_worker",
            "lane_tails",
            "leave_out_numbers",
            "leaving_worker",
            "live_dispatchers",
            "live_worker",
            "local_time_reached",
            "lock_leases",
            "lock_signing_keys",
            "lock_worker",
            "lost_shards",
            "lowest_id_since",
            "make_partitions",
            "make_signing_key",
            "matching_targets",
            "may_act_for",
            "message_partition",
            "missing_partitions",
            "needs_archive_upkeep",
            "newest_attempt",
            "newest_leases",
            "newest_position",
            "next_cron_day",
            "next_cron_firing",
            "next_firing",
            "next_ticks",
            "note_actor",
            "note_broker",
            "note_clock_jump",
            "note_fetch",
            "note_page",
            "note_published",
            "note_signing_keys",
            "note_token_use",
            "note_verb",
            "notification_queue_usage",
            "number_distance",
            "open_snapshot",
            "open_transactions",
            "overdue_deliveries",
            "parse_cron",
            "partition_horizons",
            "partition_months_ahead",
            "pass_generation",
            "pass_unwanted",
            "passed_ticks",
            "pending_deliveries",
            "phased_waits",
            "pool_workers",
            "prepare_endpoint",
            "prepare_event_type",
            "prepare_setting",
            "prepare_subscription",
            "probe_worker",
            "publish_dead_letters",
            "publish_execution_end",
            "queue_base",
            "read_partition",
            "rebase_executions",
            "rebase_log",
            "recheck_idempotency_keys",
            "recover_claims",
            "recover_messages",
            "recover_waiting",
            "recover_worker",
            "redrive_batch",
            "redrive_letters",
            "refuse_copy",
            "refuse_endpoint",
            "refuse_full_endpoint",
            "refuse_held_worker",
            "refuse_living_worker",
            "refuse_log_change",
            "register_dispatcher",
            "release_keys",
            "release_shards",
            "release_slot",
            "reserve_generation",
            "restart_number",
            "retention_holders",
            "retire_endpoint",
            "retire_failing_endpoints",
            "retire_signing_keys",
            "retry_phases",
            "retry_policy_form",
            "retry_policy_keys",
            "retry_waits",
            "return_execution",
            "ring",
            "ring_workers",
            "roll_up_executions",
            "rotate_slots",
            "save_checkpoint",
            "save_circuits",
            "save_claim",
            "schedule_executions",
            "schedule_queue",
            "send_scheduled",
            "shard_reports",
            "signing_key_id",
            "standing_claims",
            "switch_all_endpoints",
            "switch_endpoint",
            "switch_worker",
            "system_identifier",
            "take_at_once",
            "take_chore",
            "take_out_of_attempts",
            "take_out_of_letters",
            "take_shards",
            "take_tokens",
            "tell_batch",
            "tell_deliveries",
            "tick_content",
            "tick_messages",
            "timeline_end",
            "timing_interval",
            "trade_places",
            "transaction_messages",
            "uncancelled",
            "unread_messages",
            "unregister_dispatcher",
            "update_full_endpoints",
            "update_gate",
            "url_origin",
            "use_up_numbers",
            "visible_messages",
            "was_taken_back",
            "worker_room",
        ],
    ),
];

/// Who may read a table or view as a whole; `m*`: the monitor, but not every column.
const RELATIONS: &[(&str, &[&str])] = &[
    ("rcwpoam", &["installation", "migration"]),
    ("w*poam*", &["executions"]),
    ("cpoam*", &["parked_messages"]),
    ("cpoam", &["consumers"]),
    (
        "poam*",
        &[
            "archive",
            "dlq",
            "execution",
            "execution_dead_letter",
            "execution_dead_letters",
            "execution_end",
            "queue",
        ],
    ),
    ("wpoam", &["workers"]),
    ("oam*", &["attempt", "attempts", "dead_letter", "endpoints", "replays", "schedules"]),
    ("poam", &["action", "blocked_keys", "live_execution", "live_generation", "pools", "worker"]),
    (
        "oam",
        &[
            "broker_report",
            "checkpoint",
            "circuit",
            "consumer",
            "consumer_position",
            "dead_letter_figures",
            "dead_letter_statistics",
            "dead_letter_total",
            "deferred",
            "dispatcher",
            "done",
            "ended",
            "endpoint_configs",
            "event_log",
            "event_types",
            "execution_figures",
            "execution_rollup",
            "execution_statistics",
            "execution_total",
            "full_endpoint",
            "heartbeat",
            "jobs",
            "partitions",
            "setting",
            "shard",
            "signing_key",
            "signing_keys",
            "subscriptions",
            "tick",
            "tokens",
            "transport_option",
        ],
    ),
    (
        "a",
        &[
            "cancellation",
            "claim",
            "clock_jump",
            "consumer_attempt",
            "consumer_lease",
            "consumer_lock",
            "execution_generation",
            "idempotency_key",
            "job",
            "message",
            "parked_message",
            "partly_done",
            "rate_grant",
            "replay",
            "rewind",
            "rotation",
            "schedule",
            "schedule_message",
            "tick_passing",
            "tick_turn",
            "timeline",
        ],
    ),
    (
        "",
        &[
            "action_slot",
            "api_request",
            "api_token",
            "cancel_bucket",
            "chore",
            "endpoint_secret",
            "fence",
            "generation_lock_0",
            "generation_lock_31",
            "identity",
            "loan",
            "log_change",
            "number_gap",
            "rate_turn",
            "worker_lock",
        ],
    ),
];

/// What an application wrote or an endpoint answered: hidden from the monitor.
const HIDDEN: &[&str] =
    &["payload", "data", "body", "headers", "metadata", "response_body", "config"];

/// The same of executions, where what a worker said counts, too.
const HIDDEN_OF_EXECUTIONS: &[&str] =
    &["parameters", "result", "error", "x_death", "details", "body"];

/// The columns that a role may change directly.
const CHANGEABLE: &[(char, &str, &[&str])] = &[
    ('a', "endpoints", &["config", "enabled", "paused", "retry_policy"]),
    ('a', "event_types", &["description", "metadata", "schema"]),
    ('a', "subscriptions", &["enabled", "filter", "retry_policy"]),
];

async fn open() -> (Shop, Client) {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute("create role stranger").await.unwrap();
    (shop, client)
}

async fn strings(client: &Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).await;
    let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// Runs a statement as a role, undoes it, and returns what it was refused with.
async fn refusal(client: &Client, role: &str, sql: &str) -> Option<(String, String)> {
    client.batch_execute(&format!("begin; set local role {role}")).await.unwrap();
    let result = client.batch_execute(sql).await;
    client.batch_execute("rollback").await.unwrap();
    let error = result.err()?;
    let error = error.as_db_error().unwrap_or_else(|| panic!("{error:?}: {sql}"));
    Some((error.code().code().to_owned(), error.message().to_owned()))
}

/// The names by the letters of who may.
fn by_name(table: &[(&'static str, &[&'static str])]) -> BTreeMap<String, &'static str> {
    let pairs = table
        .iter()
        .flat_map(|(who, names)| names.iter().map(move |name| ((*name).to_owned(), *who)));
    pairs.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_function_is_called_by_its_roles_and_nobody_else() {
    let (_shop, client) = open().await;
    let sql = "select format(
            '%s|%s|select %s postrider.%I(%s)', p.proname, p.proisstrict,
            case when p.proretset then '* from' else '' end, p.proname,
            (select string_agg(format('null::%s', format_type(a, null)), ', ' order by n)
            from unnest(p.proargtypes) with ordinality t (a, n)))
        from pg_proc p where p.pronamespace = 'postrider'::regnamespace order by 1";
    let calls = strings(&client, sql).await;
    let expected = by_name(FUNCTIONS);
    let found: BTreeSet<&str> = calls.iter().map(|call| call.split('|').next().unwrap()).collect();
    let known: BTreeSet<&str> = expected.keys().map(String::as_str).collect();
    assert_eq!(found, known, "every function needs an expectation");

    for call in &calls {
        let [name, is_strict, sql] = call.splitn(3, '|').collect::<Vec<_>>()[..] else {
            unreachable!("the query says so")
        };
        for (letter, role) in ROLES {
            let may = expected[name].contains(letter);
            let privilege = format!(
                "select bool_and(has_function_privilege('{role}', p.oid, 'execute'))::text
                from pg_proc p
                where p.pronamespace = 'postrider'::regnamespace and p.proname = '{name}'"
            );
            assert_eq!(strings(&client, &privilege).await, [may.to_string()], "{role}: {name}");
            // With a null, the planner leaves out the call of a strict function.
            if is_strict == "t" && role != "stranger" {
                continue;
            }
            let refused = refusal(&client, role, sql).await;
            let is_denied = refused.as_ref().is_some_and(|(code, _)| code == "42501");
            assert_eq!(!is_denied, may, "{role}: {sql}: {refused:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_table_is_read_by_its_roles_and_hardly_any_is_written() {
    let (_shop, client) = open().await;
    let sql = "select c.relname::text from pg_class c
        where c.relnamespace = 'postrider'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and not c.relispartition
        -- All of them alike: the first and the last.
        and c.relname !~ '^generation_lock_([1-9]|[12][0-9]|30)$'";
    let found: BTreeSet<String> = strings(&client, sql).await.into_iter().collect();
    let expected = by_name(RELATIONS);
    assert_eq!(found, expected.keys().cloned().collect(), "every table needs an expectation");

    for (name, who) in &expected {
        let sql = format!(
            "select attname::text from pg_attribute
            where attrelid = 'postrider.{name}'::regclass and attnum > 0 and not attisdropped"
        );
        let columns = strings(&client, &sql).await;
        for (letter, role) in ROLES {
            let is_partial = who.contains(&format!("{letter}*"));
            let may = who.contains(letter) && !is_partial;
            let refused = refusal(&client, role, &format!("select * from postrider.{name}")).await;
            assert_eq!(refused.is_none(), may, "{role} reads {name}: {refused:?}");
            let whole_row = format!("select r from postrider.{name} r");
            assert_eq!(refusal(&client, role, &whole_row).await.is_none(), may, "{role}: {name}");
            for column in &columns {
                let sql = format!("select {column} from postrider.{name}");
                let is_read = refusal(&client, role, &sql).await.is_none();
                let hidden =
                    if name.starts_with("execution") { HIDDEN_OF_EXECUTIONS } else { HIDDEN };
                // What a handler says of a failure may quote the message, and so may a filter.
                let is_quoting = matches!(
                    (name.as_str(), column.as_str()),
                    ("parked_messages", "last_error") | ("replays", "filter")
                );
                let is_hidden = hidden.contains(&column.as_str()) || is_quoting;
                if is_partial && letter == 'w' {
                    assert_eq!(is_read, ["id", "status"].contains(&column.as_str()), "{sql}");
                } else if is_partial && name != "dead_letter" {
                    assert_eq!(is_read, !is_hidden, "{role}: {sql}");
                }
                assert!(may || is_partial || !is_read, "{role}: {sql}");
                assert!(!(is_read && is_partial && is_hidden), "{role}: {sql}");

                let changeable = CHANGEABLE.iter().any(|(changer, table, columns)| {
                    (*changer, *table) == (letter, name.as_str())
                        && columns.contains(&column.as_str())
                });
                let sql = format!("update postrider.{name} set {column} = default where false");
                let is_changed = refusal(&client, role, &sql).await.is_none();
                assert_eq!(is_changed, changeable, "{role}: {sql}");
            }
            for sql in [
                format!("delete from postrider.{name} where false"),
                format!("insert into postrider.{name} default values"),
            ] {
                let refused = refusal(&client, role, &sql).await;
                let code = refused.as_ref().map(|(code, _)| code.as_str());
                // A view that joins cannot be written by anybody.
                assert!(matches!(code, Some("42501" | "55000")), "{role}: {sql}: {code:?}");
            }
            let sql = format!("truncate postrider.{name}");
            let refused = refusal(&client, role, &sql).await;
            let code = refused.map(|(code, _)| code);
            assert!(matches!(code.as_deref(), Some("42501" | "42809")), "{role}: {sql}: {code:?}");
        }
    }

    // Parts of tables and sequences are for nobody.
    let sql = "select format('%s %s', r.rolname, c.relname) from pg_class c, pg_roles r
        where c.relnamespace = 'postrider'::regnamespace
        and (r.rolname like 'postrider%' or r.rolname = 'stranger')
        and (
            c.relispartition and c.relkind = 'r'
            and has_any_column_privilege(r.oid, c.oid, 'select, insert, update, references')
            or c.relkind = 'S' and has_sequence_privilege(r.oid, c.oid, 'usage, select, update'))";
    assert_eq!(strings(&client, sql).await, [""; 0]);
    let sql = "select r.rolname::text from pg_roles r
        where has_schema_privilege(r.oid, 'postrider', 'create') and not r.rolsuper";
    assert_eq!(strings(&client, sql).await, [""; 0]);
}

/// Who may read a whole relation may lock it so that it is not dropped meanwhile, and nobody may lock it
/// against reading or writing: parts of partitioned tables and what views read included.
#[tokio::test(flavor = "multi_thread")]
async fn no_role_locks_a_table_against_dispatchers_or_senders() {
    let (_shop, client) = open().await;
    let sql = "select c.relname::text from pg_class c
        where c.relnamespace = 'postrider'::regnamespace and c.relkind in ('r', 'p', 'v')";
    let expected = by_name(RELATIONS);
    for name in strings(&client, sql).await {
        let who = expected.get(&name).copied().unwrap_or_default();
        for (letter, role) in ROLES {
            let mut strongest = None;
            for mode in LOCK_MODES {
                let sql = format!("lock table postrider.{name} in {mode} mode");
                if refusal(&client, role, &sql).await.is_none() {
                    strongest = Some(mode);
                    break;
                }
            }
            let may_read = who.contains(letter) && !who.contains(&format!("{letter}*"));
            assert_eq!(strongest, may_read.then_some("access share"), "{role}: {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_never_changed_by_any_role() {
    let (_shop, client) = open().await;
    let sql = "select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.send_with_options('a', '{\"n\": 1}', p_headers => '{\"h\": \"1\"}')";
    client.batch_execute(sql).await.unwrap();
    for (_, role) in ROLES {
        for sql in [
            "update postrider.message set payload = '{}'",
            "update postrider.message set headers = '{}'",
            "delete from postrider.message",
            "insert into postrider.message select * from postrider.message",
            "truncate postrider.message",
            "update postrider.message_default set payload = '{}'",
            "update postrider.queue set payload = '{}'",
            "delete from postrider.queue",
            "update postrider.dlq set payload = '{}'",
            "delete from postrider.dlq",
            "alter table postrider.message disable trigger all",
            "create trigger t before insert on postrider.message for each row
                execute function suppress_redundant_updates_trigger()",
            "create rule r as on insert to postrider.message do instead nothing",
        ] {
            let (code, text) = refusal(&client, role, sql).await.expect(sql);
            assert!(matches!(code.as_str(), "42501" | "55000"), "{role}: {sql}: {code} {text}");
        }
    }
}

/// An endpoint with a secret, and everything in the database that may quote it.
const SECRETS: &str = "
    select postrider.create_endpoint('a', 'http',
        '{\"url\": \"http://a.test/\", \"headers\": {\"authorization\": \"s3cret\"}}');
    select postrider.alter_endpoint('a', '{\"url\": \"http://a.test/b\"}');
    update postrider.endpoints
    set config = '{\"url\": \"http://b.test/\", \"headers\": {\"authorization\": \"s3cret-2\"}}';
    select postrider.send('a', '{}');
    select postrider.disable_endpoint('a'), postrider.enable_endpoint('a');
    select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['503'])
    from postrider.message m;";

#[tokio::test(flavor = "multi_thread")]
async fn no_role_finds_a_secret_anywhere() {
    let (_shop, client) = open().await;
    client.batch_execute(SECRETS).await.unwrap();
    let sql = "select config::text from postrider.endpoint_secret";
    assert_eq!(strings(&client, sql).await.len(), 1);

    let sql = "select format('select coalesce(string_agg(v::text, '' ''), '''') from (select %s from postrider.%I) v',
            string_agg(quote_ident(a.attname), ', '), c.relname) || '|' || r.rolname
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        cross join pg_roles r
        where c.relnamespace = 'postrider'::regnamespace and c.relkind in ('r', 'p', 'v')
        and r.rolname like 'postrider\\_%'
        and has_column_privilege(r.oid, c.oid, a.attnum, 'select')
        group by c.relname, r.rolname";
    let readable = strings(&client, sql).await;
    assert!(readable.len() > 20, "{readable:?}");
    for read in readable {
        let (sql, role) = read.split_once('|').unwrap();
        client.batch_execute(&format!("begin; set local role {role}")).await.unwrap();
        let text = strings(&client, sql).await.concat();
        client.batch_execute("rollback").await.unwrap();
        assert!(!text.contains("s3cret"), "{role}: {sql}: {text}");
    }

    // Errors about the config that holds it name keys, not values.
    let change = |config: &str| format!("update postrider.endpoints set config = '{config}'");
    let wrong = [
        change(r#"{"url": "http://b.test/", "headers": {"content-length": "s3cret-3"}}"#),
        change(r#"{"url": "http://b.test/", "headers": {"a": "s3cret-3\u0001"}}"#),
        change(r#"{"url": "http://b.test/", "headers": "s3cret-3"}"#),
        change(r#"{"url": "http://b.test/", "headers": {"a": ["s3cret-3"]}}"#),
        change(r#"{"urls": "http://b.test/"}"#),
        "select postrider.alter_endpoint('a', '{}')".to_owned(),
        "select * from postrider.endpoint_secret".to_owned(),
        "insert into postrider.endpoint_secret values (1, '{}')".to_owned(),
        "update postrider.endpoints set id = 1".to_owned(),
    ];
    for (_, role) in ROLES {
        for sql in &wrong {
            client.batch_execute(&format!("begin; set local role {role}")).await.unwrap();
            let error = client.batch_execute(sql).await.expect_err(sql);
            client.batch_execute("rollback").await.unwrap();
            let text = format!("{error:?}");
            assert!(!text.contains("s3cret"), "{role}: {sql}: {text}");
        }
    }
    // What an update returns is what is stored.
    let sql = format!(
        "{} returning config::text",
        change(r#"{"url": "http://b.test/", "headers": {"authorization": "s3cret-4"}}"#)
    );
    client.batch_execute("begin; set local role postrider_admin").await.unwrap();
    let returned = strings(&client, &sql).await.concat();
    client.batch_execute("rollback").await.unwrap();
    assert!(!returned.contains("s3cret"), "{returned}");
    // No function with the owner's rights runs code of the caller's on the way to it.
    let leak = "create function pg_temp.leak(text) returns text language plpgsql as
            $$ begin raise notice 'seen %', $1; return $1; end $$;
        select * from postrider.endpoints where pg_temp.leak(config::text) is null";
    assert_eq!(refusal(&client, "postrider_admin", leak).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_with_the_owners_rights_pins_its_search_path() {
    let (_shop, client) = open().await;
    let sql = "select p.oid::regprocedure::text from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace and p.prosecdef
        and not coalesce(exists (
            select from unnest(p.proconfig) c (setting)
            where c.setting in (
                'search_path=pg_catalog, postrider, pg_temp', 'search_path=pg_catalog, pg_temp')
        ), false)";
    assert_eq!(strings(&client, sql).await, [""; 0]);
}

/// A schema of mallory's in which everything has the name of something that the functions use, and
/// which notes under whose rights it ran. The owner of the database gave it to her.
const ATTACK: &str = r#"
    create role mallory in role postrider_admin, postrider_application, postrider_monitor,
        postrider_operator;
    create schema evil authorization mallory;
    create table public.caught (who text, name text);
    grant insert, select on public.caught to mallory;
    grant temporary on database shop to mallory;
    set role mallory;
    create function evil.trip(name pg_catalog.text) returns pg_catalog.bool language plpgsql as $f$
    begin
        insert into public.caught values (current_user, name);
        return true;
    end $f$;
    do $do$
    declare
        f record;
    begin
        -- Every function of pg_catalog that a function of ours may call.
        for f in
            select distinct
                p.oid, p.proname, pg_catalog.oidvectortypes(p.proargtypes) as arguments, p.proretset,
                pg_catalog.format_type(p.prorettype, null) as result
            from pg_catalog.pg_proc p
            where p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
            and p.prokind = 'f'
            and p.proname in (
                select m[1]
                from pg_catalog.pg_proc o,
                    pg_catalog.regexp_matches(o.prosrc, '([a-z_0-9]+)\s*\(', 'g') m
                where o.pronamespace = 'postrider'::pg_catalog.regnamespace)
        loop
            begin
                execute pg_catalog.format(
                    'create function evil.%I(%s) returns %s %s language plpgsql as $x$
                    begin perform evil.trip(%L); return %s; end $x$',
                    f.proname, f.arguments, case when f.proretset then 'setof' end, f.result,
                    f.proname, case when not f.proretset then 'null' end);
            exception when others then null;
            end;
        end loop;
        -- Every operator on types that our functions work with.
        for f in
            select
                o.oid, o.oprname, pg_catalog.format_type(o.oprleft, null) as l,
                pg_catalog.format_type(o.oprright, null) as r,
                pg_catalog.format_type(o.oprresult, null) as result
            from pg_catalog.pg_operator o
            where o.oprleft <> 0
            and o.oprnamespace = 'pg_catalog'::pg_catalog.regnamespace
            and (o.oprleft in (
                'bigint'::pg_catalog.regtype, 'integer'::pg_catalog.regtype,
                'smallint'::pg_catalog.regtype, 'text'::pg_catalog.regtype,
                'jsonb'::pg_catalog.regtype, 'bytea'::pg_catalog.regtype,
                'timestamptz'::pg_catalog.regtype, 'interval'::pg_catalog.regtype,
                'uuid'::pg_catalog.regtype, 'xid8'::pg_catalog.regtype,
                'boolean'::pg_catalog.regtype, 'name'::pg_catalog.regtype,
                'oid'::pg_catalog.regtype, 'numeric'::pg_catalog.regtype))
        loop
            begin
                execute pg_catalog.format(
                    'create function evil.o%s(%s, %s) returns %s language plpgsql as $x$
                    begin perform evil.trip(%L); return null; end $x$;
                    create operator evil.%s (leftarg = %s, rightarg = %s, function = evil.o%s)',
                    f.oid, f.l, f.r, f.result, f.oprname, f.oprname, f.l, f.r, f.oid);
            exception when others then null;
            end;
        end loop;
        -- Every type that a cast may name.
        for f in
            select t.name
            from pg_catalog.unnest(array[
                'text', 'jsonb', 'bytea', 'uuid', 'xid8', 'timestamptz', 'pg_snapshot', 'inet',
                'regclass', 'name']) t (name)
        loop
            execute pg_catalog.format(
                'create domain evil.%I as pg_catalog.%I check (evil.trip(%L))', f.name, f.name, f.name);
        end loop;
        -- Every table, in a schema and as a temporary one.
        for f in
            select c.relname from pg_catalog.pg_class c
            where c.relnamespace = 'postrider'::pg_catalog.regnamespace
            and c.relkind in ('r', 'p', 'v') and not c.relispartition
        loop
            execute pg_catalog.format(
                'create view evil.%I as select evil.trip(%L) as name', f.relname, f.relname);
            execute pg_catalog.format(
                'create temporary view %I as select evil.trip(%L) as name', f.relname, f.relname);
        end loop;
    end;
    $do$;
    create function pg_temp.now() returns timestamptz language plpgsql as
        $f$ begin perform evil.trip('now'); return null; end $f$;
    reset role;"#;

/// Calls that go deep into every function that a role may call.
const VICTIMS: &str = r#"
    postrider.create_endpoint('b', 'http', '{"url": "http://b.test/", "headers": {"a": "1"}}')
    postrider.alter_endpoint('b', '{"url": "http://c.test/", "headers": null}')
    postrider.reveal_signing_key('b', '{key}')
    postrider.add_signing_key('b')
    postrider.retire_signing_key('b', '{key}')
    postrider.rotate_signing_key('b')
    postrider.disable_endpoint('b')
    postrider.enable_endpoint('b')
    postrider.pause_endpoint('b')
    postrider.resume_endpoint('b')
    postrider.pause_all()
    postrider.resume_all()
    postrider.reset_circuit_breaker('b')
    postrider.create_event_type('order.created', 'd', '{}', '{"_retry_policy": {"numRetries": 20}}')
    postrider.subscribe('order.*', 'a', '{"n": 1}', '{"enabled": true, "_retry_policy": {"preset": "sns-managed"}}')
    postrider.send('a', '{}')
    postrider.send_with_options('a', '{"n": 1}', 3::smallint, now() + interval '1 year', 'key', '00000000-0000-0000-0000-000000000001', '2100-01-02', 'ordering', '{"h": "1"}', '{"m": 1}')
    postrider.send_batch('a', array['{}', '{}']::jsonb[])
    postrider.send_batch_with_priority('a', array['{}']::jsonb[], 2::smallint)
    postrider.send_bytes('a', '\x00', 'image/png')
    postrider.publish('order.created', '{"n": 1}')
    postrider.publish_batch('[{"event_type": "order.created", "payload": {}, "priority": 1}]')
    postrider.message_status({id})
    postrider.explain_policy({id})
    postrider.get_endpoint_health('a')
    postrider.check_endpoint_name('a')
    postrider.check_event_type('order.created')
    postrider.check_action_name(null)
    postrider.check_pool_name('default')
    postrider.get_worker_status()
    postrider.masked_config('{"url": "http://u:p@a.test/?b"}')
    postrider.consumer_holders()
    postrider.consumer_report(1, 0)
    postrider.health_check()
    postrider.metrics()
    postrider.cancel_message({id})
    postrider.describe_end({id}, 1)
    postrider.has_ended({id}, 1)
    postrider.is_deferred({id}, 1)
    postrider.is_claimed({id}, 1, 0)
    postrider.is_taken({id}, '3', array[1])
    postrider.done_before()
    postrider.lane_states()
    postrider.left_kinds()
    postrider.left_names()
    postrider.has_wide_messages()
    postrider.target_names()
    postrider.log_ranges()
    postrider.may_wait('{}', {id}, '3', array[1])
    postrider.pending_floor()
    postrider.ended_ceiling()
    postrider.set_setting('allow_internal_destinations', '10.0.0.0/8')
    postrider.get_setting('http_timeout')
    postrider.reset_setting('allow_internal_destinations')
    postrider.create_token('attacked', 'viewer', pg_catalog.sha256('x'))
    postrider.revoke_token('attacked')
    postrider.validate_endpoint_config('http', '{"url": "http://a.test/", "headers": {"a": "1"}}')
    postrider.validate_retry_policy('{"max_retries": 1, "jitter": 0.5}')
    postrider.replay_message({id})
    postrider.replay_range(1, '2001-01-01', '2101-01-01', 'failed')
    postrider.create_replay('a', '2001-01-01', '2101-01-01', 'failed', 'order.created', '{"n": 1}', 5)
    postrider.cancel_replay(1)
    postrider.redrive_message({letter})
    postrider.retry_delivery({waiting}, 'a')
    postrider.fail_delivery({waiting}, 'a', 'r')
    postrider.redrive_message({letter})
    postrider.skip_delivery({waiting}, 'a', 'r')
    postrider.redrive_endpoint('a')
    postrider.redrive_all(5)
    postrider.redrive_matching('a', '2020-01-01', '2100-01-01', 'x', 'gone', 'order.created', 10)
    postrider.retry_matching_deliveries('a', '2020-01-01', '2100-01-01', 'x', 'order.created', 'ordering', 10)
    postrider.fail_matching_deliveries('r', 'a', '2020-01-01', '2100-01-01', 'x', 'order.created', 'ordering', 10)
    postrider.skip_matching_deliveries('r', 'a', '2020-01-01', '2100-01-01', 'x', 'order.created', 'ordering', 10)
    postrider.cancel_endpoint_messages('a')
    postrider.erase_messages('ordering', '00000000-0000-0000-0000-000000000001', '{"m": 1}', 'order.created', '2020-01-01', '2100-01-01')
    postrider.cancel_job(1)
    postrider.dlq_summary()
    postrider.cleanup_dlq()
    postrider.cleanup_event_log()
    postrider.mark_expired_messages()
    postrider.maintain_archive_partitions(4)
    postrider.cleanup_old_archive_partitions(6)
    postrider.enable_fast_mode()
    postrider.shard_count()
    postrider.create_schedule('s', '*/5 1-3 L,15 JAN MON#1,TUE', 'Europe/Berlin', 'a', null, '{"n": 1}', 'all', 1, 'k', '{"h": "1"}', '{"m": 1}', '1 hour')
    postrider.alter_schedule('s', '{"timing": "every 2 hours", "payload": {}}')
    postrider.next_firings('s', 3)
    postrider.pause_schedule('s')
    postrider.resume_schedule('s')
    postrider.drop_schedule('s')
    postrider.create_consumer('c', '{order.*}', '{"n": 1}', '2001-01-01', 'commit', 2)
    postrider.create_consumer('d')
    postrider.create_consumer('e', p_start => 'now', p_ordering => 'transaction')
    postrider.tick()
    postrider.fetch_messages('d', 1)
    postrider.fetch_messages('c', 10, '1 ms', 1, true)
    postrider.fetch_messages('e')
    postrider.peek_messages('c', 10, 1, '3', 1)
    postrider.acknowledge('d', m.position) from (select position from postrider.fetch_messages('d', 2) limit 1) m
    postrider.lease_partitions('c', '00000000-0000-0000-0000-000000000001', '1 s')
    postrider.release_partitions('c', '00000000-0000-0000-0000-000000000001')
    postrider.begin_batch('d', 0, 2)
    postrider.begin_batch('d', 0, 2)
    postrider.park_message('d', m.position, 1, 'e') from (select position from postrider.fetch_messages('d', 1)) m
    postrider.resolve_parked_message({parked})
    postrider.reset_consumer('d', '{id}')
    postrider.drop_consumer('e')
    postrider.create_event_type('postrider.execution_ended')
    postrider.set_action('resize', '1 min', '1 min', 3, 1, 5, 'd')
    postrider.register_worker('w', 'p', 10, '{"a": 1}', '1', 'h', 'postgres')
    postrider.submit_execution('resize', '{"n": 1}', null, 'p', '1 min', '1 min', 1, 3, 'key', '00000000-0000-0000-0000-000000000001')
    postrider.submit_execution('resize', '{"n": 2}', 'w', 'p')
    postrider.submit_execution('resize', '{"n": 3}', null, 'p')
    postrider.take_executions({worker}, 5, '1 ms', 1)
    postrider.start_execution({scheduled}, {scheduled_fence}, 1)
    postrider.worker_heartbeat({worker}, 1, 'e')
    postrider.worker_heartbeat({worker})
    postrider.worker_executions({worker})
    postrider.pool_figures()
    postrider.extend_execution({running}, {running_fence}, '1 min')
    postrider.complete_execution({running}, {running_fence}, '{"n": 1}')
    postrider.start_execution({scheduled}, {scheduled_fence})
    postrider.fail_execution({running}, {running_fence}, 'transient_error', '{"n": 2}')
    postrider.release_execution({scheduled}, {scheduled_fence})
    postrider.take_executions({worker}, 5)
    postrider.start_execution({scheduled}, {scheduled_fence})
    postrider.cancel_execution({running})
    postrider.retry_execution({ended})
    postrider.cordon_worker('w')
    postrider.uncordon_worker('w')
    postrider.deregister_worker({worker}, 1)
    postrider.register_worker('v', 'q')
    postrider.deregister_worker({worker})
    postrider.drop_worker('v')
    postrider.adopt()
    postrider.drop_action('resize')
    postrider.unsubscribe({subscription})
    postrider.drop_event_type('order.created')
    postrider.drop_endpoint('b', true)"#;

fn victims() -> impl Iterator<Item = &'static str> {
    VICTIMS.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn name_of(victim: &str) -> String {
    victim.split_once('(').unwrap().0.trim_start_matches("postrider.").to_owned()
}

/// The call with what there is at the moment in the place of its words in braces.
async fn prepared(client: &Client, victim: &str) -> String {
    let words = [
        ("id", "select min(id)::text from postrider.message"),
        ("parked", "select coalesce(max(id), 0)::text from postrider.parked_message"),
        ("letter", "select max(id)::text from postrider.dead_letter"),
        ("waiting", "select coalesce(min(message_id), 0)::text from postrider.deferred"),
        ("subscription", "select max(id)::text from postrider.subscriptions"),
        (
            "ended",
            "select coalesce(max(execution_id), 0)::text from postrider.execution_end where is_final",
        ),
        ("worker", "select coalesce(max(id), 0)::text from postrider.worker"),
        ("key", "select coalesce(min(id), '') from postrider.signing_keys where endpoint = 'b'"),
    ];
    let mut words: Vec<_> = words.map(|(word, sql)| (word.to_owned(), sql.to_owned())).into();
    for status in ["scheduled", "running"] {
        for (column, word) in [("id", status.to_owned()), ("fence", format!("{status}_fence"))] {
            let sql = format!(
                "select coalesce((
                    select {column} from postrider.live_execution
                    where status = '{status}' order by id limit 1), 0)::text"
            );
            words.push((word, sql));
        }
    }
    let mut victim = victim.to_owned();
    for (word, sql) in words {
        let word = format!("{{{word}}}");
        if victim.contains(&word) {
            victim = victim.replace(&word, &strings(client, &sql).await[0]);
        }
    }
    victim
}

/// What a function of operators and admins may do without an event, and why.
const WITHOUT_EVENT: &[(&str, &str)] = &[
    ("adopt", "says what it has found of another database, and there is nothing of one here"),
    ("validate_endpoint_config", "changes nothing"),
    ("validate_retry_policy", "changes nothing"),
];

/// What is no change of a state that was before or is after, and why.
const WITHOUT_STATES: &[(&str, &str)] = &[
    ("dlq.cleaned_up", "removes many, and says how many"),
    ("event_log.cleaned_up", "removes many, and says how many"),
    ("message.replayed", "sends something new, and what was stays as it is"),
    ("messages.expired", "ends many, and says how many"),
    ("partition.dropped", "has its name, and what was in it is gone"),
    ("partition.drop_postponed", "changes nothing"),
    ("partitions.made", "makes some, and says how many"),
    ("range.replayed", "sends something new, and what was stays as it is"),
    ("signing_key.revealed", "shows, and changes nothing"),
    ("worker.deregistered", "is what a process says of itself"),
    ("worker.registered", "is what a process says of itself"),
];

/// What makes a call of this function change something.
fn occasion(name: &str) -> &'static str {
    match name {
        "reset_circuit_breaker" => "update postrider.circuit set failure_count = 1",
        // What has failed stays on record, in a month that is old: there is a partition to make and to drop.
        "cleanup_dlq" => {
            "insert into postrider.dead_letter (
                message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
                priority, event_type, payload, failed_at)
            values (1024, 9, 9, 'old', 'rejected', 0, now(), 0, 'old', '{}', '2001-01-01')"
        }
        "cleanup_event_log" => {
            "insert into postrider.event_log (at, event, details) values ('2001-01-01', 'old', '{}')"
        }
        "mark_expired_messages" => {
            "select postrider.send('a', '{}');
            insert into postrider.deferred (
                message_id, target, endpoint_id, shard, run_at, message_created_at, expires_at)
            select m.id, m.targets[1], 1, (m.id & 1023) >> 4, now(), m.created_at, '2001-01-01'
            from postrider.message m
            order by m.id desc
            limit 1"
        }
        _ => "",
    }
}

/// The functions of a group in sql/grants.sql.
fn group(name: &str) -> BTreeSet<String> {
    let grants = include_str!("../../../sql/grants.sql");
    let (_, list) = grants.split_once(&format!("    {name} constant text[] := array[")).unwrap();
    let (list, _) = list.split_once("];").unwrap();
    list.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_of_operators_and_admins_leaves_an_event_that_says_who() {
    let (_shop, client) = open().await;
    let sql = "create role anna; grant postrider_admin to anna;
        select postrider.create_endpoint('a', 'http', '{\"url\": \"http://a.test/\"}');
        select postrider.send('a', '{}'), postrider.send('a', '{}'), postrider.send('a', '{}'), postrider.send('a', '{}');
        select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['503'])
        from postrider.message m order by m.id limit 2";
    client.batch_execute(sql).await.unwrap();
    let events = "select count(*)::text from postrider.event_log where details ->> 'role' = 'anna'";
    let mut telling = BTreeSet::new();
    for victim in victims() {
        let name = name_of(victim);
        // Something to do for who finds nothing otherwise.
        client.batch_execute(occasion(&name)).await.unwrap();
        let before = strings(&client, events).await;
        let sql = match name.as_str() {
            "cancel_message" => "postrider.cancel_message(postrider.send('a', '{}'))".to_owned(),
            _ => prepared(&client, victim).await,
        };
        let call = format!("set role anna; select {sql}");
        let done = client.batch_execute(&call).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        client.batch_execute("reset role").await.unwrap();
        if strings(&client, events).await != before {
            telling.insert(name);
        }
    }
    let excused: BTreeSet<String> =
        WITHOUT_EVENT.iter().map(|(name, _)| (*name).to_owned()).collect();
    let silent: BTreeSet<String> = ["operating", "managing", "taking_back"]
        .into_iter()
        .flat_map(group)
        .filter(|name| !telling.contains(name))
        .collect();
    assert_eq!(silent, excused);

    // What was before and after: an object, or null where there was nothing.
    let is_told = "details ?& array['by', 'before', 'after']
        and jsonb_typeof(details -> 'before') in ('object', 'null')
        and jsonb_typeof(details -> 'after') in ('object', 'null')
        and 'object' in (jsonb_typeof(details -> 'before'), jsonb_typeof(details -> 'after'))";
    let told = async |condition: &str| {
        let sql = format!(
            "select distinct event from postrider.event_log
            where details ->> 'role' = 'anna' and {condition} order by 1"
        );
        BTreeSet::from_iter(strings(&client, &sql).await)
    };
    let excused: BTreeSet<String> =
        WITHOUT_STATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let lacking = told(&format!("not coalesce({is_told}, false)")).await;
    assert_eq!(lacking.difference(&excused).collect::<Vec<_>>(), [""; 0], "they say half of it");
    let telling = told(is_told).await;
    assert_eq!(telling.intersection(&excused).collect::<Vec<_>>(), [""; 0], "no excuse is needed");
    assert!(telling.len() > 40, "{telling:?}");
}

/// Whoever sends may take it back, and need not be an operator for that.
#[tokio::test(flavor = "multi_thread")]
async fn what_applications_take_back_of_their_own_leaves_no_event() {
    let (_shop, client) = open().await;
    let sql = "create role berta; grant postrider_application to berta;
        select postrider.create_endpoint('a', 'discard', '{}');
        truncate postrider.event_log;
        set role berta;
        select postrider.cancel_message(postrider.send('a', '{}'));
        select postrider.cancel_execution(postrider.submit_execution('resize'));
        reset role";
    client.batch_execute(sql).await.unwrap();
    let ended = "select status from postrider.executions
        union all select reason from postrider.ended order by 1";
    assert_eq!(strings(&client, ended).await, ["cancelled", "cancelled"]);
    assert_eq!(strings(&client, "select event from postrider.event_log").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_runs_code_with_the_owners_rights_by_search_path() {
    let (_shop, client) = open().await;
    let sql = "select postrider.create_endpoint('a', 'http', '{\"url\": \"http://a.test/\"}');
        select postrider.send('a', '{}'), postrider.send('a', '{}'), postrider.send('a', '{}');
        select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['503'])
        from postrider.message m order by m.id limit 2";
    client.batch_execute(sql).await.unwrap();
    client.batch_execute(ATTACK).await.unwrap();
    let first = async |sql: &str| strings(&client, sql).await[0].clone();
    let traps =
        first("select count(*)::text from pg_proc where pronamespace = 'evil'::regnamespace").await;
    assert!(traps.parse::<u32>().unwrap() > 300, "{traps}");

    let attack = async |sql: &str| {
        client
            .batch_execute(
                "set role mallory; set search_path = pg_temp, evil, pg_catalog, postrider",
            )
            .await
            .unwrap();
        let result = client.batch_execute(sql).await;
        client.batch_execute("reset role; reset search_path").await.unwrap();
        result
    };
    // The traps work: a function of the owner's that does not pin its path walks into them.
    let careless = "create function public.careless() returns integer language sql security definer
        as 'select length(''x'')'; grant execute on function public.careless() to mallory";
    client.batch_execute(careless).await.unwrap();
    attack("select public.careless()").await.unwrap();
    let caught = "select distinct name from public.caught where who <> 'mallory'";
    assert_eq!(strings(&client, caught).await, ["length"]);
    client.batch_execute("drop function public.careless(); truncate public.caught").await.unwrap();

    let mut called = BTreeSet::new();
    for victim in victims() {
        called.insert(name_of(victim));
        // The casts of a victim's arguments are mallory's own affair.
        let sql = prepared(&client, victim).await.replace("::jsonb[]", "::pg_catalog.jsonb[]");
        attack(&format!("select {sql}")).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    for view in [
        "queue",
        "archive",
        "dlq",
        "blocked_keys",
        "partitions",
        "replays",
        "jobs",
        "consumers",
        "parked_messages",
        "executions",
        "workers",
        "signing_keys",
    ] {
        let sql = format!("select * from postrider.{view} order by 1");
        attack(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    let update = "update postrider.endpoints set retry_policy = '{\"max_retries\": 1}'";
    attack(update).await.unwrap();
    let update = "update postrider.subscriptions set retry_policy = '{}' where event_type <> ''";
    attack(update).await.unwrap();
    assert_eq!(strings(&client, caught).await, [""; 0]);

    let callable = by_name(FUNCTIONS).into_iter().filter(|(_, who)| !who.is_empty());
    let callable: BTreeSet<String> = callable.map(|(name, _)| name).collect();
    assert_eq!(called, callable, "every function that a role may call is attacked");
}

/// Functions that notify. One that is new has to be called below, with names that somebody chose.
const NOTIFYING: &str = "announce_endpoint announce_event_type append_message append_replays append_tick bring_back bring_back_messages bring_back_rows bury_batch \
    cancel_execution cancel_message create_consumer create_job drop_consumer end_deliveries expire_waiting redrive_batch \
    redrive_message register_worker release_shards reset_circuit_breaker retry_delivery ring_workers save_circuits \
    send_batch_with_priority send_with_options set_setting tell_batch trade_places";

/// Every login may listen, and hears neither names nor keys.
#[tokio::test(flavor = "multi_thread")]
async fn notifications_carry_nothing_that_somebody_wrote() {
    use postrider_store::connect::{Connector, DatabaseUrl};
    let (shop, client) = open().await;
    client.batch_execute("alter role stranger login").await.unwrap();
    let sql = "select string_agg(p.proname, ' ' order by p.proname collate \"C\") from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace and p.prosrc ~ 'postrider.ring[(]'";
    assert_eq!(strings(&client, sql).await, [NOTIFYING]);

    let url = DatabaseUrl::new(shop.postgres.url_as("stranger", "shop"));
    let mut stranger = Connector::new(&url, None, "test").unwrap().connect().await.unwrap();
    stranger
        .client
        .batch_execute("listen postrider; listen \"postrider:executions\"")
        .await
        .unwrap();
    // Everybody sleeps, so that it is rung for everything.
    let asleep = shop.client().await;
    let doors = "select pg_advisory_lock(1886352244, k), pg_advisory_lock_shared(1886352248, k)
        from generate_series(0, 255) k";
    asleep.batch_execute(doors).await.unwrap();
    let sql = r#"
        select postrider.create_endpoint('s3cret-e', 'http', '{"url": "http://s3cret.test/"}');
        select postrider.create_event_type('s3cret-t', p_metadata => '{"_retry_policy": {"max_retries": 1}}');
        select postrider.subscribe('s3cret-t', 's3cret-e');
        select postrider.create_consumer('s3cret-c');
        select postrider.set_setting('allow_internal_destinations', '10.77.0.0/16');
        select postrider.send('s3cret-e', '{"s3cret": 1}'), postrider.send_batch('s3cret-e', '{"{\"s3cret\": 1}"}');
        select postrider.publish('s3cret-t', '{"s3cret": 1}', p_ordering_key => 's3cret-k');
        select postrider.cancel_message(m.id) from postrider.message m where m.ordering_key is not null;
        select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['s3cret'])
        from postrider.message m order by m.id limit 1;
        select postrider.redrive_message(d.id) from postrider.dead_letter d;
        select postrider.retry_delivery(d.message_id) from postrider.deferred d;
        select postrider.skip_delivery(d.message_id, 's3cret-e', 's3cret') from postrider.deferred d;
        select postrider.create_replay('s3cret-e', '2001-01-01', '2101-01-01');
        select postrider.redrive_all();
        select postrider.tick();
        select postrider.set_action('s3cret-a', p_concurrency => 1);
        select postrider.register_worker('s3cret-w', 's3cret-p');
        select postrider.register_worker('s3cret-r', 's3cret-p', p_carrier => 'rabbitmq');
        select postrider.submit_execution('s3cret-a', '{"s3cret": 1}', 's3cret-w', 's3cret-p');
        select postrider.submit_execution('s3cret-a', '{"s3cret": 1}', p_pool => 's3cret-p');
        select postrider.start_execution(x.execution_id, x.fence) from postrider.take_executions(1, 1) x;
        select postrider.cancel_execution(l.id) from postrider.live_execution l where l.status = 'running';
        select postrider.complete_execution(l.id, l.fence) from postrider.live_execution l where l.status = 'running';
        select postrider.cordon_worker('s3cret-w'), postrider.uncordon_worker('s3cret-w');
        select postrider.reset_circuit_breaker('s3cret-e');
        select postrider.advance_jobs(), postrider.advance_replays();
        select postrider.drop_consumer('s3cret-c');
        select postrider.drop_endpoint('s3cret-e', true);
        select postrider.set_setting('http_timeout', '9')"#;
    let mut heard = BTreeSet::new();
    for statement in sql.split(';') {
        client
            .batch_execute(statement)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    client.batch_execute("notify postrider, 'over'").await.unwrap();
    loop {
        let notification = stranger.notifications.recv().await.unwrap();
        if notification.payload() == "over" {
            break;
        }
        heard.insert(notification.payload().to_owned());
    }
    assert!(heard.iter().any(|payload| payload.starts_with("cancel:")), "{heard:?}");
    assert!(heard.len() > 10, "{heard:?}");
    assert!(
        !heard.iter().any(|payload| payload.contains("s3cret") || payload.contains("10.77")),
        "{heard:?}"
    );
}
