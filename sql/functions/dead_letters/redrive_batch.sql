-- postrider.redrive_batch(job) → how many letters were put back, where the job is now, which it has
-- passed over, when the last one is due, how long to pause, whether it is over
--
-- Internal: a step of advance_jobs. Walks over the failed letters in the order of their messages. With a
-- rate it puts back what is due within five seconds, so that a job that is cancelled ends soon. Planned
-- with its values: a plan made while the table was empty would walk over letters that were put back. Uses
-- dead_letter_failed.
create or replace function postrider.redrive_batch(
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
    chunk_size constant bigint := 100;
    ahead constant interval := '5 seconds';
    began constant timestamptz := clock_timestamp();
    -- Without a rate the microseconds keep the order.
    gap constant interval := coalesce(interval '1 second' / p_job.rate, '1 microsecond');
    allowed bigint := most;
    look_at bigint;
    looked_at bigint;
    letters bigint[];
    last_message bigint;
    last_target integer;
    put_back bigint;
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
        last_message := (reached ->> 0)::bigint;
        last_target := (reached ->> 1)::integer;
        execute $walk$
            select
                count(*), coalesce(array_agg(w.id) filter (where w.is_wanted), '{}'),
                (array_agg(w.message_id order by w.message_id desc, w.target desc))[1],
                (array_agg(w.target order by w.message_id desc, w.target desc))[1]
            from (
                select
                    l.id, l.message_id, l.target,
                    l.id <= $3
                    and l.erased_at is null
                    and ($4 is null or l.endpoint_id = $4)
                    and postrider.is_letter_wanted(
                        $5, l.failed_at, l.last_error, l.cause, l.event_type)
                    and exists (select from postrider.endpoints e where e.id = l.endpoint_id)
                    as is_wanted
                from postrider.dead_letter l
                where l.status = 'failed'
                and (l.message_id, l.target) > ($1, $2)
                order by l.message_id, l.target
                limit $6
            ) w
            $walk$
        into looked_at, letters, last_message, last_target
        using last_message, last_target, p_job.last_id, p_job.endpoint_id, p_job.filter, look_at;
        is_over := looked_at < look_at;
        if letters <> '{}' then
            if p_job.rate is null then
                paced_to := greatest(paced_to, clock_timestamp() - chunk_size * gap);
            end if;
            put_back := postrider.redrive_letters(letters, p_job.created_by, paced_to, gap);
            paced_to := paced_to + put_back * gap;
            done_count := done_count + put_back;
            if put_back < cardinality(letters) then
                held_from := coalesce(held_from, reached);
                held_count := held_count + cardinality(letters) - put_back;
            end if;
        end if;
        if looked_at > 0 then
            reached := jsonb_build_array(last_message, last_target);
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
