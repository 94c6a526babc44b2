-- postrider.note_clock_jump()
--
-- Internal: bring_back. Whether the clock was set back shows the newest heartbeat that is from the future. How
-- far, by as much less as it took until somebody came back to look. Uses heartbeat_xid, from its end.
create or replace function postrider.note_clock_jump()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    -- A clock that is corrected by less delays nothing for long.
    shortest constant interval := '2 seconds';
    -- Those that were written while nobody looked are fewer: each dispatcher writes one every two seconds.
    most_heartbeats constant bigint := (select 200 + 20 * count(*) from postrider.dispatcher d);
    last_beat record;
begin
    select h.at, h.xid, h.horizon
    into last_beat
    from (
        select b.at, b.horizon, b.xid
        from postrider.heartbeat b
        where b.xid > (select coalesce(max(j.xid), '0') from postrider.clock_jump j)
        order by b.xid desc
        limit most_heartbeats
    ) h
    where h.at > clock_timestamp() + shortest
    order by h.xid desc
    limit 1;
    if last_beat.at is null or not postrider.take_chore('clock') then
        return;
    end if;
    -- Somebody else may have noted it before.
    with noted as (
        insert into postrider.clock_jump (back, horizon)
        select last_beat.at - clock_timestamp(), last_beat.horizon
        where not exists (select from postrider.clock_jump j where j.xid > last_beat.xid)
        returning back
    ), unfinished as (
        -- By the clock that is right from now on.
        update postrider.clock_jump j
        set at = least(j.at, clock_timestamp()),
            next_at = least(j.next_at, clock_timestamp())
        where j.finished_at is null
        and exists (select from noted)
    ), former as (
        delete from postrider.clock_jump j
        where j.finished_at is not null
        and exists (select from noted)
    )
    insert into postrider.event_log (event, details)
    select 'clock.set_back', jsonb_build_object('seconds', round(extract(epoch from n.back)::numeric, 3))
    from noted n;
end;
$$;
