-- postrider.signing_keys: the keys that sign what is sent to each endpoint
--
-- Admin, operator, monitor. No secrets: of a key for ed25519 its public half, whpk_….
create or replace view postrider.signing_keys as
select
    e.name as endpoint, k.id, k.kind, k.created_at, k.retires_at, k.public_key,
    k.is_hidden as can_be_revealed
from postrider.signing_key k
join postrider.endpoints e on e.id = k.endpoint_id;
