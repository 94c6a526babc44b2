-- postrider.cancel_lock(message_id) → the second number of the advisory lock of its cancellation
--
-- Internal. The low 31 bits of the sequence number; two messages that share it only wait a little.
create or replace function postrider.cancel_lock(p_message_id bigint)
returns integer
language sql
immutable
parallel safe
as $$
    select ((p_message_id >> 10) & 2147483647)::integer;
$$;
