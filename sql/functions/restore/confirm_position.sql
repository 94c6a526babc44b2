-- postrider.confirm_position(dispatcher, timeline, upto, number) → the server's timeline, the position at which it left
-- the given one, how many bytes of the write-ahead log and how many numbers it does not have
--
-- Internal, by each tenure of a dispatcher, with what the process has delivered from before, in memory: on which timeline,
-- up to which position (null: nothing since), and the highest message number that it had read. A server that has not come
-- as far, a standby that took over while it was behind, has forgotten commits that were delivered: an event
-- log.rewound and a row of rewind say so. At most so many bytes, and about so many numbers: a standby goes on up to 32
-- numbers further, and whoever had drawn some may not have committed. The numbers are for use_up_numbers. Without the
-- position at which a timeline was left (timeline_end) what is found is a lower bound. What dispatchers delivered that
-- are gone nobody knows: on a new timeline numbers are left out (enter_timeline).
create or replace function postrider.confirm_position(
    p_dispatcher uuid,
    p_timeline integer,
    p_upto pg_lsn,
    p_number bigint,
    out timeline integer,
    out left_at pg_lsn,
    out lost_bytes numeric,
    out lost_numbers bigint)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    present constant pg_lsn := pg_current_wal_insert_lsn();
begin
    timeline := ('x' || left(pg_walfile_name(present), 8))::bit(32)::integer;
    lost_bytes := 0;
    -- A sequence that nobody has used yet says 1 although 1 is still to come.
    select greatest(p_number - s.last_value + (not s.is_called)::integer, 0)
    into lost_numbers
    from postrider.message_sequence s;
    perform postrider.enter_timeline(p_dispatcher, timeline);
    if p_upto is null then
        return;
    end if;
    if timeline <> p_timeline then
        left_at := postrider.timeline_end(p_timeline, timeline);
    end if;
    lost_bytes := greatest(p_upto - least(left_at, present), 0);
    if lost_bytes = 0 and lost_numbers = 0 then
        return;
    end if;
    -- Nothing else says it again, so it is to be on disk; the standby that it would wait for may be the server that is gone.
    perform set_config('synchronous_commit', 'local', true);
    insert into postrider.rewind (lost_bytes, lost_numbers, highest_number)
    values (confirm_position.lost_bytes, confirm_position.lost_numbers, p_number);
    insert into postrider.event_log (event, details)
    values (
        'log.rewound',
        jsonb_build_object(
            'dispatcher', p_dispatcher, 'delivered_up_to', p_upto, 'timeline', timeline,
            'former_timeline', p_timeline, 'left_at', left_at, 'lost_bytes', lost_bytes,
            'lost_numbers', lost_numbers, 'highest_number', p_number, 'by', session_user));
end;
$$;
