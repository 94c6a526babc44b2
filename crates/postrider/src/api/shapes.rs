//! What is answered: shapes for the document. They are filled by SQL, and a test holds each against what comes.
#![expect(dead_code, reason = "they are read as schemas only")]

use utoipa::ToSchema;

/// What was made.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Id {
    id: i64,
}

/// Whether that changed anything.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    is_changed: bool,
}

/// It is valid: what is not is refused.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Valid {
    is_valid: bool,
}

/// Whether there was something to cancel.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    is_cancelled: bool,
}

/// Whether there was something to drop.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    is_dropped: bool,
}

/// Whether there was something to end.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    is_ended: bool,
}

/// Whether it was reset.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    is_reset: bool,
}

/// Whether it was resolved.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    is_resolved: bool,
}

/// Whether there was an active one.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    is_revoked: bool,
}

/// How many deliveries were told.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    count: i64,
}

/// Its name.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    name: String,
}

/// What was left to dispatchers.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Null: there was nothing to do.
    #[schema(required)]
    job_id: Option<i64>,
    /// A count up to a bound.
    estimate: i64,
    /// Whether there may be more than the estimate.
    has_more: bool,
}

/// How many were paused.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Paused {
    paused_count: i64,
    /// Endpoints that somebody has locked: ask again.
    #[schema(required)]
    held: Option<Vec<String>>,
}

/// How many were resumed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    resumed_count: i64,
    /// Endpoints that somebody has locked: ask again.
    #[schema(required)]
    held: Option<Vec<String>>,
}

/// Where messages go. Secrets are written only.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    id: i64,
    name: String,
    protocol: String,
    enabled: bool,
    paused: bool,
    /// Viewers see it with what may be secret masked.
    config: serde_json::Value,
    /// Which secrets are set, since when.
    #[schema(required, nullable)]
    secrets_set_at: Option<serde_json::Value>,
    #[schema(required, nullable)]
    retry_policy: Option<serde_json::Value>,
    /// Rises with each change.
    version: i64,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(format = "date-time")]
    updated_at: String,
}

/// An endpoint after a change.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointVersion {
    id: i64,
    name: String,
    version: i64,
}

/// How an endpoint does.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointHealth {
    endpoint_name: String,
    protocol: String,
    enabled: bool,
    circuit_state: String,
    circuit_failure_count: i64,
    #[schema(required, format = "date-time")]
    last_success_at: Option<String>,
    #[schema(required, format = "date-time")]
    last_failure_at: Option<String>,
    #[schema(required)]
    pending_messages: Option<i64>,
    #[schema(required, format = "date-time")]
    oldest_pending_message: Option<String>,
    paused: bool,
    #[schema(required, format = "date-time")]
    paused_until: Option<String>,
    #[schema(required, format = "date-time")]
    probe_at: Option<String>,
    #[schema(required, format = "date-time")]
    failing_since: Option<String>,
}

/// The keys that sign what is sent to an endpoint, without what is secret.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningKeys {
    items: Vec<SigningKey>,
}

/// A key that signs.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningKey {
    id: String,
    kind: String,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    retires_at: Option<String>,
    #[schema(required)]
    public_key: Option<String>,
    can_be_revealed: bool,
}

/// The id of a key.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyId {
    id: String,
}

/// A key. It is secret.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Key {
    key: String,
}

/// When a key signs for the last time.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    #[schema(format = "date-time")]
    retires_at: String,
}

/// A message, and how far its deliveries are.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    id: i64,
    #[schema(required)]
    event_type: Option<String>,
    #[schema(required)]
    priority: Option<i64>,
    #[schema(required)]
    ordering_key: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(required, format = "date-time")]
    scheduled_at: Option<String>,
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    #[schema(required, format = "date-time")]
    created_at: Option<String>,
    #[schema(required)]
    replay_of: Option<i64>,
    #[schema(nullable)]
    headers: Option<serde_json::Value>,
    #[schema(nullable)]
    metadata: Option<serde_json::Value>,
    #[schema(nullable)]
    payload: Option<serde_json::Value>,
    /// Base64, of a message that is no JSON.
    body: Option<String>,
    content_type: Option<String>,
    /// The first 1,000.
    deliveries: Vec<DeliveryStatus>,
}

