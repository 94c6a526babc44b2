-- postrider.rotate_slots() → how many slots were emptied
--
-- Internal, by any dispatcher once a minute. Empties the slot that comes next, so that it is empty
-- when its time comes. A slot that still holds the newest checkpoint of a shard, or a lease that runs, is
-- left as it is.
create or replace function postrider.rotate_slots()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    next_slot smallint := (postrider.current_slot() + 1) % 3;
    emptied integer := 0;
    is_needed boolean;
begin
    if not postrider.take_chore('slots') then
        return 0;
    end if;
    select exists (
        select
        from postrider.shard s
        cross join lateral (
            select c.slot
            from postrider.checkpoint c
            where c.shards @> array[s.shard]
            order by c.seq desc
            limit 1
        ) newest
        where newest.slot = next_slot
    ) into is_needed;
    if not is_needed then
        emptied := emptied + postrider.empty_slot('checkpoint', next_slot)::integer;
    end if;
    emptied := emptied + postrider.empty_slot('claim', next_slot)::integer;
    -- Ten minutes after the last grant there is nothing left to be remembered.
    emptied := emptied + postrider.empty_slot('rate_grant', next_slot)::integer;
    delete from postrider.rate_turn t
    where t.endpoint_id in (
        select d.endpoint_id
        from postrider.rate_turn d
        where not exists (select from postrider.endpoints e where e.id = d.endpoint_id)
        for update of d skip locked
    );

    select exists (
        select
        from postrider.heartbeat h
        where h.slot = next_slot
        and h.lease_until > clock_timestamp()
    ) into is_needed;
    if not is_needed then
        emptied := emptied + postrider.empty_slot('heartbeat', next_slot)::integer;
    end if;
    return emptied;
end;
$$;
