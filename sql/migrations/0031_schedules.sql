-- Messages that are sent again and again by themselves. What changes with each firing is apart from what is sent: an
-- update copies a small row, and no index has a column that changes, so that it stays where it is.
create table postrider.schedule (
    id integer primary key generated always as identity,
    name text not null constraint schedule_name_key unique,
    timing text not null,
    -- Of an interval, and the moment by which it counts; of a cron expression null.
    every interval check (every between interval '1 second' and interval '366 days'),
    anchor timestamptz,
    time_zone text not null,
    missed text not null check (missed in ('skip', 'one', 'all')),
    next_at timestamptz not null,
    paused_at timestamptz,
    -- The time for which it was fired last, which lies before the one at which that was done.
    last_at timestamptz,
    last_message_id bigint,
    fired_count bigint not null default 0,
    tried_at timestamptz,
    -- Not before, after a failure.
    retry_at timestamptz,
    failed_since timestamptz,
    failure_count integer not null default 0,
    last_error_code text,
    last_error text,
    created_at timestamptz not null default clock_timestamp(),
    created_by text not null,
    check ((every is null) = (anchor is null))
) with (fillfactor = 50);

create table postrider.schedule_message (
    schedule_id integer primary key references postrider.schedule on delete cascade,
    endpoint_name text,
    event_type text,
    payload jsonb not null,
    priority integer not null,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    expires_in interval,
    check (num_nonnulls(endpoint_name, event_type) = 1)
);
