-- postrider.bury_batch(job) → how many dead letters were made, where the job is now, which it has passed
-- over, when the last one is due, how long to pause, whether it is over
--
-- Internal: a step of advance_jobs. Moves what waits for an endpoint that was dropped to the dead letter
-- queue with the cause `endpoint_dropped`. Walks over it once, because each row that it deletes stays in
-- the index for as long as any transaction is open; and once more where something has been added behind
-- it or is locked. Makes no letters while a flush that has the same ones waits for it: advance_jobs
-- gives up first. Planned with its values, see redrive_batch. Uses deferred_due, deferred_pkey,
-- cancellation_pkey, message_id.
create or replace function postrider.bury_batch(
    p_job postrider.job,
    out done_count bigint,
    out reached jsonb,
    out held_from jsonb,
    out held_count bigint,
    out paced_to timestamptz,
    out pause interval,
    out is_over boolean)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 50;
    began constant timestamptz := clock_timestamp();
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    given_up record;
    told record;
begin
    done_count := 0;
    reached := coalesce(p_job.position, '[-1, "-infinity", 0]');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    paced_to := p_job.paced_to;
    pause := '0';
    is_over := false;
    while done_count < most and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        execute $walk$
            with seen as materialized (
                select d.shard, d.run_at, d.message_id, d.target
                from postrider.deferred d
                where d.endpoint_id = $1
                and (d.shard, d.run_at, d.message_id + 0) > (
                    ($2 ->> 0)::smallint, ($2 ->> 1)::timestamptz, ($2 ->> 2)::bigint)
                order by d.shard, d.run_at, d.message_id + 0
                limit $3
            ), locked as materialized (
                select d.message_id, d.target, d.retry_count, d.recovery_count
                from seen s
                join postrider.deferred d on d.message_id = s.message_id and d.target = s.target
                for update of d skip locked
            ), free as materialized (
                -- What may be being cancelled is come back to.
                select l.message_id, l.target
                from locked l
                where not postrider.is_being_cancelled(l.message_id, l.retry_count, l.recovery_count)
            ), gone as (
                delete from postrider.deferred d
                using free f
                where d.message_id = f.message_id
                and d.target = f.target
                returning
                    d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error, d.ordering_key
            )
            select
                (select count(*) from seen s) as seen_count,
                (
                    select jsonb_build_array(s.shard, s.run_at, s.message_id)
                    from seen s
                    order by s.shard desc, s.run_at desc, s.message_id desc
                    limit 1
                ) as last_position,
                count(*) as gone_count,
                array_agg(g.message_id) as message_ids, array_agg(g.target) as targets,
                array_agg(g.endpoint_id) as endpoint_ids, array_agg(g.retry_count) as retry_counts,
                array_agg(g.last_error) as errors,
                array_agg(distinct g.ordering_key) filter (where g.ordering_key is not null) as keys
            from gone g
            $walk$
        into given_up
        using p_job.endpoint_id, reached, chunk_size;
        is_over := given_up.seen_count < chunk_size;
        if given_up.gone_count > 0 then
            with cancelled as (
                delete from postrider.cancellation c
                where (c.message_id, c.target) in (
                    select g.message_id, g.target
                    from unnest(given_up.message_ids, given_up.targets) g (message_id, target)
                )
                returning c.message_id, c.target
            )
            select
                count(*) as count, array_agg(g.message_id) as message_ids,
                array_agg(g.target) as targets, array_agg(g.endpoint_id) as endpoint_ids,
                array_agg('endpoint_dropped'::text) as causes,
                array_agg(g.retry_count) as retry_counts, array_agg(g.last_error) as errors
            into told
            from unnest(
                given_up.message_ids, given_up.targets, given_up.endpoint_ids,
                given_up.retry_counts, given_up.errors)
                g (message_id, target, endpoint_id, retry_count, last_error)
            where (g.message_id, g.target) not in (
                select c.message_id, c.target
                from cancelled c
            );
            done_count := done_count + told.count;
            perform postrider.bury(
                told.message_ids, told.targets, told.endpoint_ids, told.causes, told.retry_counts,
                told.errors)
            where told.count > 0;
            perform postrider.free_idempotency_keys(given_up.message_ids);
            if is_global then
                -- What waited behind them at other endpoints.
                perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
                from unnest(given_up.keys) k (ordering_key);
            end if;
        end if;
        if given_up.gone_count < given_up.seen_count then
            held_from := coalesce(held_from, reached);
            held_count := held_count + given_up.seen_count - given_up.gone_count;
        end if;
        reached := coalesce(given_up.last_position, reached);
    end loop;
    if is_over then
        if held_from is not null then
            reached := held_from;
            pause := '1 second';
            is_over := false;
        elsif exists (select from postrider.deferred d where d.endpoint_id = p_job.endpoint_id) then
            reached := null;
            is_over := false;
        end if;
        held_from := null;
        perform postrider.ring('postrider', 'deferred');
    end if;
end;
$$;
