-- Who may ask over HTTP. Of a token there is its hash only.
create table postrider.api_token (
    id integer primary key generated always as identity,
    name text not null,
    role text not null check (role in ('viewer', 'operator', 'admin', 'producer')),
    hash bytea not null check (octet_length(hash) = 32),
    created_at timestamptz not null default now(),
    created_by text not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);
create unique index api_token_name on postrider.api_token (name) where revoked_at is null;

-- Answers to requests with an Idempotency-Key, written with what they answer. Dispatchers forget old ones.
create table postrider.api_request (
    token_id integer not null references postrider.api_token on delete cascade,
    key text not null,
    -- Of method, path and body.
    fingerprint bytea not null,
    at timestamptz not null default now(),
    status smallint,
    body text,
    primary key (token_id, key)
);
create index api_request_at on postrider.api_request (at);

create view postrider.tokens as
select
    t.id, t.name, t.role,
    case
        when t.revoked_at is not null then 'revoked'
        when t.expires_at <= now() then 'expired'
        else 'active'
    end as status,
    t.created_at, t.created_by, t.expires_at, t.last_used_at, t.revoked_at
from postrider.api_token t;
