-- postrider.confirm_position(dispatcher, timeline, upto, number) → the server's timeline, the position at which it left
-- the given one, how many bytes of the write-ahead log and how many numbers it does not have
--
-- Internal, by each tenure of a dispatcher, with what the process has delivered from before, in memory: on which timeline,
-- up to which position (null: nothing), and the highest message number that it had read. A server that has not come
-- as far, a standby that took over while it was behind, has forgotten commits that were delivered: an event
-- log.rewound says so. At most so many bytes, and at least so many numbers: a standby goes on up to 32 numbers
-- further. The numbers are used up, so that none of them is given again. Where a timeline was left stands in a file that only
-- some roles may read; without it, what is found is a lower bound.
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
    -- So many numbers are used up at most; it takes some seconds.
    most_numbers constant bigint := 10000000;
    present constant pg_lsn := pg_current_wal_insert_lsn();
    history text;
begin
    timeline := ('x' || left(pg_walfile_name(present), 8))::bit(32)::integer;
    lost_bytes := 0;
    lost_numbers := 0;
    if p_upto is null then
        return;
    end if;
    -- By a statement of its own: permissions are checked before anything is decided.
    if timeline <> p_timeline
        and has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute')
    then
        execute 'select pg_read_file($1, 0, 1000000, true)'
        into history
        using format('pg_wal/%s.history', upper(lpad(to_hex(timeline), 8, '0')));
        left_at := (regexp_match(history, format('(?:^|\n)%s\t([0-9A-F]+/[0-9A-F]+)', p_timeline)))[1];
    end if;
    lost_bytes := greatest(p_upto - least(left_at, present), 0);
    select greatest(p_number - s.last_value, 0) into lost_numbers from postrider.message_sequence s;
    if lost_bytes = 0 and lost_numbers = 0 then
        return;
    end if;
    -- Drawn one by one: others draw meanwhile, and a sequence that was set could go back.
    perform nextval('postrider.message_sequence')
    from generate_series(1, least(lost_numbers, most_numbers));
    insert into postrider.event_log (event, details)
    values (
        'log.rewound',
        jsonb_build_object(
            'dispatcher', p_dispatcher, 'delivered_up_to', p_upto, 'timeline', timeline,
            'former_timeline', p_timeline, 'left_at', left_at, 'lost_bytes', lost_bytes,
            'lost_numbers', lost_numbers, 'highest_number', p_number, 'by', session_user));
end;
$$;