/// How far a delivery is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryStatus {
    #[schema(required)]
    endpoint_name: Option<String>,
    status: String,
    #[schema(required)]
    retry_count: Option<i64>,
    #[schema(required, format = "date-time")]
    next_retry_at: Option<String>,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(required, format = "date-time")]
    completed_at: Option<String>,
}

/// An attempt that is on record.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    #[schema(required)]
    endpoint_name: Option<String>,
    target: i64,
    attempt: i64,
    #[schema(format = "date-time")]
    started_at: String,
    duration_ms: i64,
    outcome: String,
    #[schema(required)]
    status: Option<i64>,
    #[schema(required)]
    error: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    response_content_type: Option<String>,
    #[schema(nullable)]
    response_headers: Option<serde_json::Value>,
    /// Base64, of what came.
    response_body: Option<String>,
    #[schema(required)]
    response_truncated: Option<bool>,
}

/// The schedules that the deliveries of a message are on.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanations {
    items: Vec<Explanation>,
}

/// An attempt of a delivery: made, or to come.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    endpoint_name: String,
    rule: String,
    policy: serde_json::Value,
    attempt: i64,
    status: String,
    #[schema(required)]
    wait_ms: Option<i64>,
    #[schema(required, format = "date-time")]
    expected_at: Option<String>,
}

/// A delivery that has not ended.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    id: i64,
    #[schema(required)]
    endpoint_name: Option<String>,
    #[schema(required)]
    event_type: Option<String>,
    status: String,
    #[schema(required)]
    priority: Option<i64>,
    #[schema(required)]
    ordering_key: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(required, format = "date-time")]
    scheduled_at: Option<String>,
    #[schema(required, format = "date-time")]
    next_retry_at: Option<String>,
    retry_count: i64,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(required, format = "date-time")]
    created_at: Option<String>,
}

/// A delivery that has ended.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndedDelivery {
    id: i64,
    #[schema(required)]
    endpoint_name: Option<String>,
    #[schema(required)]
    event_type: Option<String>,
    #[schema(required)]
    status: Option<String>,
    #[schema(required)]
    priority: Option<i64>,
    #[schema(required)]
    ordering_key: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(required)]
    retry_count: Option<i64>,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    ended_at: Option<String>,
    #[schema(required)]
    replay_of: Option<i64>,
}

/// A delivery that has failed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetter {
    id: i64,
    endpoint_name: String,
    #[schema(required)]
    event_type: Option<String>,
    message_id: i64,
    priority: i64,
    status: String,
    cause: String,
    retry_count: i64,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(format = "date-time")]
    failed_at: String,
    #[schema(required, format = "date-time")]
    redriven_at: Option<String>,
    #[schema(required)]
    redriven_by: Option<String>,
    #[schema(format = "date-time")]
    message_created_at: String,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
}

/// A dead letter with what was in it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeDeadLetter {
    id: i64,
    endpoint_name: String,
    #[schema(required)]
    event_type: Option<String>,
    message_id: i64,
    priority: i64,
    status: String,
    cause: String,
    retry_count: i64,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(format = "date-time")]
    failed_at: String,
    #[schema(required, format = "date-time")]
    redriven_at: Option<String>,
    #[schema(required)]
    redriven_by: Option<String>,
    #[schema(format = "date-time")]
    message_created_at: String,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    ordering_key: Option<String>,
    #[schema(nullable)]
    headers: Option<serde_json::Value>,
    #[schema(nullable)]
    metadata: Option<serde_json::Value>,
    #[schema(nullable)]
    payload: Option<serde_json::Value>,
    /// Base64, of a message that is no JSON.
    body: Option<String>,
    content_type: Option<String>,
    #[schema(nullable)]
    error_history: Option<serde_json::Value>,
}

/// Dead letters by endpoint.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterSummaries {
    items: Vec<DeadLetterSummary>,
}

/// Dead letters of an endpoint.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterSummary {
    endpoint_name: String,
    failed_count: i64,
    redriven_count: i64,
    #[schema(required, format = "date-time")]
    oldest_failed_at: Option<String>,
    #[schema(required, format = "date-time")]
    newest_failed_at: Option<String>,
}

