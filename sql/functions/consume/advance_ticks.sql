-- postrider.advance_ticks() → whether it made a tick, and in how many milliseconds another can be made
--
-- Internal, by every dispatcher that has seen something new, and now and then. No row while there is
-- no consumer. See append_tick.
create or replace function postrider.advance_ticks()
returns table (is_made boolean, interval_ms integer)
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.append_tick() is not null, s.value::integer
    from postrider.setting s
    where s.name = 'tick_interval_ms'
    and exists (select from postrider.consumer c);
$$;
