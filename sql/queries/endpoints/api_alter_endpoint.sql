-- $1: name; $2: versions one of which it has to have, or null; $3: config or null; $4: retry policy, null to
-- leave it, the JSON null to take it away; $5: enabled or null; $6: paused or null.
-- A row without an item: it has another version. No row: there is none. Index: none, the name's own constraint.
with changed as (
    update postrider.endpoints e
    set config = coalesce($3::text::jsonb, e.config),
        retry_policy = case
            when $4::text is null then e.retry_policy else nullif($4::text::jsonb, 'null') end,
        enabled = coalesce($5::boolean, e.enabled),
        paused = coalesce($6::boolean, e.paused)
    where e.name = $1::text
    and (format('%s-%s', e.id, e.version) = any ($2::text[]) or $2::text[] is null)
    returning e.id, e.name, e.version
)
select
    json_build_object('id', c.id, 'name', c.name, 'version', c.version) as item,
    format('%s-%s', c.id, c.version) as etag
from changed c
union all
select null, null
from postrider.endpoints e
where e.name = $1::text
and not exists (select from changed);