/// What a verb over many rows has left to dispatchers.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeJob {
    id: i64,
    kind: String,
    #[schema(required)]
    endpoint_name: Option<String>,
    #[schema(required, nullable)]
    filter: Option<serde_json::Value>,
    #[schema(required)]
    rate: Option<i64>,
    state: String,
    done_count: i64,
    #[schema(required)]
    held_count: Option<i64>,
    estimate: i64,
    has_more: bool,
    created_by: String,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    finished_at: Option<String>,
    #[schema(required)]
    last_error: Option<String>,
}

/// Messages of a time that are sent again.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    id: i64,
    endpoint_name: String,
    state: String,
    #[schema(format = "date-time")]
    from_ts: String,
    #[schema(format = "date-time")]
    to_ts: String,
    #[schema(required)]
    status: Option<String>,
    #[schema(required)]
    event_type: Option<String>,
    /// Null for viewers.
    #[schema(required, nullable)]
    filter: Option<serde_json::Value>,
    #[schema(required)]
    rate: Option<i64>,
    replayed_count: i64,
    /// 0 to 1.
    progress: f64,
    created_by: String,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    finished_at: Option<String>,
    #[schema(required)]
    last_error: Option<String>,
}

/// A type of events.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventType {
    id: i64,
    name: String,
    #[schema(required)]
    description: Option<String>,
    #[schema(required, nullable)]
    schema: Option<serde_json::Value>,
    #[schema(required, nullable)]
    metadata: Option<serde_json::Value>,
    #[schema(format = "date-time")]
    created_at: String,
}

/// What was changed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Altered {
    id: i64,
    name: String,
}

/// What an endpoint gets of what is published.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscription {
    id: i64,
    endpoint_name: String,
    event_type: String,
    #[schema(required, nullable)]
    filter: Option<serde_json::Value>,
    #[schema(required, nullable)]
    retry_policy: Option<serde_json::Value>,
    enabled: bool,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    ended_at: Option<String>,
}

/// A setting, and its bounds.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    name: String,
    value: String,
    default: String,
    kind: String,
    #[schema(required)]
    minimum: Option<i64>,
    #[schema(required)]
    maximum: Option<i64>,
    #[schema(required)]
    choices: Option<Vec<String>>,
    #[schema(required)]
    unit: Option<String>,
    description: String,
}

/// The value as it is stored.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingValue {
    value: String,
}

/// A token, without its secret.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    id: i64,
    name: String,
    role: String,
    status: String,
    #[schema(format = "date-time")]
    created_at: String,
    created_by: String,
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    #[schema(required, format = "date-time")]
    last_used_at: Option<String>,
    #[schema(required, format = "date-time")]
    revoked_at: Option<String>,
}

/// A new token. It is shown this once.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    id: i64,
    token: String,
}

/// A change, and who made it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    id: i64,
    #[schema(format = "date-time")]
    at: String,
    event: String,
    #[schema(required)]
    endpoint_name: Option<String>,
    details: serde_json::Value,
}

/// How the parts of the service do.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Components {
    items: Vec<Component>,
}

/// How a part of the service does.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    component: String,
    status: String,
    #[schema(required)]
    details: Option<String>,
    #[schema(format = "date-time")]
    checked_at: String,
}

/// Figures of the database, as in /metrics.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    items: Vec<Figure>,
}

/// A figure.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    name: String,
    #[schema(required)]
    value: Option<f64>,
    #[schema(required, nullable)]
    labels: Option<serde_json::Value>,
    r#type: String,
}

/// Processes that deliver.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dispatchers {
    items: Vec<Dispatcher>,
}

/// A process that delivers.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dispatcher {
    #[schema(format = "uuid")]
    id: String,
    host: String,
    pid: i64,
    version: String,
    shards: Vec<i64>,
    #[schema(format = "date-time")]
    started_at: String,
    #[schema(format = "date-time")]
    heartbeat_at: String,
    #[schema(required)]
    messages_processed: Option<i64>,
    #[schema(required)]
    in_flight: Option<i64>,
    #[schema(required)]
    error_count: Option<i64>,
    #[schema(required)]
    last_error: Option<String>,
    #[schema(required, format = "duration")]
    clock_offset: Option<String>,
}

/// Ordering keys with deliveries that wait behind another one.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedKeys {
    items: Vec<BlockedKey>,
    has_more: bool,
}

