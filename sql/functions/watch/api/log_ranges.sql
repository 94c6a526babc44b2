-- postrider.log_ranges() → three ids: what of the log is not finished lies above the first and up to the second, or
-- above the third
--
-- Application, operator, admin, monitor: the view queue calls it. Above the third lies what nobody has read, and what
-- is in hand; below it only what was left to a lag, which has one target. Messages of transactions that nobody has read
-- are looked for by these; where they are many, a heartbeat tells of a number below them: a transaction with a higher
-- id than its takes numbers above its sequence_floor only. Uses message_xid_id, heartbeat_xid, and what known_lanes
-- uses.
create or replace function postrider.log_ranges()
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set jit = off
as $$
declare
    states jsonb := postrider.known_lanes();
    known record;
    recent_from bigint;
    left_from bigint;
begin
    select
        coalesce(bool_and(p.state ? 'open'), false) as is_known,
        (min(pg_snapshot_xmin(p.tail_top)::text::numeric))::text::xid8 as unread_xid,
        min(p.tail_id) as walked,
        min(p.open_from) as open_from,
        (min(pg_snapshot_xmin(p.lag_top)::text::numeric))::text::xid8 as left_xid,
        min(p.lag_id) as left_walked,
        case when bool_and(p.lag_last is not null or p.lag_top is null) then max(p.lag_last) end
            as left_to,
        count(*) filter (where p.lag_top is not null) as lag_count
    into known
    from (
        select
            s.state,
            (coalesce(s.state #>> '{tail,window,top}', s.state #>> '{tail,base}'))::pg_snapshot
                as tail_top,
            (s.state #>> '{tail,window,id}')::bigint as tail_id,
            (s.state #>> '{open,0,0}')::bigint as open_from,
            (coalesce(s.state #>> '{lag,position,window,top}', s.state #>> '{lag,position,base}'))
                ::pg_snapshot as lag_top,
            (s.state #>> '{lag,position,window,id}')::bigint as lag_id,
            (s.state #>> '{lag,last}')::bigint as lag_last
        from (
            select l.value as state
            from jsonb_each(states -> 'lanes') l
            union all
            select h.value
            from jsonb_each(states -> 'shards') h
        ) s
    ) p;
    if not known.is_known
        or (select count(*) from jsonb_object_keys(states -> 'shards')) < postrider.shard_count()
    then
        -- A shard that nobody has read, or read by an older version.
        recent_from := postrider.pending_floor();
        return array[recent_from, recent_from, recent_from];
    end if;
    recent_from := least(
        postrider.lowest_id_since(known.unread_xid), known.walked, known.open_from - 1);
    if known.lag_count = 0 then
        return array[recent_from, recent_from, recent_from];
    end if;
    left_from := least(
        recent_from, postrider.lowest_id_since(known.left_xid), known.left_walked);
    return array[
        left_from, greatest(left_from, least(recent_from, known.left_to)), recent_from];
end;
$$;
