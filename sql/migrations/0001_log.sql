-- The log, what is recorded of its deliveries, and who reads it.
--
-- Append-only tables are partitioned by month or day (message, done, partly_done, ended, attempt, tick) or
-- rotate through three slots (checkpoint, claim, heartbeat, rate_grant); neither is ever updated. The one
-- table on a message's road that is updated is postrider.deferred, and only deliveries that must wait get
-- there.

-- Installation ----------------------------------------------------------------------------------

-- One row: who migrated last. `fingerprint` tells two builds of one version apart.
create table postrider.installation (
    singleton boolean primary key default true check (singleton),
    product_version text not null,
    fingerprint text not null,
    installed_at timestamptz not null default now(),
    migrated_at timestamptz not null default now()
);

create table postrider.setting (
    name text primary key,
    value text not null,
    default_value text not null,
    kind text not null check (kind in ('integer', 'switch', 'choice', 'networks', 'name')),
    minimum bigint,
    maximum bigint,
    choices text[],
    unit text,
    description text not null
);

-- What a transport's config may hold: written from the transport's own table of options on every
-- migrate, read by validate_endpoint_config.
create table postrider.transport_option (
    protocol text not null,
    name text not null,
    kind text not null,
    required boolean not null,
    minimum bigint,
    maximum bigint,
    choices jsonb,
    default_value jsonb,
    secret boolean not null,
    description text not null,
    primary key (protocol, name)
);

create table postrider.event_log (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    event text not null,
    endpoint_name text,
    details jsonb not null default '{}'
);
create index event_log_at on postrider.event_log (at);

-- Destinations ----------------------------------------------------------------------------------

