-- postrider.cancel_replay(replay_id) → whether it was running
--
-- Operator, admin. Ends a job of create_replay where it is; what it has sent stays sent. Logged in event_log.
-- Raises 22004 (a null id), 42704 (no such job).
create or replace function postrider.cancel_replay(p_replay_id bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    cancelled record;
begin
    if p_replay_id is null then
        raise exception 'Replay id must not be null' using errcode = '22004';
    end if;
    update postrider.replay r
    set state = 'cancelled', finished_at = clock_timestamp()
    where r.id = p_replay_id
    and r.state = 'running'
    returning r.endpoint_name, r.replayed_count into cancelled;
    if found then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'replay.cancelled', cancelled.endpoint_name,
            jsonb_build_object(
                'id', p_replay_id, 'replayed', cancelled.replayed_count, 'by', session_user,
                'before', jsonb_build_object('state', 'running'),
                'after', jsonb_build_object('state', 'cancelled')));
        return true;
    end if;
    if not exists (select from postrider.replay r where r.id = p_replay_id) then
        raise exception 'Replay % does not exist', p_replay_id using errcode = '42704';
    end if;
    return false;
end;
$$;
