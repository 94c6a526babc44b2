//! Messages, deliveries, dead letters, and what is done with many of them.

use super::super::{
    operation::{Kind, OPERATING, Operation, field, get, list, path, post, query, shape},
    shapes,
};

const API_MESSAGE: &str = include_str!("../../../../../sql/queries/watch/api_message.sql");
const API_MESSAGE_MASKED: &str =
    include_str!("../../../../../sql/queries/watch/api_message_masked.sql");
const API_ATTEMPTS: &str = include_str!("../../../../../sql/queries/watch/api_attempts.sql");
const API_ATTEMPTS_MASKED: &str =
    include_str!("../../../../../sql/queries/watch/api_attempts_masked.sql");
const API_EXPLAIN_MESSAGE: &str =
    include_str!("../../../../../sql/queries/policy/api_explain_message.sql");
const API_CANCEL_MESSAGE: &str =
    include_str!("../../../../../sql/queries/produce/api_cancel_message.sql");
const API_REPLAY_MESSAGE: &str =
    include_str!("../../../../../sql/queries/archive/api_replay_message.sql");
const API_RETRY_DELIVERY: &str =
    include_str!("../../../../../sql/queries/deliveries/api_retry_delivery.sql");
const API_FAIL_DELIVERY: &str =
    include_str!("../../../../../sql/queries/deliveries/api_fail_delivery.sql");
const API_SKIP_DELIVERY: &str =
    include_str!("../../../../../sql/queries/deliveries/api_skip_delivery.sql");
const API_ERASE_MESSAGES: &str =
    include_str!("../../../../../sql/queries/deliveries/api_erase_messages.sql");
const CHECK_ENDPOINT_NAME: &str =
    include_str!("../../../../../sql/queries/endpoints/check_endpoint_name.sql");
const API_CHECK_NAMES: &str =
    include_str!("../../../../../sql/queries/endpoints/api_check_names.sql");
const MESSAGE_STATUS: &str = include_str!("../../../../../sql/queries/watch/message_status.sql");
const API_QUEUE: &str = include_str!("../../../../../sql/queries/deliveries/api_queue.sql");
const API_ARCHIVE: &str = include_str!("../../../../../sql/queries/archive/api_archive.sql");
const API_RETRY_DELIVERIES: &str =
    include_str!("../../../../../sql/queries/deliveries/api_retry_deliveries.sql");
const API_FAIL_DELIVERIES: &str =
    include_str!("../../../../../sql/queries/deliveries/api_fail_deliveries.sql");
const API_SKIP_DELIVERIES: &str =
    include_str!("../../../../../sql/queries/deliveries/api_skip_deliveries.sql");
const API_DEAD_LETTERS: &str =
    include_str!("../../../../../sql/queries/dead_letters/api_dead_letters.sql");
const API_DLQ_SUMMARY: &str =
    include_str!("../../../../../sql/queries/dead_letters/api_dlq_summary.sql");
const API_REDRIVE: &str = include_str!("../../../../../sql/queries/dead_letters/api_redrive.sql");
const API_DEAD_LETTER: &str =
    include_str!("../../../../../sql/queries/dead_letters/api_dead_letter.sql");
const API_DEAD_LETTER_MASKED: &str =
    include_str!("../../../../../sql/queries/dead_letters/api_dead_letter_masked.sql");
const API_REDRIVE_MESSAGE: &str =
    include_str!("../../../../../sql/queries/dead_letters/api_redrive_message.sql");
const API_JOBS: &str = include_str!("../../../../../sql/queries/deliveries/api_jobs.sql");
const API_JOB: &str = include_str!("../../../../../sql/queries/deliveries/api_job.sql");
const API_CANCEL_JOB: &str =
    include_str!("../../../../../sql/queries/deliveries/api_cancel_job.sql");
const API_REPLAYS: &str = include_str!("../../../../../sql/queries/archive/api_replays.sql");
const API_REPLAYS_MASKED: &str =
    include_str!("../../../../../sql/queries/archive/api_replays_masked.sql");
