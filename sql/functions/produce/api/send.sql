-- postrider.send(endpoint_name, payload) → the message's id
--
-- Producer, application, admin. The short form of send_with_options. A plain SQL function without settings of
-- its own, so that the planner puts the longer call in its place and the short form costs nothing.
create or replace function postrider.send(endpoint_name text, payload jsonb)
returns bigint
language sql
as $$
    select postrider.send_with_options(endpoint_name, payload);
$$;
