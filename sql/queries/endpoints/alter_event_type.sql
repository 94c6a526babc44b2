-- $1: an event type; $2 to $5: its new description, and as JSON its schema, metadata and retry policy; null
-- to leave it, an empty text or the JSON null to take it away. The retry policy is an entry of the metadata.
-- Index: none, a command by hand; the name is unique.
update postrider.event_types t
set description = case when $2::text is null then t.description else nullif($2::text, '') end,
    schema = case when $3::text is null then t.schema else nullif($3::text::jsonb, 'null') end,
    metadata = (
        select case
            when $5::text is null then m.given
            else nullif(
                coalesce(m.given, '{}') - '_retry_policy' || case $5::text::jsonb
                    when 'null' then '{}' else jsonb_build_object('_retry_policy', $5::text::jsonb) end,
                '{}')
        end
        from (
            select case
                when $4::text is null then t.metadata else nullif($4::text::jsonb, 'null') end
        ) m (given)
    )
where t.name = $1::text;
