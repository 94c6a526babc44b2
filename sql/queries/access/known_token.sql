-- $1: the id of a token. One that is revoked or expired is not known.
-- Index: api_token_pkey.
select t.hash, t.role
from postrider.api_token t
where t.id = $1::integer
and t.revoked_at is null
and coalesce(t.expires_at > clock_timestamp(), true);
