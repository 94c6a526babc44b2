-- Counts end at $1. Index: dead_letter_failed.
select json_build_object(
    'database', current_database(),
    'endpoint_count', (
        select count(*)
        from (select from postrider.endpoints limit $1::bigint) e
    ),
    'disabled_endpoint_count', (
        select count(*)
        from (select from postrider.endpoints e where not e.enabled limit $1::bigint) e
    ),
    'dead_letter_count', (
        select count(*)
        from (
            select
            from postrider.dead_letter l
            where l.status = 'failed'
            limit $1::bigint
        ) l
    ),
    'count_limit', $1::bigint);
