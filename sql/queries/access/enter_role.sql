-- For the rest of the transaction. $1: the id of a token; $2: what the request is called. Without a row nothing was entered: it does not hold at this
-- moment. `is_entered`, which is read last, says as whom the transaction goes on.
-- Index: api_token_pkey; of installation none, the table has one row.
select
    t.role,
    set_config('postrider.token', t.name, true),
    set_config('postrider.request', $2::text, true),
    set_config('role', w.name, true),
    current_user = w.name as is_entered
from postrider.api_token t
cross join postrider.installation i
cross join lateral (
    select i.role_prefix || '_' || case t.role when 'viewer' then 'monitor' else t.role end as name
) w
where t.id = $1::integer
and t.revoked_at is null
and coalesce(t.expires_at > clock_timestamp(), true);
