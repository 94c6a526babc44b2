-- postrider.keep_dead_letter(body, x_death, details)
--
-- Internal: the dead letter handler, for a message that it cannot read. Keeps it as it is.
create or replace function postrider.keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb)
returns void
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    insert into postrider.execution_dead_letter (outcome, carrier, x_death, body, details)
    values ('unreadable', 'rabbitmq', p_x_death, p_body, p_details);
$$;
