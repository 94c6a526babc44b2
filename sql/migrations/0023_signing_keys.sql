-- The keys that sign what is sent to an endpoint: what may be known of each. The keys themselves are secrets of the
-- endpoint (signing_keys in endpoint_secret).
create table postrider.signing_key (
    endpoint_id integer not null references postrider.endpoints on delete cascade
        deferrable initially deferred,
    -- The beginning of the key's hash.
    id text not null,
    kind text not null check (kind in ('v1', 'v1a')),
    -- Of a pair: what receivers verify with.
    public_key text,
    created_at timestamptz not null default now(),
    -- It signs until then.
    retires_at timestamptz,
    -- It was made with its endpoint, and nobody has seen it yet.
    is_hidden boolean not null default false,
    primary key (endpoint_id, id)
);
create index signing_key_retires_at on postrider.signing_key (retires_at) where retires_at is not null;