const API_CREATE_REPLAY: &str =
    include_str!("../../../../../sql/queries/archive/api_create_replay.sql");
const API_REPLAY: &str = include_str!("../../../../../sql/queries/archive/api_replay.sql");
const API_REPLAY_MASKED: &str =
    include_str!("../../../../../sql/queries/archive/api_replay_masked.sql");
const API_CANCEL_REPLAY: &str =
    include_str!("../../../../../sql/queries/archive/api_cancel_replay.sql");
const API_BLOCKED_KEYS: &str =
    include_str!("../../../../../sql/queries/deliveries/api_blocked_keys.sql");

pub const ALL: &[Operation] = &[
    get(
        "/api/v1/messages/{id}",
        "getMessage",
        "A message, and how far its deliveries are",
        shape::<shapes::Message>,
    )
    .takes(&[path("id", Kind::MessageId, "1024 or msg_1024")])
    .runs(API_MESSAGE)
    .masked(API_MESSAGE_MASKED),
    list(
        "/api/v1/messages/{id}/attempts",
        "listAttempts",
        "Its attempts that are on record, with what was answered",
        shape::<shapes::Attempt>,
    )
    .takes(&[path("id", Kind::MessageId, "1024 or msg_1024")])
    .runs(API_ATTEMPTS)
    .masked(API_ATTEMPTS_MASKED)
    // There is such a message.
    .checks(MESSAGE_STATUS)
    .at_most(100),
    get(
        "/api/v1/messages/{id}/explain",
        "explainMessage",
        "The schedules that its deliveries are on",
        shape::<shapes::Explanations>,
    )
    .takes(&[path("id", Kind::MessageId, "1024 or msg_1024")])
    .runs(API_EXPLAIN_MESSAGE),
    post(
        "/api/v1/messages/{id}/cancel",
        "cancelMessage",
        "Takes back what has not been sent",
        shape::<shapes::Cancelled>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::MessageId, "1024 or msg_1024")])
    .runs(API_CANCEL_MESSAGE),
    post("/api/v1/messages/{id}/replay", "replayMessage", "Sends it again", shape::<shapes::Id>)
        .may(OPERATING)
        .takes(&[path("id", Kind::MessageId, "1024 or msg_1024")])
        .runs(API_REPLAY_MESSAGE)
        .creates(),
    post(
        "/api/v1/messages/{id}/retry",
        "retryDelivery",
        "Makes due now what waits for its retry",
        shape::<shapes::Counted>,
    )
    .may(OPERATING)
    .takes(&[
        path("id", Kind::MessageId, "1024 or msg_1024"),
        field("endpoint_name", Kind::Text, "To this endpoint; without it, to all"),
    ])
    .runs(API_RETRY_DELIVERY),
    post(
        "/api/v1/messages/{id}/fail",
        "failDelivery",
        "Makes dead letters of what waits",
        shape::<shapes::Counted>,
    )
    .may(OPERATING)
    .takes(&[
        path("id", Kind::MessageId, "1024 or msg_1024"),
        field("endpoint_name", Kind::Text, "To this endpoint; without it, to all"),
        field("reason", Kind::Text, "Why, for who looks later").required(),
    ])
    .runs(API_FAIL_DELIVERY),
    post(
        "/api/v1/messages/{id}/skip",
        "skipDelivery",
        "Ends what waits without a dead letter",
        shape::<shapes::Counted>,
    )
    .may(OPERATING)
    .takes(&[
        path("id", Kind::MessageId, "1024 or msg_1024"),
        field("endpoint_name", Kind::Text, "To this endpoint; without it, to all"),
        field("reason", Kind::Text, "Why, for who looks later").required(),
    ])
    .runs(API_SKIP_DELIVERY),
    post(
        "/api/v1/messages/erase",
        "eraseMessages",
        "Erases what was in messages, for ever, by a job",
        shape::<shapes::Job>,
    )
    .takes(&[
        field("ordering_key", Kind::Text, "With this ordering key"),
        field("correlation_id", Kind::Uuid, "With this correlation id"),
        field("metadata", Kind::Object, "Whose metadata contain this"),
        field("event_type", Kind::Text, "Published with this event type"),
        field("from", Kind::Moment, "Sent at or after this moment"),
        field("to", Kind::Moment, "Sent before this moment"),
    ])
    .runs(API_ERASE_MESSAGES),
    list(
        "/api/v1/queue",
        "listQueue",
        "Deliveries that have not ended, the oldest first",
        shape::<shapes::Waiting>,
    )
    .takes(&[
        query("endpoint_name", Kind::Text, "To this endpoint, among the next 1,000 deliveries"),
        query("event_type", Kind::Text, "Of this event type, among the next 1,000 deliveries"),
    ])
    .runs(API_QUEUE)
    .checks(API_CHECK_NAMES),
    list(
        "/api/v1/archive",
        "listArchive",
        "Deliveries that have ended, the newest first",
        shape::<shapes::EndedDelivery>,
    )
    .takes(&[
        query("endpoint_name", Kind::Text, "To this endpoint, among the next 1,000 deliveries"),
        query("event_type", Kind::Text, "Of this event type, among the next 1,000 deliveries"),
    ])
    .runs(API_ARCHIVE)
    .checks(API_CHECK_NAMES),
    post(
        "/api/v1/deliveries/retry",
        "retryDeliveries",
        "Makes due now what waits for its retry, by a job",
        shape::<shapes::Job>,
    )
    .may(OPERATING)
    .takes(&[
        field("endpoint_name", Kind::Text, "To this endpoint"),
        field("from", Kind::Moment, "Of messages sent at or after this moment"),
        field("to", Kind::Moment, "Of messages sent before this moment"),
        field(
            "error_pattern",
            Kind::Text,
            "Whose last error matches this POSIX regular expression",
        ),
        field("event_type", Kind::Text, "Of messages published with this event type"),
        field("ordering_key", Kind::Text, "Of messages with this ordering key"),
        field("rate", Kind::Integer, "So many a second"),
    ])
    .runs(API_RETRY_DELIVERIES),
    post(
        "/api/v1/deliveries/fail",
        "failDeliveries",
        "Makes dead letters of what waits, by a job",
        shape::<shapes::Job>,
    )
    .may(OPERATING)
    .takes(&[
        field("reason", Kind::Text, "Why, for who looks later").required(),
        field("endpoint_name", Kind::Text, "To this endpoint"),
        field("from", Kind::Moment, "Of messages sent at or after this moment"),
        field("to", Kind::Moment, "Of messages sent before this moment"),
        field(
            "error_pattern",
            Kind::Text,
            "Whose last error matches this POSIX regular expression",
        ),
        field("event_type", Kind::Text, "Of messages published with this event type"),
        field("ordering_key", Kind::Text, "Of messages with this ordering key"),
        field("rate", Kind::Integer, "So many a second"),
    ])
    .runs(API_FAIL_DELIVERIES),
    post(
        "/api/v1/deliveries/skip",
        "skipDeliveries",
        "Ends what waits without dead letters, by a job",
        shape::<shapes::Job>,
    )
    .may(OPERATING)
    .takes(&[
        field("reason", Kind::Text, "Why, for who looks later").required(),
        field("endpoint_name", Kind::Text, "To this endpoint"),
        field("from", Kind::Moment, "Of messages sent at or after this moment"),
        field("to", Kind::Moment, "Of messages sent before this moment"),
        field(
            "error_pattern",
            Kind::Text,
            "Whose last error matches this POSIX regular expression",
        ),
        field("event_type", Kind::Text, "Of messages published with this event type"),
        field("ordering_key", Kind::Text, "Of messages with this ordering key"),
        field("rate", Kind::Integer, "So many a second"),
    ])
    .runs(API_SKIP_DELIVERIES),
    list(
        "/api/v1/dead-letters",
        "listDeadLetters",
        "Dead letters, the newest first",
        shape::<shapes::DeadLetter>,
    )
    .takes(&[query("endpoint_name", Kind::Text, "Of this endpoint")])
    .runs(API_DEAD_LETTERS)
    .checks(CHECK_ENDPOINT_NAME),
    get(
        "/api/v1/dead-letters/summary",
        "summarizeDeadLetters",
        "Dead letters by endpoint",
        shape::<shapes::DeadLetterSummaries>,
    )
    .runs(API_DLQ_SUMMARY),
    post(
        "/api/v1/dead-letters/redrive",
        "redrive",
        "Sends dead letters again, by a job",
        shape::<shapes::Job>,
    )
    .may(OPERATING)
    .takes(&[
        field("endpoint_name", Kind::Text, "Of this endpoint"),
        field("from", Kind::Moment, "That failed at or after this moment"),
        field("to", Kind::Moment, "That failed before this moment"),
        field(
            "error_pattern",
            Kind::Text,
            "Whose last error matches this POSIX regular expression",
        ),
        field("cause", Kind::Text, "Of this cause"),
        field("event_type", Kind::Text, "Of this event type"),
        field("rate", Kind::Integer, "So many a second"),
    ])
    .runs(API_REDRIVE),
    get(
        "/api/v1/dead-letters/{id}",
        "getDeadLetter",
        "A dead letter with what was in it",
        shape::<shapes::WholeDeadLetter>,
    )
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_DEAD_LETTER)
    .masked(API_DEAD_LETTER_MASKED),
    post(
        "/api/v1/dead-letters/{id}/redrive",
        "redriveDeadLetter",
        "Sends a dead letter again; answers the id of its message",
        shape::<shapes::Id>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_REDRIVE_MESSAGE),
    list("/api/v1/jobs", "listJobs", "Jobs, the newest first", shape::<shapes::WholeJob>)
        .runs(API_JOBS),
    get("/api/v1/jobs/{id}", "getJob", "A job and its progress", shape::<shapes::WholeJob>)
        .takes(&[path("id", Kind::Id, "Its id")])
        .runs(API_JOB),
    post(
        "/api/v1/jobs/{id}/cancel",
        "cancelJob",
        "Ends a job where it is",
        shape::<shapes::Cancelled>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_CANCEL_JOB),
    list("/api/v1/replays", "listReplays", "Replays, the newest first", shape::<shapes::Replay>)
        .runs(API_REPLAYS)
        .masked(API_REPLAYS_MASKED),
    post(
        "/api/v1/replays",
        "createReplay",
        "Sends again what was sent to an endpoint",
        shape::<shapes::Id>,
    )
    .may(OPERATING)
    .takes(&[
        field("endpoint_name", Kind::Text, "To whom").required(),
        field("from_ts", Kind::Moment, "From when").required(),
        field("to_ts", Kind::Moment, "Until when").required(),
        field("status", Kind::Text, "What ended so: completed, failed, expired, cancelled"),
        field("event_type", Kind::Text, "Of this event type"),
        field("filter", Kind::Object, "Whose payload contains this"),
        field("rate", Kind::Integer, "So many a second"),
    ])
    .runs(API_CREATE_REPLAY)
    .creates(),
    get("/api/v1/replays/{id}", "getReplay", "A replay and its progress", shape::<shapes::Replay>)
        .takes(&[path("id", Kind::Id, "Its id")])
        .runs(API_REPLAY)
        .masked(API_REPLAY_MASKED),
    post(
        "/api/v1/replays/{id}/cancel",
        "cancelReplay",
        "Ends a replay where it is",
        shape::<shapes::Cancelled>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_CANCEL_REPLAY),
    get(
        "/api/v1/blocked-keys",
        "listBlockedKeys",
        "Ordering keys with deliveries that wait behind another one",
        shape::<shapes::BlockedKeys>,
    )
    .takes(&[query("limit", Kind::Integer, "1 to 1,000")])
    .runs(API_BLOCKED_KEYS),
];
