-- postrider.consumer_figures() → the view consumers, or nothing while the log is locked
--
-- Internal, by metrics.
create or replace function postrider.consumer_figures()
returns table (
    name text,
    partition integer,
    message_count bigint,
    lag_messages bigint,
    lag_seconds double precision,
    parked_count bigint)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return query
    select c.name, c.partition, c.message_count, c.lag_messages, c.lag_seconds, c.parked_count
    from postrider.consumers c;
exception
    when lock_not_available then
        return;
end;
$$;
