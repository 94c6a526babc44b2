-- Index: none, tokens are few.
select json_build_object(
    'id', t.id, 'name', t.name, 'role', t.role, 'status', t.status, 'created_at', t.created_at,
    'created_by', t.created_by, 'expires_at', t.expires_at, 'last_used_at', t.last_used_at,
    'revoked_at', t.revoked_at)
from postrider.tokens t
order by t.name, t.id;
