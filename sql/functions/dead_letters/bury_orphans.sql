-- postrider.bury_orphans() → how many jobs were made
--
-- Internal, by any dispatcher once a minute, and soon after it has seen that an endpoint is gone. What
-- waits for an endpoint that is not there came in behind the job of drop_endpoint, which is over: another
-- one buries it. One probe of deferred_due per endpoint that has anything waiting. Uses job_drop_running,
-- job_drop.
create or replace function postrider.bury_orphans()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    orphaned integer;
    made integer := 0;
begin
    for orphaned in
        with recursive waiting as (
            (
                select d.endpoint_id
                from postrider.deferred d
                order by d.endpoint_id
                limit 1
            )
            union all
            select (
                select d.endpoint_id
                from postrider.deferred d
                where d.endpoint_id > w.endpoint_id
                order by d.endpoint_id
                limit 1
            )
            from waiting w
            where w.endpoint_id is not null
        )
        select w.endpoint_id
        from waiting w
        where w.endpoint_id is not null
        and not exists (select from postrider.endpoints e where e.id = w.endpoint_id)
        and not exists (
            select
            from postrider.job j
            where j.kind = 'drop'
            and j.endpoint_id = w.endpoint_id
            and j.state = 'running'
        )
    loop
        -- Another dispatcher may have made one meanwhile.
        made := made + (postrider.create_job(
            'drop', orphaned,
            (
                select j.endpoint_name
                from postrider.job j
                where j.kind = 'drop'
                -- An order that one index has alone.
                and j.endpoint_id >= orphaned
                and j.endpoint_id <= orphaned
                order by j.endpoint_id desc, j.id desc
                limit 1
            ),
            '{}', null, null, 0, true) is not null)::integer;
    end loop;
    return made;
end;
$$;