/// An ordering key at an endpoint.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedKey {
    ordering_key: String,
    #[schema(required)]
    endpoint_name: Option<String>,
    /// 1,000 at most.
    blocked_count: i64,
    #[schema(required)]
    blocking_message_id: Option<i64>,
    #[schema(required, format = "date-time")]
    blocked_since: Option<String>,
    #[schema(required)]
    age_seconds: Option<f64>,
    #[schema(required)]
    cause: Option<String>,
    #[schema(required)]
    last_error: Option<String>,
}

/// A named reader of the log.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    id: i64,
    name: String,
    ordering: String,
    #[schema(required)]
    event_types: Option<Vec<String>>,
    #[schema(required, nullable)]
    filter: Option<serde_json::Value>,
    partition_count: i64,
    channel: String,
    #[schema(format = "date-time")]
    created_at: String,
}

/// A named reader of the log, and how far it is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeConsumer {
    id: i64,
    name: String,
    ordering: String,
    #[schema(required)]
    event_types: Option<Vec<String>>,
    #[schema(required, nullable)]
    filter: Option<serde_json::Value>,
    partition_count: i64,
    channel: String,
    #[schema(format = "date-time")]
    created_at: String,
    partitions: Vec<ConsumerPartition>,
}

/// How far a part of a consumer is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerPartition {
    partition: i64,
    #[schema(required)]
    position: Option<i64>,
    #[schema(required)]
    tick: Option<i64>,
    #[schema(required)]
    message_count: Option<i64>,
    #[schema(required)]
    lag_messages: Option<i64>,
    #[schema(required)]
    lag_seconds: Option<f64>,
    #[schema(required, format = "date-time")]
    last_fetched_at: Option<String>,
    #[schema(required, format = "date-time")]
    last_acknowledged_at: Option<String>,
    #[schema(required)]
    holder_pid: Option<i64>,
    #[schema(required, format = "date-time")]
    holder_since: Option<String>,
    #[schema(required)]
    holder_application: Option<String>,
    #[schema(required, format = "uuid")]
    leased_to: Option<String>,
    #[schema(required, format = "date-time")]
    lease_until: Option<String>,
    #[schema(required)]
    parked_count: Option<i64>,
    #[schema(required, format = "date-time")]
    waits_since: Option<String>,
    #[schema(required)]
    waits_for_pid: Option<i64>,
    #[schema(required)]
    waits_for_gid: Option<String>,
    #[schema(required, nullable)]
    waits_for_age: Option<serde_json::Value>,
    #[schema(required)]
    waits_for_query: Option<String>,
}

/// A message that a consumer has passed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkedMessage {
    id: i64,
    consumer_name: String,
    position: i64,
    message_id: i64,
    transaction_id: serde_json::Value,
    #[schema(required)]
    tick: Option<i64>,
    partition: i64,
    #[schema(required)]
    message_type: Option<String>,
    #[schema(required)]
    ordering_key: Option<String>,
    attempt_count: i64,
    last_error: Option<String>,
    #[schema(format = "date-time")]
    parked_at: String,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
}

/// A parked message with what was in it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeParkedMessage {
    id: i64,
    consumer_name: String,
    position: i64,
    message_id: i64,
    transaction_id: serde_json::Value,
    #[schema(required)]
    tick: Option<i64>,
    partition: i64,
    #[schema(required)]
    message_type: Option<String>,
    #[schema(required)]
    ordering_key: Option<String>,
    attempt_count: i64,
    last_error: Option<String>,
    #[schema(format = "date-time")]
    parked_at: String,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(nullable)]
    headers: Option<serde_json::Value>,
    #[schema(nullable)]
    metadata: Option<serde_json::Value>,
    #[schema(nullable)]
    data: Option<serde_json::Value>,
    /// Base64, of a message that is no JSON.
    body: Option<String>,
    content_type: Option<String>,
}

/// What executions of an action have in common.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Action {
    name: String,
    #[schema(required, format = "duration")]
    ttl: Option<String>,
    #[schema(required, format = "duration")]
    timeout: Option<String>,
    #[schema(required)]
    max_retries: Option<i64>,
    #[schema(required)]
    priority: Option<i64>,
    #[schema(required)]
    concurrency: Option<i64>,
    #[schema(required)]
    description: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
}

