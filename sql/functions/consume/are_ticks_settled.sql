-- postrider.are_ticks_settled() → whether the ticks that are seen are those that count
--
-- Internal: next_ticks. Not while somebody makes a tick past another one: whether that one
-- counts shows when it is there. The epoch is read later than the snapshot in which ticks are looked for: it had not
-- risen by then, so whoever lets it rise sees what is seen here, and builds on it. On a standby sequences are
-- ahead by up to 32, so nothing can be told by them; what is read there may count for nothing later. Uses tick_id.
create or replace function postrider.are_ticks_settled()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    present constant bigint := coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0);
begin
    return present = 0
        or pg_is_in_recovery()
        or present = (select t.epoch from postrider.tick t order by t.id desc limit 1);
end;
$$;
