-- postrider.dlq_summary() → how many dead letters there are, by endpoint, in order of name
--
-- Operator, admin, monitor. The times are those of the failed ones; null when all were redriven. Counts all dead
-- letters that are kept, by one index alone where vacuum has been: some tenths of a second for a
-- million. Uses dead_letter_summary.
create or replace function postrider.dlq_summary()
returns table (
    endpoint_name text,
    failed_count bigint,
    redriven_count bigint,
    oldest_failed_at timestamptz,
    newest_failed_at timestamptz)
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        l.endpoint_name,
        count(*) filter (where l.status = 'failed'),
        count(*) filter (where l.status = 'redriven'),
        min(l.failed_at) filter (where l.status = 'failed'),
        max(l.failed_at) filter (where l.status = 'failed')
    from postrider.dead_letter l
    group by l.endpoint_name
    order by l.endpoint_name;
$$;
