-- The classic design: a status column, claims with SKIP LOCKED, finished rows moved to an archive.
create schema classic;
create table classic.queue (
    id bigint generated always as identity primary key,
    endpoint_id integer not null,
    status text not null default 'pending',
    priority smallint not null default 0,
    retry_count integer not null default 0,
    created_at timestamptz not null default now(),
    scheduled_at timestamptz not null default now(),
    claimed_at timestamptz,
    expires_at timestamptz,
    correlation_id uuid,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb not null
);
create index queue_pending on classic.queue (status, priority desc, id)
where status = 'pending';

create table classic.archive (
    id bigint primary key,
    endpoint_id integer not null,
    status text not null,
    priority smallint not null,
    retry_count integer not null,
    created_at timestamptz not null,
    scheduled_at timestamptz not null,
    completed_at timestamptz not null,
    expires_at timestamptz,
    correlation_id uuid,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb not null
);
