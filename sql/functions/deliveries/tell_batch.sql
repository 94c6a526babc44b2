-- postrider.tell_batch(job) → how many deliveries were told, where the job is now, which it has passed over, when the
-- last one is due, how long to pause, whether it is over
--
-- Internal: a step of advance_jobs. Walks over what waits in the order of messages, as far as the last one that was sent
-- before the job. What somebody has locked or a dispatcher has in hand is passed over and come back to, until the
-- attempt is over and it waits again. A retry is only for what has not changed since the job was made: whatever has,
-- was attempted since. With a rate up to five seconds ahead, so that a job that is cancelled ends soon. Planned with
-- its values, see redrive_batch. Uses deferred_pkey, dead_letter_message.
create or replace function postrider.tell_batch(
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
    chunk_size constant bigint := 250;
    ahead constant interval := '5 seconds';
    began constant timestamptz := clock_timestamp();
    -- Without a rate the microseconds keep the order.
    gap constant interval := coalesce(interval '1 second' / p_job.rate, '1 microsecond');
    allowed bigint := most;
    look_at bigint;
    seen record;
    told record;
begin
    done_count := 0;
    reached := coalesce(p_job.position, '[0, 0]');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    pause := '0';
    is_over := false;
    -- What is due later than that was written before the clock was set back.
    paced_to := least(p_job.paced_to, began + ahead);
    if p_job.rate is not null then
        paced_to := greatest(paced_to, began);
        allowed := least(most, floor(p_job.rate * extract(epoch from began + ahead - paced_to)));
    end if;
    while done_count < allowed and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        look_at := least(chunk_size, allowed - done_count);
        execute $walk$
            select
                count(*) as looked_at,
                coalesce(array_agg(w.message_id) filter (where w.is_wanted), '{}') as message_ids,
                coalesce(array_agg(w.target) filter (where w.is_wanted), '{}') as targets,
                (array_agg(w.message_id order by w.message_id desc, w.target desc))[1] as last_message,
                (array_agg(w.target order by w.message_id desc, w.target desc))[1] as last_target
            from (
                select
                    d.message_id, d.target,
                    ($4 is null or d.endpoint_id = $4)
                    and (
                        $6 <> 'retry'
                        or d.run_at > clock_timestamp()
                        and not d.is_blocked
                        and postrider.is_older(d.xmin, $7)
                        and not coalesce((
                            select m.scheduled_at
                            from postrider.message m
                            where m.id >= d.message_id
                            and m.id <= d.message_id
                            order by m.id
                            limit 1
                        ) > clock_timestamp(), false)
                    )
                    -- Who has put it back since the job was made wants it delivered.
                    and not exists (
                        select
                        from postrider.dead_letter l
                        where l.message_id = d.message_id
                        and l.target = d.target
                        and l.redriven_at >= $9
                    )
                    and postrider.is_delivery_wanted(
                        $5, d.message_id, d.target, d.message_created_at, d.last_error,
                        d.ordering_key)
                    as is_wanted
                from postrider.deferred d
                where (d.message_id, d.target) > ($1, $2)
                and d.message_id <= $3
                order by d.message_id, d.target
                limit $8
            ) w
            $walk$
        into seen
        using
            (reached ->> 0)::bigint, (reached ->> 1)::integer, p_job.last_id, p_job.endpoint_id,
            p_job.filter, p_job.kind, p_job.xid, look_at, p_job.created_at;
        is_over := seen.looked_at < look_at;
        if seen.message_ids <> '{}' then
            if p_job.rate is null then
                paced_to := greatest(paced_to, clock_timestamp() - chunk_size * gap);
            end if;
            told := postrider.tell_deliveries(
                p_job.kind, seen.message_ids, seen.targets, p_job.filter ->> 'reason', paced_to, gap);
            paced_to := paced_to + told.told_count * gap;
            done_count := done_count + told.told_count;
            if told.held_count > 0 then
                held_from := coalesce(held_from, reached);
                held_count := held_count + told.held_count;
            end if;
        end if;
        if seen.looked_at > 0 then
            reached := jsonb_build_array(seen.last_message, seen.last_target);
        end if;
    end loop;
    if done_count > 0 then
        perform postrider.ring('postrider', 'deferred');
    end if;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := '1 second';
    elsif allowed < most and done_count >= allowed then
        pause := '1 second';
    end if;
end;
$$;
