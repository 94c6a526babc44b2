-- Tokens in the order in which they were made.
-- $1: behind this one, or null; $2: how many.
-- Index: api_token_pkey.
select
    json_build_object(
        'id', t.id, 'name', t.name, 'role', t.role, 'status', t.status, 'created_at', t.created_at,
        'created_by', t.created_by, 'expires_at', t.expires_at, 'last_used_at', t.last_used_at,
        'revoked_at', t.revoked_at) as item,
    t.id::text as key
from postrider.tokens t
where t.id > coalesce($1::text::integer, 0)
order by t.id
limit $2::bigint;
