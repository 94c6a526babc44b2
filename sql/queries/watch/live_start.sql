-- Where `postrider tail` begins, and whether it can. $1: 'now', 'beginning', a time, or a message's id;
-- $2 text[]: event types or patterns, or null.
-- first_id: null for now; otherwise nothing before this id has to be looked at. type_patterns: as LIKE
-- reads them. Finds the range of pages that a time begins in. Index: message_created_at.
select
    pg_current_snapshot()::text as snapshot,
    pg_is_in_recovery() as is_standby,
    case
        when $1::text = 'now' then null
        when $1::text = 'beginning' then 0
        when $1::text ~ '^[0-9]+$' then $1::text::bigint
        else coalesce(
            (select min(m.id) from postrider.message m where m.created_at >= t.start_at),
            9223372036854775807)
    end as first_id,
    t.start_at::text as start_at, (
        select array_agg(replace(replace(replace(p.name, '\', '\\'), '_', '\_'), '*', '%'))
        from unnest($2::text[]) p (name)
    ) as type_patterns
from (
    select case
        when $1::text !~ '^([0-9]+|now|beginning)$' then $1::text::timestamptz
    end as start_at
) t;
