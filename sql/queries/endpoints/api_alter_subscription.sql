-- $1: id; $2: filter, $3: retry policy, null to leave them, the JSON null to take them away; $4: enabled or null.
-- No row: there is none that has not ended. Index: subscriptions_pkey.
update postrider.subscriptions s
set filter = case when $2::text is null then s.filter else nullif($2::text::jsonb, 'null') end,
    retry_policy = case when $3::text is null then s.retry_policy else nullif($3::text::jsonb, 'null') end,
    enabled = coalesce($4::boolean, s.enabled)
where s.id = $1::bigint
and s.event_type is not null
and s.ended_at is null
returning json_build_object('id', s.id) as item;
