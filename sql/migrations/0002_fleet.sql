-- Worker fleets: workers, what they are to execute, and what became of it.
--
-- What was asked for (execution) and how it ended (execution_end) is appended and never updated. Only what
-- has not ended has a row that is updated, a narrow one (live_execution), which goes when it ends.

-- Each transition of an execution draws its fence from here. Who does not hold the last one is refused.
create sequence postrider.execution_fence;

-- What the executions of an action have in common. An action without a row has the defaults, no limit.
create table postrider.action (
    name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'),
    ttl_ms bigint check (ttl_ms >= 1000),
    timeout_ms bigint check (timeout_ms >= 1),
    max_retries integer check (max_retries between 0 and 1000),
    priority smallint check (priority between 0 and 10),
    -- How many executions of it may be scheduled or running at a time; null: any number.
    concurrency integer check (concurrency between 1 and 10000),
    description text,
    created_at timestamptz not null default now()
);

create table postrider.worker (
    id integer generated always as identity primary key,
    name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'),
    pool text not null check (pool ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'),
    labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
    carrier text not null check (carrier in ('postgres', 'rabbitmq')),
    -- inactive: it has left, was lost, or has never been there: something was addressed to its name.
    status text not null check (status in ('active', 'inactive', 'error')),
    cordoned_at timestamptz,
    capacity integer not null check (capacity between 1 and 10000),
    -- Rises whenever a process takes the name, and when its process is taken for lost.
    epoch integer not null default 0,
    version text,
    host text,
    last_error text,
    created_at timestamptz not null default now(),
    registered_at timestamptz,
    heartbeat_at timestamptz,
    -- What the last probe saw.
    health text not null default 'healthy' check (health in ('healthy', 'degraded', 'unhealthy')),
    failure_streak integer not null default 0,
    failure_rate real not null default 0,
    queue_depth integer not null default 0
) with (fillfactor = 50);
create index worker_pool on postrider.worker (pool);

create table postrider.execution (
    id bigint generated always as identity primary key,
    action text not null,
    parameters jsonb not null,
    -- To whom it is addressed; it goes to anyone in the pool otherwise.
    worker_id integer,
    pool text,
    priority smallint not null,
    ttl_ms bigint not null,
    timeout_ms bigint not null,
    max_retries integer not null,
    idempotency_key text,
    correlation_id uuid,
    -- What this one repeats, made by retry_execution.
    original_execution bigint,
    created_at timestamptz not null default clock_timestamp(),
    check (worker_id is not null or pool is not null)
);
create unique index execution_idempotency_key on postrider.execution (idempotency_key)
where idempotency_key is not null;

-- Executions that have not ended belong to generations, by when they were submitted. When hardly any of an old
-- one is left, those move to the present one and the old one is given up, with all dead entries of indexes
-- that came of it: nobody looks there any more, however long vacuum is kept from removing them.
create table postrider.execution_generation (
    id integer primary key,
    -- What was the last execution's id when it began, and up to which one it is meant to go.
    begins_after bigint not null,
    ends_with bigint not null,
    created_at timestamptz not null default clock_timestamp(),
    -- The present one only once others can see it.
    xid xid8 not null default pg_current_xact_id()
);
-- The present one. A sequence, for everybody sees its last value at once, however old a snapshot is.
create sequence postrider.present_generation as integer;
select setval('postrider.present_generation', 1);
insert into postrider.execution_generation (id, begins_after, ends_with) values (1, 0, 2000);
-- No lower one is there: where a look for them begins, or it would walk over all that were given up since vacuum
-- could last remove anything. The sequence is newer than the snapshot of who reads it: a look may miss what
-- moves at that very moment. Who counts on seeing everything reads the table.
create sequence postrider.oldest_generation as integer;
select setval('postrider.oldest_generation', 1);
create view postrider.live_generation as
select g.id
from postrider.execution_generation g
where g.id >= (select s.last_value from postrider.oldest_generation s);

-- Executions that have not ended.
create table postrider.live_execution (
    id bigint primary key,
    generation integer not null,
    action text not null,
    -- Whose it is to take it: worker:ID or pool:NAME.
    queue text not null,
    pool text,
    status text not null check (status in ('requested', 'scheduled', 'running')),
    -- A retry that waits for its time. It is requested, and nobody takes it.
    is_delayed boolean not null default false,
    priority smallint not null,
    -- The attempt that comes next or is under way, from 1.
    attempt integer not null default 1,
    max_retries integer not null,
    retry_reason text,
    fence bigint not null default nextval('postrider.execution_fence'),
    -- Who has it, from scheduled on.
    worker_id integer,
    worker_epoch integer,
    carrier text,
    -- A broker has confirmed its message.
    is_published boolean not null default false,
    ttl_ms bigint not null,
    timeout_ms bigint not null,
    requested_at timestamptz not null,
    scheduled_at timestamptz,
    started_at timestamptz,
    -- By when it must have been started, and once it has been, by when it must have ended.
    expires_at timestamptz not null,
    deadline_at timestamptz,
    cancel_requested_at timestamptz,
    -- When check_executions looks at it.
    due_at timestamptz check (due_at is not null),
    check ((worker_id is null) = (status = 'requested')),
    check ((scheduled_at is null) = (status = 'requested')),
    check ((started_at is null) = (status <> 'running'))
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);
-- Where many rows may be, the generation comes first. Each has a condition that only queries meet that are to
-- use it: a plan that is made when the table is empty may take any index that fits, and lasts.
create index live_execution_waiting
on postrider.live_execution (generation, queue, action, priority desc, id)
where status = 'requested' and not is_delayed;
-- What goes to its pool should its worker not be there.
create index live_execution_fallback on postrider.live_execution (generation, queue)
where queue like 'worker:%' and pool is not null and status = 'requested' and not is_delayed;
create index live_execution_worker
on postrider.live_execution (generation, worker_id, status, worker_epoch)
where worker_id is not null;
create index live_execution_admitted on postrider.live_execution (generation, action)
where scheduled_at is not null;
create index live_execution_due on postrider.live_execution (generation, due_at)
where due_at is not null;

-- How attempts ended. The final row of an execution is how it ended.
create table postrider.execution_end (
    id bigint generated always as identity primary key,
    execution_id bigint not null,
    xid xid8 not null default pg_current_xact_id(),
    attempt integer not null,
    is_final boolean not null,
    -- released: given back without having used up the attempt.
    status text not null check (
        status in ('completed', 'failed', 'timeout', 'cancelled', 'released')),
    reason text,
    -- Why there was this attempt.
    retry_reason text,
    worker_id integer,
    action text not null,
    pool text,
    requested_at timestamptz not null,
    scheduled_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz not null default clock_timestamp(),
    result jsonb,
    error jsonb,
    check (is_final or status in ('failed', 'released'))
);
create unique index execution_end_final on postrider.execution_end (execution_id)
where is_final;
create index execution_end_earlier on postrider.execution_end (execution_id)
where not is_final;
-- Those that people look for among many that completed.
create index execution_end_unsuccessful on postrider.execution_end (status, execution_id)
where is_final and status <> 'completed';
create index execution_end_worker on postrider.execution_end (worker_id, id);
create index execution_end_xid on postrider.execution_end (xid);
create index execution_end_ended_at on postrider.execution_end (ended_at);

-- What was dead-lettered: executions whose time to live was over, and every message that came out of the
-- dead letter queue, whatever it was about.
create table postrider.execution_dead_letter (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    xid xid8 not null default pg_current_xact_id(),
    outcome text not null check (
        outcome in ('failed', 'retried', 'returned', 'terminal', 'running', 'passed', 'unknown', 'unreadable')),
    carrier text not null check (carrier in ('postgres', 'rabbitmq')),
    execution_id bigint,
    attempt integer,
    worker_id integer,
    action text,
    reason text,
    -- What the broker said about it: its x-death header.
    x_death jsonb,
    -- A message that nobody could read.
    body bytea,
    details jsonb
);
create index execution_dead_letter_at on postrider.execution_dead_letter (at);
create index execution_dead_letter_execution on postrider.execution_dead_letter (execution_id);
create index execution_dead_letter_xid on postrider.execution_dead_letter (xid);

-- Up to where executions have been added to the figures below.
create table postrider.execution_rollup (
    is_only_row boolean primary key default true check (is_only_row),
    -- What was written by transactions with lower ids is in them.
    horizon xid8 not null default '0',
    -- When this last moved.
    at timestamptz
);
insert into postrider.execution_rollup default values;

-- How attempts ended, by hour. Empty texts and 0 stand for null: the columns are a key.
create table postrider.execution_statistics (
    hour timestamptz not null,
    pool text not null,
    action text not null,
    worker_id integer not null,
    status text not null,
    reason text not null,
    attempt_count bigint not null,
    -- Those that ended their execution.
    ended_count bigint not null,
    -- Those that had been started; the seconds are theirs.
    started_count bigint not null,
    running_seconds double precision not null,
    -- From when it was requested until it was started, or ended without that.
    waiting_seconds double precision not null,
    primary key (hour, pool, action, worker_id, status, reason)
) with (fillfactor = 50);

-- The same since the beginning, for counters.
create table postrider.execution_total (
    pool text not null,
    action text not null,
    status text not null,
    reason text not null,
    attempt_count bigint not null,
    ended_count bigint not null,
    primary key (pool, action, status, reason)
) with (fillfactor = 50);

create table postrider.dead_letter_statistics (
    hour timestamptz not null,
    worker_id integer not null,
    action text not null,
    reason text not null,
    outcome text not null,
    carrier text not null,
    letter_count bigint not null,
    primary key (hour, worker_id, action, reason, outcome, carrier)
) with (fillfactor = 50);

create table postrider.dead_letter_total (
    outcome text primary key,
    letter_count bigint not null
) with (fillfactor = 50);

-- What each dispatcher that has a broker says of it.
create table postrider.broker_report (
    process text primary key,
    at timestamptz not null,
    is_connected boolean not null,
    -- Null: not known.
    dead_letter_depth bigint,
    error text
) with (fillfactor = 50);
