-- What `send` is compared with: an ordinary table with a primary key, and a message's columns.
create schema plain;
create table plain.message (
    id bigint generated always as identity primary key,
    xid xid8 not null default pg_current_xact_id(),
    created_at timestamptz not null default now(),
    scheduled_at timestamptz,
    expires_at timestamptz,
    correlation_id uuid,
    lane smallint not null,
    targets integer[] not null,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb not null
);
