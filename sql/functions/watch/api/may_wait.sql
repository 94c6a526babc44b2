-- postrider.may_wait(states, message_id, xid, targets) → false: all about the message is on record
--
-- Application, operator, admin, monitor: the view queue calls it for messages of the log, before it looks up what is
-- recorded of each. States: what lane_states says. Targets: as for is_taken. The same rule as LaneState::may_wait of
-- postrider-core, and what is known besides: everything before done_before has ended. Reads no table.
create or replace function postrider.may_wait(
    p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[])
returns boolean
language plpgsql
stable
security definer
cost 500
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    lane integer := p_message_id & 1023;
    state jsonb := coalesce(
        p_states #> array['lanes', lane::text], p_states #> array['shards', (lane >> 4)::text]);
    taken_up_to jsonb := state -> 'tail';
    skipped jsonb;
    place jsonb;
begin
    -- A lag of an older version has messages that expire, too.
    if state is null or state ? 'lag' and state #>> '{lag,spares_expiring}' is distinct from 'true' then
        return true;
    end if;
    if p_xid < (p_states ->> 'done_before')::xid8
        or p_states -> 'done' ? (p_message_id >> 10)::text
    then
        return false;
    end if;
    if state ? 'open' then
        if cardinality(p_targets) = 1 then
            skipped := state #> array['lag', 'skipped', p_targets[1]::text];
            if skipped is not null
                and not postrider.is_position_behind(skipped, p_xid, p_message_id)
            then
                taken_up_to := state #> '{lag,position}';
            end if;
        end if;
        return not postrider.is_position_behind(taken_up_to, p_xid, p_message_id)
            or exists (
                select
                from jsonb_array_elements(state -> 'open') r
                where p_message_id between (r.value ->> 0)::bigint and (r.value ->> 1)::bigint
            );
    end if;
    -- Written by an older version.
    for place in
        select d.value
        from jsonb_array_elements(state -> 'done') d
    loop
        if not postrider.is_position_behind(place, p_xid, p_message_id) then
            return true;
        end if;
    end loop;
    return not state ? 'done';
end;
$$;