create table postrider.endpoints (
    id integer generated always as identity primary key,
    name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'),
    protocol text not null,
    config jsonb not null,
    retry_policy jsonb,
    enabled boolean not null default true,
    -- Takes messages and is not sent any: see pause_endpoint.
    paused boolean not null default false,
    -- The target that stands for "send to this endpoint".
    direct_subscription_id integer not null unique,
    -- Raised by every change, so that dispatchers see what they have to read again.
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

-- How each endpoint does, as all dispatchers together see it: its circuit breaker, and until when it asked
-- to be left alone. A row per endpoint from its creation on. Written when the state changes, and at most
-- every few seconds for the rest.
create table postrider.circuit (
    endpoint_id integer primary key references postrider.endpoints on delete cascade
        deferrable initially deferred,
    -- Raised by every change: dispatchers compare and set.
    version bigint not null default 1,
    state text not null default 'closed' check (state in ('closed', 'open', 'half_open')),
    -- Failed attempts in a row.
    failure_count integer not null default 0 check (failure_count >= 0),
    -- When the state began.
    since timestamptz not null default now(),
    -- Open: when a probe may be sent.
    probe_at timestamptz,
    -- Half-open: the dispatcher that sends the probe.
    probe_owner uuid,
    -- The endpoint asked to be left alone until then (Retry-After).
    paused_until timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    -- The first failure since the last success.
    failing_since timestamptz,
    check ((state = 'open') = (probe_at is not null)),
    check ((state = 'half_open') = (probe_owner is not null))
) with (fillfactor = 50);

-- Config values that no role but the owner may read (options marked secret).
create table postrider.endpoint_secret (
    endpoint_id integer primary key references postrider.endpoints on delete cascade
        deferrable initially deferred,
    config jsonb not null
);

create table postrider.event_types (
    id integer generated always as identity primary key,
    name text not null unique check (
        length(name) <= 200 and name ~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$'),
    -- What a subscription to it may be for: its name, `*`, and each of its beginnings with `.*`.
    patterns text[] not null,
    description text,
    schema jsonb check (jsonb_typeof(schema) in ('object', 'boolean')),
    -- With `_retry_policy`, if it has one.
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    created_at timestamptz not null default now()
);
create index event_types_retry_policy on postrider.event_types (name) where metadata ? '_retry_policy';

-- A subscription's id is the target that stands for it in messages. One that was ended stays, because
-- messages may still be on their way to it.
create table postrider.subscriptions (
    id integer generated always as identity primary key,
    endpoint_id integer not null references postrider.endpoints on delete cascade
        deferrable initially deferred,
    -- A name or a pattern; null: the endpoint's direct subscription.
    event_type text,
    filter jsonb check (jsonb_typeof(filter) = 'object'),
    retry_policy jsonb,
    enabled boolean not null default true,
    -- The endpoint's own `enabled`, kept by its trigger: a publish to a hundred then looks at this table
    -- only.
    is_endpoint_enabled boolean not null default true,
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    check (
        event_type is not null
        or filter is null and retry_policy is null and enabled and ended_at is null)
);
create index subscriptions_endpoint_id on postrider.subscriptions (endpoint_id);
create index subscriptions_event_type on postrider.subscriptions (event_type)
where event_type is not null and ended_at is null;

-- The log ---------------------------------------------------------------------------------------

-- CACHE 1 (the default) is part of the ordering guarantee: see "Order" in ARCHITECTURE.md.
create sequence postrider.message_sequence;

-- Set by dispatchers: the sequence number behind which the log is full (postrider.update_gate).
-- Sequences, because a check by every send must neither read a row that changes all the time nor
-- wait for anybody.
create sequence postrider.message_gate minvalue 0 start 0;

-- Drawn by every cancel_message before it looks where the message is: see "Cancelling" in
-- ARCHITECTURE.md.
create sequence postrider.cancel_sequence;

-- id = sequence number × 1024 + lane. lane = shard × 16 + priority, or shard × 16 + 15 for messages
-- with an ordering key, whatever their priority. Without a key, 64 sequence numbers in a row belong to
-- one shard, so that a reader of a shard finds them side by side.
create table postrider.message (
    id bigint not null,
    xid xid8 not null,
    created_at timestamptz not null default now(),
    scheduled_at timestamptz,
    expires_at timestamptz,
    correlation_id uuid,
    lane smallint not null,
    priority smallint not null,
    targets integer[] not null,
    -- Of a message for one endpoint; null when it was published.
    endpoint_name text,
    -- Of a published message.
    event_type text,
    ordering_key text,
    idempotency_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    -- Instead of a payload: bytes, and what they are.
    body bytea,
    content_type text,
    -- Of a replay: the message that it repeats.
    replay_of bigint,
    check ((payload is null) = (body is not null) and (body is null) = (content_type is null))
) partition by range (created_at);
create index message_id on postrider.message (id);
create index message_xid_id on postrider.message (xid, id);
create index message_endpoint_id on postrider.message (endpoint_name, id)
where endpoint_name is not null;
-- With more than ids: to find the deliveries of one endpoint, views walk over what was published.
create index message_published_id on postrider.message (id) include (targets, event_type)
where event_type is not null;
-- Priority 0 without a key, the bulk of most logs, is read by id in runs of 64. `id + 0`, so that a
-- reader of a lane can ask for this index and no other: between it and message_id a plan for unknown
-- parameters chooses by chance.
create index message_lane_id on postrider.message (lane, (id + 0)) where (lane & 15) <> 0;
-- For ranges of time (replays): a few bytes for each MiB of the log, summarized behind the writers, who
-- then hardly notice it.
create index message_created_at on postrider.message using brin (created_at)
with (autosummarize = on);
create table postrider.message_default partition of postrider.message default;

-- One row per flush and bucket of 4,096 sequence numbers: the low 12 bits of each sequence number
-- that finished, two bytes each, most significant first.
create table postrider.done (
    bucket bigint not null,
    at timestamptz not null,
    offsets bytea not null
) partition by range (at);
create index done_bucket on postrider.done (bucket);
create table postrider.done_default partition of postrider.done default;

-- Deliveries of messages with several targets, while other targets of them are not finished.
create table postrider.partly_done (
    message_id bigint not null,
    at timestamptz not null,
    targets integer[] not null
) partition by range (at);
create index partly_done_message_id on postrider.partly_done (message_id);
create table postrider.partly_done_default partition of postrider.partly_done default;

-- Deliveries that ended neither delivered nor as a dead letter that is still there.
create table postrider.ended (
    message_id bigint not null,
    target integer not null,
    endpoint_id integer not null,
    -- `failed`: its dead letter has been cleaned up.
    reason text not null check (reason in ('expired', 'cancelled', 'failed')),
    at timestamptz not null default now()
) partition by range (at);
create index ended_message_id on postrider.ended (message_id, target);
create table postrider.ended_default partition of postrider.ended default;

create table postrider.attempt (
    message_id bigint not null,
    target integer not null,
    endpoint_id integer not null,
    number integer not null,
    started_at timestamptz not null,
    duration_ms integer not null,
    outcome text not null,
    status integer,
    error text,
    correlation_id uuid,
    -- What was answered, where it is captured; as bytes, because it need not be text.
    response_headers jsonb,
    response_body bytea,
    -- Whether the body went on, or was not read to its end.
    response_truncated boolean,
    check ((response_body is null) = (response_headers is null)
        and (response_body is null) = (response_truncated is null))
) partition by range (started_at);
create index attempt_message_id on postrider.attempt (message_id, target);
create table postrider.attempt_default partition of postrider.attempt default;

-- A delivery that waits: for its retry, for a free place at its endpoint, for its successor after a
-- crash. The whole of what is known of it; the message stays where it is.
create table postrider.deferred (
    message_id bigint not null,
    target integer not null,
    endpoint_id integer not null,
    shard smallint not null,
    run_at timestamptz not null,
    retry_count integer not null default 0 check (retry_count >= 0),
    -- How often in a row its dispatcher went away while holding it.
    recovery_count integer not null default 0 check (recovery_count >= 0),
    message_created_at timestamptz not null,
    expires_at timestamptz,
    last_error text,
    ordering_key text,
    -- Waits for the delivery before it of its ordering key; run_at is then when it expires.
    is_blocked boolean not null default false check (not is_blocked or ordering_key is not null),
    primary key (message_id, target)
);
create index deferred_due on postrider.deferred (endpoint_id, shard, run_at, message_id);
create index deferred_key on postrider.deferred (ordering_key, endpoint_id, message_id)
where ordering_key is not null;
create index deferred_expires_at on postrider.deferred (expires_at)
where expires_at is not null;

-- Deliveries that were cancelled before a dispatcher had read them; gone when it has.
create table postrider.cancellation (
    message_id bigint not null,
    target integer not null,
    primary key (message_id, target)
);

-- Of messages that have not ended, and of ended ones while idempotency_window lasts.
create table postrider.idempotency_key (
    -- The direct subscription's id, or the negative id of the event type.
    destination integer not null,
    key text not null,
    message_id bigint not null,
    payload_hash bytea not null,
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    primary key (destination, key)
);
create index idempotency_key_message_id on postrider.idempotency_key (message_id);
create index idempotency_key_ended_at on postrider.idempotency_key (ended_at)
where ended_at is not null;

create table postrider.dead_letter (
    id bigint generated always as identity primary key,
    message_id bigint not null,
    target integer not null,
    endpoint_id integer not null,
    endpoint_name text not null,
    status text not null default 'failed' check (status in ('failed', 'redriven')),
    cause text not null,
    retry_count integer not null,
    last_error text,
    error_history jsonb not null default '[]',
    failed_at timestamptz not null default now(),
    redriven_at timestamptz,
    -- The role that put it back.
    redriven_by text,
    message_created_at timestamptz not null,
    correlation_id uuid,
    priority smallint not null,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    replay_of bigint,
    check ((payload is null) = (body is not null) and (body is null) = (content_type is null)),
    check ((status = 'redriven') = (redriven_at is not null))
);
create unique index dead_letter_failed on postrider.dead_letter (message_id, target)
where status = 'failed';
create index dead_letter_message on postrider.dead_letter (message_id, target, id);
create index dead_letter_endpoint on postrider.dead_letter (endpoint_id, id);
create index dead_letter_endpoint_name on postrider.dead_letter (endpoint_name, id);
create index dead_letter_summary on postrider.dead_letter (endpoint_name, status, failed_at);
-- From when on its retention counts.
create index dead_letter_retention on postrider.dead_letter ((coalesce(redriven_at, failed_at)));

-- A job that sends again what was sent before, in order of id: see advance_replays. Updated a few times
-- a second at most, and only while it runs.
create table postrider.replay (
    id bigint generated always as identity primary key,
    endpoint_id integer not null,
    endpoint_name text not null,
    from_ts timestamptz not null,
    to_ts timestamptz not null check (from_ts < to_ts),
    status text check (status in ('completed', 'failed', 'expired', 'cancelled')),
    event_type text,
    filter jsonb check (jsonb_typeof(filter) = 'object'),
    -- Messages per second; null: as fast as they are taken.
    rate integer check (rate between 1 and 100000),
    state text not null default 'running'
        check (state in ('running', 'completed', 'cancelled', 'failed')),
    -- All messages up to this id were looked at, and none above last_id will be.
    position bigint not null,
    last_id bigint not null,
    -- When the message at the position was created.
    position_at timestamptz not null,
    -- Up to when the rate is used up.
    paced_to timestamptz not null default clock_timestamp(),
    replayed_count bigint not null default 0,
    last_error text,
    created_by text not null default session_user,
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    check ((state = 'running') = (finished_at is null))
) with (fillfactor = 50);
create index replay_running on postrider.replay (id)
where state = 'running';

-- Who reads it ----------------------------------------------------------------------------------

create table postrider.dispatcher (
    id uuid primary key,
    host text not null,
    pid integer not null,
    version text not null,
    started_at timestamptz not null default clock_timestamp()
);

create table postrider.shard (
    shard smallint primary key check (shard between 0 and 63),
    owner uuid,
    -- The fencing token: every write of a dispatcher names it and is refused once it moved on.
    epoch bigint not null default 0
);

-- Rotated by time: see rotate_slots. The newest row of a shard is its state.
create sequence postrider.rotation_sequence;

create table postrider.checkpoint (
    slot smallint not null,
    seq bigint not null default nextval('postrider.rotation_sequence'),
    owner uuid not null,
    shards smallint[] not null,
    -- Everything older than this transaction id is finished in these shards.
    done_xmin xid8 not null,
    -- For each of these shards: the sequence number up to which it is read, minus the number of
    -- deliveries that are read and not finished times the number of shards (postrider.update_gate).
    backlogs bigint[] not null,
    state jsonb not null
) partition by list (slot);
create index checkpoint_seq on postrider.checkpoint (seq);
create table postrider.checkpoint_0 partition of postrider.checkpoint for values in (0);
create table postrider.checkpoint_1 partition of postrider.checkpoint for values in (1);
create table postrider.checkpoint_2 partition of postrider.checkpoint for values in (2);

-- Deferred deliveries that a dispatcher took in hand, written before they are attempted.
create table postrider.claim (
    slot smallint not null,
    seq bigint not null default nextval('postrider.rotation_sequence'),
    owner uuid not null,
    message_ids bigint[] not null,
    targets integer[] not null,
    retry_counts integer[] not null
) partition by list (slot);
create index claim_owner on postrider.claim (owner, seq);
create table postrider.claim_0 partition of postrider.claim for values in (0);
create table postrider.claim_1 partition of postrider.claim for values in (1);
create table postrider.claim_2 partition of postrider.claim for values in (2);

-- A dispatcher's lease lasts until lease_until of its newest heartbeat, by this database's clock.
create table postrider.heartbeat (
    slot smallint not null,
    seq bigint not null default nextval('postrider.rotation_sequence'),
    dispatcher uuid not null,
    at timestamptz not null,
    lease_until timestamptz not null,
    -- Every transaction with a higher id takes sequence numbers above sequence_floor only.
    xid xid8 not null,
    sequence_floor bigint not null,
    statistics jsonb not null
) partition by list (slot);
create index heartbeat_dispatcher on postrider.heartbeat (dispatcher, seq);
create index heartbeat_xid on postrider.heartbeat (xid);
create table postrider.heartbeat_0 partition of postrider.heartbeat for values in (0);
create table postrider.heartbeat_1 partition of postrider.heartbeat for values in (1);
create table postrider.heartbeat_2 partition of postrider.heartbeat for values in (2);

-- What was handed out of the endpoints' rate limits: requests up to used_until, of a steady flow at the
-- allowed rate, are given away. The newest row of an endpoint is its state.
create table postrider.rate_grant (
    slot smallint not null,
    seq bigint not null default nextval('postrider.rotation_sequence'),
    endpoint_id integer not null,
    used_until timestamptz not null
) partition by list (slot);
create index rate_grant_endpoint on postrider.rate_grant (endpoint_id, seq);
create table postrider.rate_grant_0 partition of postrider.rate_grant for values in (0);
create table postrider.rate_grant_1 partition of postrider.rate_grant for values in (1);
create table postrider.rate_grant_2 partition of postrider.rate_grant for values in (2);

-- Consumers -------------------------------------------------------------------------------------

-- The order in which every consumer with ordering `commit` reads the log: by tick, and in a tick by
-- message id. A tick holds what its snapshot sees and the snapshot of the tick before did not. It never
-- changes, and is kept as long as a message of it may be in the log. Made by postrider.tick, one after
-- the other, so that ids rise in the order of commit. They come from a sequence, which tells who has read
-- everything that there is nothing new, without a look at this table.
create sequence postrider.tick_sequence;
create table postrider.tick (
    id bigint not null,
    -- Not before any message in it was created.
    at timestamptz not null,
    -- The transaction that made it.
    xid xid8 not null,
    snapshot pg_snapshot not null,
    -- In it are: what transactions from base_xmax on wrote, as far as the snapshot sees them, and what
    -- stragglers wrote: transactions that were in progress at the tick before. Those without messages are
    -- left out.
    base_xmax xid8 not null,
    stragglers xid8[] not null,
    -- Messages of transactions from base_xmax on have ids between these two, those of stragglers up to
    -- the second.
    first_id bigint not null,
    last_id bigint not null,
    -- Bounds of created_at.
    from_at timestamptz not null,
    to_at timestamptz not null,
    -- Null: more than a tick looks at.
    message_count integer,
    -- Few messages in a wide range of ids: they are found by transaction and not by id.
    is_sparse boolean not null,
    -- Transactions with a higher id than xid take sequence numbers above this one.
    sequence_floor bigint not null
) partition by range (at);
create index tick_id on postrider.tick (id);
create table postrider.tick_default partition of postrider.tick default;

-- Bounds that hold for several ticks: of their own `at`, and of created_at of their messages. late_from_at
-- and sparse_from_at are infinity where no tick has stragglers or is sparse.
create type postrider.tick_span as (
    first_at timestamptz,
    last_at timestamptz,
    from_at timestamptz,
    to_at timestamptz,
    late_from_at timestamptz,
    sparse_from_at timestamptz
);

create table postrider.consumer (
    id integer generated always as identity primary key,
    name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,49}$'),
    ordering text not null check (ordering in ('commit', 'transaction')),
    -- Names and patterns of event types; null: everything in the log, whatever was sent to endpoints too.
    event_types text[] check (cardinality(event_types) > 0),
    -- The same, as patterns of LIKE.
    type_patterns text[],
    filter jsonb check (jsonb_typeof(filter) = 'object'),
    partition_count smallint not null check (partition_count between 1 and 64),
    -- Where it began. What start_snapshot sees is not read if its id is below start_id; what was created
    -- before start_at is not read.
    start_snapshot pg_snapshot,
    start_id bigint,
    start_at timestamptz,
    created_at timestamptz not null default now(),
    check ((event_types is null) = (type_patterns is null)),
    check ((start_snapshot is null) = (start_id is null))
);

-- How far each partition of a consumer is read: up to and with this message. The newest row is its state;
-- older ones go (forget_consumer_rows).
create table postrider.consumer_position (
    seq bigint not null default nextval('postrider.rotation_sequence'),
    consumer_id integer not null,
    partition smallint not null,
    -- Ordering `commit`.
    tick bigint,
    -- Ordering `transaction`.
    xid xid8,
    message_id bigint not null,
    -- Another one since it was created or reset; what is counted is counted from there.
    generation bigint not null default nextval('postrider.rotation_sequence'),
    -- How many messages have been acknowledged.
    message_count bigint not null,
    -- Up to which count messages are suspected of making the consumer fail, and handed out one by one.
    suspect_count bigint not null default 0,
    fetched_at timestamptz,
    acknowledged_at timestamptz,
    check ((tick is null) <> (xid is null))
);
create index consumer_position_newest on postrider.consumer_position (consumer_id, partition, seq);

-- Batches that were begun: committed before a batch is fetched, so that one whose process dies counts,
-- too. The newest row of a partition came to nothing, or is under way, if it has the position's generation
-- and message_count: positions move without an acknowledge, too.
create table postrider.consumer_attempt (
    seq bigint not null default nextval('postrider.rotation_sequence'),
    consumer_id integer not null,
    partition smallint not null,
    generation bigint not null,
    -- Messages acknowledged before it, and how many it asked for.
    message_count bigint not null,
    batch_size integer not null,
    -- How often the next message has failed by itself before, and up to which count messages are suspected
    -- by now.
    failure_count integer not null,
    suspect_count bigint not null,
    at timestamptz not null default clock_timestamp()
);
create index consumer_attempt_newest on postrider.consumer_attempt (consumer_id, partition, seq);

-- Who reads which partitions of a consumer. The newest row of a member is its lease.
create table postrider.consumer_lease (
    seq bigint not null default nextval('postrider.rotation_sequence'),
    consumer_id integer not null,
    member uuid not null,
    -- What it may read until then. Without any: it waits for one. Who leaves has a lease that has run out.
    partitions smallint[] not null,
    lease_until timestamptz not null,
    joined_at timestamptz not null
);
create index consumer_lease_newest on postrider.consumer_lease (consumer_id, member, seq);

-- A consumer's own dead letters: messages that it could not process and has passed, whole.
create table postrider.parked_message (
    id bigint generated always as identity primary key,
    consumer_id integer not null references postrider.consumer on delete cascade,
    message_id bigint not null,
    xid xid8 not null,
    tick bigint,
    partition smallint not null,
    attempt_count integer not null check (attempt_count > 0),
    last_error text,
    parked_at timestamptz not null default now(),
    created_at timestamptz not null,
    scheduled_at timestamptz,
    correlation_id uuid,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    unique (consumer_id, message_id),
    check ((payload is null) = (body is not null) and (body is null) = (content_type is null))
);
create index parked_message_partition on postrider.parked_message (consumer_id, partition);

-- The number of shards is part of every message's id and cannot be changed later, so the function is
-- a constant that the planner folds. `postrider migrate --shards` hands it over in the setting
-- postrider.shard_count.
do $do$
declare
    requested text := nullif(current_setting('postrider.shard_count', true), '');
    shard_count integer := coalesce(requested, '16');
begin
    if shard_count not between 1 and 64 then
        raise exception 'the number of shards must be between 1 and 64, got %', shard_count
            using errcode = '22023';
    end if;
    execute format(
        $sql$
        create function postrider.shard_count()
        returns integer
        language sql
        immutable
        parallel safe
        as 'select %s';
        $sql$,
        shard_count);
    insert into postrider.shard (shard)
    select s.shard
    from generate_series(0, shard_count - 1) s (shard);
end;
$do$;