/// A worker, and what it has.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    id: i64,
    name: String,
    pool: String,
    status: String,
    health: String,
    carrier: String,
    capacity: i64,
    scheduled_count: i64,
    running_count: i64,
    failure_streak: i64,
    failure_rate: f64,
    queue_depth: i64,
    labels: serde_json::Value,
    #[schema(required)]
    version: Option<String>,
    #[schema(required)]
    host: Option<String>,
    #[schema(required)]
    last_error: Option<String>,
    epoch: i64,
    #[schema(required, format = "date-time")]
    cordoned_at: Option<String>,
    #[schema(required, format = "date-time")]
    registered_at: Option<String>,
    #[schema(required, format = "date-time")]
    heartbeat_at: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
}

/// What was asked of workers, and what became of it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    id: i64,
    action: String,
    status: String,
    #[schema(required)]
    addressed_to: Option<String>,
    #[schema(required)]
    pool: Option<String>,
    #[schema(required)]
    worker: Option<String>,
    priority: i64,
    #[schema(format = "duration")]
    ttl: String,
    #[schema(format = "duration")]
    timeout: String,
    #[schema(required)]
    attempt: Option<i64>,
    max_retries: i64,
    #[schema(required)]
    retry_reason: Option<String>,
    #[schema(required)]
    original_execution: Option<i64>,
    #[schema(required)]
    reason: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    requested_at: Option<String>,
    #[schema(required, format = "date-time")]
    scheduled_at: Option<String>,
    #[schema(required, format = "date-time")]
    started_at: Option<String>,
    #[schema(required, format = "date-time")]
    ended_at: Option<String>,
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    #[schema(required, format = "date-time")]
    deadline_at: Option<String>,
    #[schema(required, format = "date-time")]
    retry_at: Option<String>,
    #[schema(required, format = "date-time")]
    cancel_requested_at: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(required)]
    idempotency_key: Option<String>,
}

/// An execution with what was asked for and answered.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeExecution {
    id: i64,
    action: String,
    status: String,
    #[schema(required)]
    addressed_to: Option<String>,
    #[schema(required)]
    pool: Option<String>,
    #[schema(required)]
    worker: Option<String>,
    priority: i64,
    #[schema(format = "duration")]
    ttl: String,
    #[schema(format = "duration")]
    timeout: String,
    #[schema(required)]
    attempt: Option<i64>,
    max_retries: i64,
    #[schema(required)]
    retry_reason: Option<String>,
    #[schema(required)]
    original_execution: Option<i64>,
    #[schema(required)]
    reason: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(required, format = "date-time")]
    requested_at: Option<String>,
    #[schema(required, format = "date-time")]
    scheduled_at: Option<String>,
    #[schema(required, format = "date-time")]
    started_at: Option<String>,
    #[schema(required, format = "date-time")]
    ended_at: Option<String>,
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    #[schema(required, format = "date-time")]
    deadline_at: Option<String>,
    #[schema(required, format = "date-time")]
    retry_at: Option<String>,
    #[schema(required, format = "date-time")]
    cancel_requested_at: Option<String>,
    #[schema(required, format = "uuid")]
    correlation_id: Option<String>,
    #[schema(required)]
    idempotency_key: Option<String>,
    #[schema(nullable)]
    parameters: Option<serde_json::Value>,
    #[schema(nullable)]
    result: Option<serde_json::Value>,
    #[schema(nullable)]
    error: Option<serde_json::Value>,
    attempts: Vec<ExecutionAttempt>,
    dead_letters: Vec<serde_json::Value>,
}

/// How an attempt of an execution has ended.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionAttempt {
    attempt: i64,
    status: String,
    #[schema(required)]
    reason: Option<String>,
    #[schema(required)]
    worker: Option<String>,
    #[schema(required, format = "date-time")]
    requested_at: Option<String>,
    #[schema(required, format = "date-time")]
    scheduled_at: Option<String>,
    #[schema(required, format = "date-time")]
    started_at: Option<String>,
    #[schema(required, format = "date-time")]
    ended_at: Option<String>,
    #[schema(nullable)]
    error: Option<serde_json::Value>,
}

/// Its status.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionStatus {
    status: String,
}
