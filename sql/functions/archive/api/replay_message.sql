-- postrider.replay_message(archive_message_id) → the new message's id
--
-- Operator, admin. Sends a message again, as a new one that carries the old id: to those of its targets where it
-- has ended, whose endpoint still exists and is enabled. Logged in event_log. Raises 22004 (a null id),
-- 42704 (not in the log), 55000 (it was erased, it has not ended anywhere, no endpoint is left, or all are disabled),
-- 53400 (the log is full). Uses message_id.
create or replace function postrider.replay_message(p_archive_message_id bigint)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known record;
    target record;
    left_count integer := 0;
    ended_count integer := 0;
    disabled_name text;
    targets integer[] := '{}';
    replay_id bigint;
begin
    if p_archive_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.id, m.xid, m.targets, m.erased_at
    into known
    from postrider.message m
    where m.id = p_archive_message_id;
    if known.id is null then
        raise exception 'Message % does not exist', p_archive_message_id using errcode = '42704';
    end if;
    if known.erased_at is not null then
        raise exception 'Message % was erased', known.id using errcode = '55000';
    end if;

    for target in
        select
            t.target as id, e.name, e.enabled,
            postrider.ended_status(known.id, t.target, known.xid, postrider.done_before()) as status
        from unnest(known.targets) t (target)
        join postrider.subscriptions s on s.id = t.target
        join postrider.endpoints e on e.id = s.endpoint_id
        order by t.target
    loop
        left_count := left_count + 1;
        continue when target.status is null;
        ended_count := ended_count + 1;
        if target.enabled then
            targets := targets || target.id;
        else
            disabled_name := coalesce(disabled_name, target.name);
        end if;
    end loop;
    if left_count = 0 then
        raise exception 'Message % has no endpoint left', known.id using errcode = '55000';
    end if;
    if ended_count = 0 then
        raise exception 'Message % has not ended', known.id using errcode = '55000';
    end if;
    if targets = '{}' then
        perform postrider.refuse_endpoint(disabled_name);
    end if;

    -- Not erased before whoever erases sees the copy.
    perform from postrider.message m where m.id = known.id for key share;
    replay_id := (postrider.append_replays(array_fill(known.id, array[cardinality(targets)]), targets))[1];
    if replay_id is null then
        raise exception 'Message % was erased', known.id using errcode = '55000';
    end if;
    insert into postrider.event_log (event, details)
    values (
        'message.replayed',
        jsonb_build_object('message_id', replay_id, 'replay_of', known.id, 'by', session_user));
    return replay_id;
end;
$$;
