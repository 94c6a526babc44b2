-- $1: a subscription, $2: whether it is to be enabled. Says what it is, and whether that changed it;
-- without a row there is none of this id. Index: subscriptions_pkey.
with changed as (
    update postrider.subscriptions s
    set enabled = $2::boolean
    where s.id = $1::bigint
    and s.event_type is not null
    and s.ended_at is null
    and s.enabled <> $2::boolean
    returning s.id
)
select
    s.event_type is null as is_direct, s.ended_at is not null as is_ended,
    exists (select from changed) as is_changed
from postrider.subscriptions s
where s.id = $1::bigint;
