-- postrider.forget_jobs(most) → how many were removed
--
-- Internal, by any dispatcher once a minute. Jobs and replays that have been over for longer than events
-- are kept (event_log_retention_days), at most so many of each. Uses job_finished, replay_finished.
create or replace function postrider.forget_jobs(p_most integer)
returns integer
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    with kept as materialized (
        select clock_timestamp() - make_interval(days => s.value::integer) as kept_from
        from postrider.setting s
        where s.name = 'event_log_retention_days'
    ), old_jobs as materialized (
        select j.id
        from postrider.job j
        where j.finished_at < (select k.kept_from from kept k)
        order by j.finished_at
        limit p_most
        for update of j skip locked
    ), old_replays as materialized (
        select r.id
        from postrider.replay r
        where r.finished_at < (select k.kept_from from kept k)
        order by r.finished_at
        limit p_most
        for update of r skip locked
    ), gone_jobs as (
        delete from postrider.job j
        using old_jobs o
        where j.id = o.id
        returning j.id
    ), gone_replays as (
        delete from postrider.replay r
        using old_replays o
        where r.id = o.id
        returning r.id
    )
    select ((select count(*) from gone_jobs) + (select count(*) from gone_replays))::integer;
$$;
