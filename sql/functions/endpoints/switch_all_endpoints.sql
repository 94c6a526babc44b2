-- postrider.switch_all_endpoints(paused) → how many endpoints were switched, and the names of those that are not
--
-- Internal: pause_all and resume_all. Passes over what somebody else has locked, and looks again for a second: one
-- forgotten transaction must not keep all the others from being paused.
create or replace function postrider.switch_all_endpoints(
    p_paused boolean, out switched_count bigint, out held text[])
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    patience constant interval := '1 second';
    look constant double precision := 0.02;
    began constant timestamptz := clock_timestamp();
    free integer[];
begin
    switched_count := 0;
    loop
        free := array(
            select e.id
            from postrider.endpoints e
            where e.paused <> p_paused
            and (p_paused or e.is_paused_with_all)
            order by e.id
            for update skip locked
        );
        update postrider.endpoints e
        set paused = p_paused,
            is_paused_with_all = p_paused
        where e.id = any (free);
        switched_count := switched_count + cardinality(free);
        held := array(
            select e.name
            from postrider.endpoints e
            where e.paused <> p_paused
            and (p_paused or e.is_paused_with_all)
            order by e.name
        );
        exit when held = '{}'
            or clock_timestamp() not between began and began + patience;
        perform pg_sleep(look);
    end loop;
    insert into postrider.event_log (event, details)
    values (
        case when p_paused then 'endpoints.paused' else 'endpoints.resumed' end,
        jsonb_build_object(
            'count', switched_count, 'held', held, 'by', session_user,
            'before', jsonb_build_object('paused', not p_paused),
            'after', jsonb_build_object('paused', p_paused)));
end;
$$;
