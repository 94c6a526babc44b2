-- postrider.is_taken(message_id, xid, targets) → whether a dispatcher has taken the message
--
-- Targets: those whose messages may be left to the lag; none for a message that expires.
-- Application, operator, admin, monitor: views call it. The same rule as LaneState::is_taken of postrider-core, on
-- the newest checkpoint of the message's shard: what is not taken there was not attempted. Uses
-- checkpoint_seq, from its end.
create or replace function postrider.is_taken(
    p_message_id bigint, p_xid xid8, p_targets integer[])
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    lane integer := p_message_id & 1023;
    whole jsonb;
    lane_state jsonb;
    skipped jsonb;
begin
    select c.state
    into whole
    from postrider.checkpoint c
    where c.shards @> array[(lane >> 4)::smallint]
    order by c.seq desc
    limit 1;
    -- A group without lanes stands for all that no other group names.
    select g.value -> 'state'
    into lane_state
    from jsonb_array_elements(whole) g
    where g.value -> 'lanes' @> to_jsonb(lane)
    or not g.value ? 'lanes'
    order by g.value ? 'lanes' desc
    limit 1;
    if lane_state is null then
        return false;
    end if;
    if cardinality(p_targets) = 1 then
        skipped := lane_state #> array['lag', 'skipped', p_targets[1]::text];
        if skipped is not null
            and not postrider.is_position_behind(skipped, p_xid, p_message_id)
        then
            return postrider.is_position_behind(
                lane_state #> '{lag,position}', p_xid, p_message_id);
        end if;
    end if;
    return postrider.is_position_behind(lane_state -> 'tail', p_xid, p_message_id);
end;
$$;
