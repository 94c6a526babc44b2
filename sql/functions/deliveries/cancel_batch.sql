-- postrider.cancel_batch(job) → how many deliveries were cancelled, where the job is now, which it has passed over,
-- when the last one is due, how long to pause, whether it is over
--
-- Internal: a step of advance_jobs. Walks over the log from where something may be unfinished, for what nobody has
-- read, and then over what waits; each as far as the last message that was sent before the job. What a dispatcher has
-- in hand or somebody has locked is passed over and come back to, until it has ended or waits. Planned with its values,
-- see redrive_batch. Uses message_id, deferred_pkey, subscriptions_endpoint_id, dead_letter_message.
create or replace function postrider.cancel_batch(
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
    chunk_size constant bigint := 200;
    began constant timestamptz := clock_timestamp();
    targets constant integer[] := array(
        select s.id
        from postrider.subscriptions s
        where s.endpoint_id = p_job.endpoint_id
    );
    seen record;
    told record;
    next jsonb;
begin
    done_count := 0;
    reached := coalesce(p_job.position, jsonb_build_object('log', postrider.pending_floor()));
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    paced_to := p_job.paced_to;
    pause := '0';
    is_over := false;
    while done_count < most and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        if reached ? 'log' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_message,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as message_ids
                from (
                    select m.id, m.targets && $3 as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $4
                ) w
                $walk$
            into seen
            using (reached ->> 'log')::bigint, p_job.last_id, targets, chunk_size;
            told := postrider.cancel_unread(seen.message_ids, targets);
            done_count := done_count + told.cancelled_count;
            next := case
                when seen.looked_at < chunk_size then jsonb_build_object('waiting', '[0, 0]'::jsonb)
                else jsonb_build_object('log', seen.last_message)
            end;
        else
            execute $walk$
                select
                    count(*) as looked_at,
                    coalesce(array_agg(w.message_id) filter (where w.is_wanted), '{}') as message_ids,
                    coalesce(array_agg(w.target) filter (where w.is_wanted), '{}') as targets,
                    (array_agg(w.message_id order by w.message_id desc, w.target desc))[1]
                        as last_message,
                    (array_agg(w.target order by w.message_id desc, w.target desc))[1] as last_target
                from (
                    select
                        d.message_id, d.target,
                        d.endpoint_id = $4
                        -- Who has put it back since the job was made wants it delivered.
                        and not exists (
                            select
                            from postrider.dead_letter l
                            where l.message_id = d.message_id
                            and l.target = d.target
                            and l.redriven_at >= $6
                        ) as is_wanted
                    from postrider.deferred d
                    where (d.message_id, d.target) > ($1, $2)
                    and d.message_id <= $3
                    order by d.message_id, d.target
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached #>> '{waiting,0}')::bigint, (reached #>> '{waiting,1}')::integer,
                p_job.last_id, p_job.endpoint_id, chunk_size, p_job.created_at;
            told := postrider.tell_deliveries(
                'cancel', seen.message_ids, seen.targets, null, null, null);
            done_count := done_count + told.told_count;
            is_over := seen.looked_at < chunk_size;
            next := jsonb_build_object(
                'waiting', jsonb_build_array(seen.last_message, seen.last_target));
        end if;
        if told.held_count > 0 then
            held_from := coalesce(held_from, reached);
            held_count := held_count + told.held_count;
        end if;
        reached := next;
    end loop;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := '1 second';
    end if;
end;
$$;
