-- postrider.forget_events(most) → how many were removed
--
-- Internal, by cleanup_event_log, and by any dispatcher once a minute. Rows of event_log whose retention
-- is over, the oldest first, at most so many. Uses event_log_at, event_log_pkey.
create or replace function postrider.forget_events(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    kept_from timestamptz := clock_timestamp() - make_interval(days => (
        select s.value::integer
        from postrider.setting s
        where s.name = 'event_log_retention_days'
    ));
    places tid[];
begin
    select array_agg(o.ctid)
    into places
    from (
        select l.ctid
        from postrider.event_log l
        where l.at < kept_from
        order by l.at
        limit p_most
        for update of l skip locked
    ) o;
    delete from postrider.event_log l
    where l.ctid = any (places);
    return coalesce(cardinality(places), 0);
end;
$$;
