-- $1: a subscription; $2, $3: its new filter and retry policy as JSON, null to leave it, the JSON null to
-- take it away. Says what it is; without a row there is none of this id. Index: subscriptions_pkey.
with altered as (
    update postrider.subscriptions s
    set filter = case when $2::text is null then s.filter else nullif($2::text::jsonb, 'null') end,
        retry_policy = case
            when $3::text is null then s.retry_policy else nullif($3::text::jsonb, 'null') end
    where s.id = $1::bigint
    and s.event_type is not null
    and s.ended_at is null
)
select s.event_type is null as is_direct, s.ended_at is not null as is_ended
from postrider.subscriptions s
where s.id = $1::bigint;
