-- postrider.rotate_slots() → how many slots were emptied
--
-- Internal, by any dispatcher once a minute. Empties the slot that comes next, so that it is empty
-- when its time comes. A slot that still holds the newest checkpoint of a shard is left as it is.
create or replace function postrider.rotate_slots()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '100ms'
as $$
declare
    next_slot smallint := (postrider.current_slot() + 1) % 3;
    emptied integer := 0;
    is_filled boolean;
    is_needed boolean;
begin
    if not pg_try_advisory_xact_lock(1886352244, 1003) then
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
    select exists (select from postrider.checkpoint c where c.slot = next_slot) into is_filled;
    if is_filled and not is_needed then
        execute format('truncate postrider.checkpoint_%s', next_slot);
        emptied := emptied + 1;
    end if;

    select exists (select from postrider.claim c where c.slot = next_slot) into is_filled;
    if is_filled then
        execute format('truncate postrider.claim_%s', next_slot);
        emptied := emptied + 1;
    end if;

    -- Ten minutes after the last grant there is nothing left to be remembered.
    select exists (select from postrider.rate_grant g where g.slot = next_slot) into is_filled;
    if is_filled then
        execute format('truncate postrider.rate_grant_%s', next_slot);
        emptied := emptied + 1;
    end if;

    select exists (
        select
        from postrider.heartbeat h
        where h.slot = next_slot
        and h.lease_until > clock_timestamp()
    ) into is_needed;
    select exists (select from postrider.heartbeat h where h.slot = next_slot) into is_filled;
    if is_filled and not is_needed then
        execute format('truncate postrider.heartbeat_%s', next_slot);
        emptied := emptied + 1;
    end if;
    return emptied;
end;
$$;
