-- postrider.is_at_end(position) → whether no tick has come since it was read to the end
--
-- Internal. By the sequence that ticks get their ids from, so that nothing is locked but that. False for
-- ordering `transaction`.
create or replace function postrider.is_at_end(p_position postrider.consumer_position)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        p_position.tick is not null
        and p_position.message_id = 9223372036854775807
        and coalesce(pg_sequence_last_value('postrider.tick_sequence'), 0) <= p_position.tick;
$$;
