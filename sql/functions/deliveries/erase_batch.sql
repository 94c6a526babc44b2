-- postrider.erase_batch(job) → how many messages were erased, where the job is now, which it has passed over, when the
-- last one is due, how long to pause, whether it is over
--
-- Internal: a step of advance_jobs. Walks over the log as far as the last message that was sent before the job, then
-- over dead letters and over parked messages, for copies of what is in the log no longer, and then over what was sent
-- since, for replays of what was erased. What a dispatcher has in hand or somebody has locked is passed over and come
-- back to. A copy of what is still in the log, of a transaction that was open when the walk came by, sends it back to
-- there. Copies are made while it looks at others: where it has found one it looks once more. What was erased, by kind,
-- is counted beside the position, for the event messages.erased at the end. Planned with its values, see redrive_batch.
-- Uses message_id, dead_letter_pkey, parked_message_pkey, replay_running, heartbeat_xid.
create or replace function postrider.erase_batch(
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
    counts jsonb := coalesce(
        p_job.position -> 'erased',
        '{"messages": 0, "dead_letters": 0, "parked_messages": 0, "attempts": 0, "cancelled": 0}');
    -- What was sent by transactions that were open at the beginning, or later, has higher ids: a transaction with a
    -- higher id than a heartbeat's takes numbers above its sequence_floor only.
    since constant bigint := coalesce(
        (p_job.position ->> 'since')::bigint,
        least(
            p_job.last_id,
            coalesce(
                (
                    select (h.sequence_floor << 10) | 1023
                    from postrider.heartbeat h
                    where h.xid < pg_snapshot_xmin(pg_current_snapshot())
                    order by h.xid desc
                    limit 1
                ), 0)));
    seen record;
    erased record;
    replaying bigint;
begin
    done_count := 0;
    reached := coalesce(p_job.position - '{erased,since}'::text[], '{"log": 0}');
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
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    null::bigint as logged
                from (
                    select
                        m.id,
                        m.erased_at is null
                        and postrider.is_erasure_wanted(
                            $3, $4, m.created_at, m.ordering_key, m.correlation_id, m.event_type,
                            m.metadata)
                        as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'log')::bigint, p_job.last_id, p_job.filter, p_job.metadata, chunk_size;
            erased := postrider.erase_logged(seen.ids);
            done_count := done_count + erased.message_count;
        elsif reached ? 'letters' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    (
                        select min(i.id)
                        from unnest(array_agg(w.message_id) filter (where w.is_wanted)) i (id)
                        where postrider.is_logged(i.id)
                    ) as logged
                from (
                    select
                        l.id, l.message_id,
                        l.erased_at is null
                        and l.message_id <= $2
                        and postrider.is_erasure_wanted(
                            $3, $4, l.message_created_at, l.ordering_key, l.correlation_id,
                            l.event_type, l.metadata)
                        as is_wanted
                    from postrider.dead_letter l
                    where l.id > $1
                    order by l.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'letters')::bigint, p_job.last_id, p_job.filter, p_job.metadata,
                chunk_size;
            erased := postrider.erase_letters(seen.ids);
            done_count := done_count + erased.letter_count;
        elsif reached ? 'parked' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    (
                        select min(i.id)
                        from unnest(array_agg(w.message_id) filter (where w.is_wanted)) i (id)
                        where postrider.is_logged(i.id)
                    ) as logged
                from (
                    select
                        k.id, k.message_id,
                        k.erased_at is null
                        and k.message_id <= $2
                        and postrider.is_erasure_wanted(
                            $3, $4, k.created_at, k.ordering_key, k.correlation_id, k.event_type,
                            k.metadata)
                        as is_wanted
                    from postrider.parked_message k
                    where k.id > $1
                    order by k.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'parked')::bigint, p_job.last_id, p_job.filter, p_job.metadata,
                chunk_size;
            erased := postrider.erase_parked(seen.ids);
            done_count := done_count + erased.parked_count;
        else
            if not reached ? 'to' then
                -- What this transaction has erased a replay may still send again. Not the next one.
                exit when done_count > 0;
                -- A step that has begun before may have read what was not erased yet.
                with free as materialized (
                    select r.id
                    from postrider.replay r
                    where r.state = 'running'
                    for key share skip locked
                )
                select count(*)
                into replaying
                from postrider.replay r
                where r.state = 'running'
                and not exists (select from free f where f.id = r.id);
                if replaying > 0 then
                    held_from := coalesce(held_from, jsonb_build_object('replays', since));
                    held_count := held_count + replaying;
                end if;
                -- Behind that look: what a step has drawn that it did not see is below this.
                reached := reached || jsonb_build_object(
                    'to', (select (s.last_value << 10) | 1023 from postrider.message_sequence s));
            end if;
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    null::bigint as logged
                from (
                    select
                        m.id,
                        m.replay_of is not null
                        and m.erased_at is null
                        -- When the first one was sent is what counts.
                        and postrider.is_erasure_wanted(
                            $3 - '{from,to}'::text[], $4, m.created_at, m.ordering_key,
                            m.correlation_id, m.event_type, m.metadata)
                        and not postrider.is_logged(m.replay_of)
                        and (
                            not $3 ?| '{from,to}'
                            or exists (select from postrider.message o where o.id = m.replay_of)
                        )
                        as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'replays')::bigint, (reached ->> 'to')::bigint, p_job.filter,
                p_job.metadata, chunk_size;
            erased := postrider.erase_logged(seen.ids);
            done_count := done_count + erased.message_count;
            is_over := seen.looked_at < chunk_size;
        end if;
        counts := jsonb_build_object(
            'messages', (counts ->> 'messages')::bigint + erased.message_count,
            'dead_letters', (counts ->> 'dead_letters')::bigint + erased.letter_count,
            'parked_messages', (counts ->> 'parked_messages')::bigint + erased.parked_count,
            'attempts', (counts ->> 'attempts')::bigint + erased.attempt_count,
            'cancelled', (counts ->> 'cancelled')::bigint + erased.cancelled_count);
        held_count := held_count + erased.held_count;
        if seen.logged is not null then
            held_from := jsonb_build_object(
                'log', least((held_from ->> 'log')::bigint, seen.logged - 1));
        elsif erased.held_count > 0 or (not reached ? 'log' and seen.ids <> '{}') then
            held_from := coalesce(
                held_from,
                case
                    when reached ? 'replays' then jsonb_build_object('replays', since)
                    else reached
                end);
        end if;
        reached := case
            when seen.looked_at = chunk_size and reached ? 'log'
            then jsonb_build_object('log', seen.last_one)
            when seen.looked_at = chunk_size and reached ? 'letters'
            then jsonb_build_object('letters', seen.last_one)
            when reached ? 'log' then '{"letters": 0}'
            when seen.looked_at = chunk_size and reached ? 'parked'
            then jsonb_build_object('parked', seen.last_one)
            when reached ? 'letters' then '{"parked": 0}'
            when reached ? 'parked' then jsonb_build_object('replays', since)
            else reached || jsonb_build_object('replays', seen.last_one)
        end;
    end loop;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := case when held_count > 0 then interval '1 second' else '0' end;
    elsif is_over then
        insert into postrider.event_log (event, details)
        values (
            'messages.erased',
            counts || jsonb_build_object(
                'id', p_job.id, 'filter', p_job.filter, 'by', p_job.created_by));
        -- What was erased does not live on in what was asked.
        update postrider.job j set metadata = null where j.id = p_job.id;
    end if;
    reached := reached || jsonb_build_object('erased', counts, 'since', since);
end;
$$;
