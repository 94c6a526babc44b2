-- postrider.note_broker(process, is_connected, dead_letter_depth, error)
--
-- Internal, by every dispatcher that has a broker, every 10 seconds: whether it is connected, how many
-- messages are in the dead letter queue (null: not known) and what is wrong, of which 1,000 characters are
-- kept. Forgets what processes said an hour ago.
create or replace function postrider.note_broker(
    p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text)
returns void
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    delete from postrider.broker_report b
    where b.at < clock_timestamp() - interval '1 hour'
    and b.process <> p_process;
    insert into postrider.broker_report (process, at, is_connected, dead_letter_depth, error)
    values (
        p_process, clock_timestamp(), p_is_connected, p_dead_letter_depth, left(p_error, 1000))
    on conflict (process) do update
    set at = excluded.at,
        is_connected = excluded.is_connected,
        dead_letter_depth = excluded.dead_letter_depth,
        error = excluded.error;
$$;
