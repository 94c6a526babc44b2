-- postrider.enter_timeline(dispatcher, timeline)
--
-- Internal, by confirm_position, before a dispatcher reads a message. A server that was promoted, or restored to a moment,
-- begins a timeline of the write-ahead log, and nothing here says what was given away and delivered on the one before after
-- the two had parted. So the first dispatcher on a new one leaves numbers out: 2³⁰ of them, and as many more as the clock
-- says (restart_number, leave_out_numbers). Where a sender's transaction stays open it draws 100,000; so far as the clock
-- nobody can draw, so where another restore of the same backup had to do with that, the two give away the same. The event
-- log.timeline says how many, and how many messages were sent there before, at most: those of transactions that began after
-- the last heartbeat of a dispatcher, up to a million. Their ids may have been given to others. Where nobody had looked
-- before, the timeline is only remembered.
-- Uses heartbeat_xid, message_xid_id.
create or replace function postrider.enter_timeline(p_dispatcher uuid, p_timeline integer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    margin constant bigint := 1073741824;
    most_drawn constant integer := 100000;
    most_counted constant integer := 1000000;
    former integer;
    last_xid xid8;
    last_at timestamptz;
    sent_before bigint;
    before bigint;
    left_out bigint;
begin
    select t.number into former from postrider.timeline t;
    if former = p_timeline then
        return;
    end if;
    if former is null then
        insert into postrider.timeline (number) values (p_timeline)
        on conflict (singleton) do nothing;
        return;
    end if;
    -- Numbers that are given again after a crash were not left out. No standby is waited for: it may be the server that is gone.
    perform set_config('synchronous_commit', 'local', true);
    -- One of those who start at the same time; the others wait for it.
    update postrider.timeline t
    set number = p_timeline, at = clock_timestamp()
    where t.number <> p_timeline;
    if not found then
        return;
    end if;

    select h.xid, h.at
    into last_xid, last_at
    from postrider.heartbeat h
    order by h.xid desc
    limit 1;
    select count(*)
    into sent_before
    from (
        select
        from postrider.message m
        where m.xid > last_xid
        order by m.xid
        limit most_counted
    ) m;
    select s.last_value into before from postrider.message_sequence s;
    if not postrider.leave_out_numbers(postrider.restart_number(before, margin, clock_timestamp())) then
        for drawn in 1 .. most_drawn loop
            perform nextval('postrider.message_sequence');
        end loop;
    end if;
    select s.last_value - before into left_out from postrider.message_sequence s;
    insert into postrider.event_log (event, details)
    values (
        'log.timeline',
        jsonb_build_object(
            'dispatcher', p_dispatcher, 'former_timeline', former, 'timeline', p_timeline,
            'numbers_left_out', left_out, 'sent_before', sent_before, 'last_heartbeat_at', last_at,
            'by', session_user));
end;
$$;
