-- postrider.idempotency_key_holder(destination, key, payload_hash) → the message that holds a key
--
-- Internal. Null when the key is free: when its message has ended, and idempotency_window has passed
-- since it was claimed or nothing came of it (was_taken_back). What is left of such a key is taken away. Raises 23505 when the key is held
-- with another payload.
--
-- Without sequential scans: keys come and go, and a plan that a session made while the table was
-- empty would read all of it for each send later.
--
-- A key that is held is only read, never locked: the dispatcher that frees it must not wait for an
-- application's transaction. Whether the message has ended is looked up here once more, because two
-- of its deliveries may end at the same moment (one delivered, one cancelled), neither of them seen by
-- the transaction of the other. A message for nobody has ended when a dispatcher says so.
create or replace function postrider.idempotency_key_holder(
    p_destination integer, p_key text, p_payload_hash bytea)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    holder postrider.idempotency_key;
begin
    select k.*
    into holder
    from postrider.idempotency_key k
    where k.destination = p_destination
    and k.key = p_key;
    if holder.key is null then
        return null;
    end if;

    if (case
            when holder.created_at + postrider.idempotency_window() <= clock_timestamp()
            then holder.ended_at is not null
                or not exists (
                    select
                    from postrider.message m
                    where m.id = holder.message_id
                    and (m.targets = '{}' or not postrider.has_ended_everywhere(m.id, m.targets))
                )
            else holder.ended_at is null
                and exists (
                    select
                    from postrider.message m
                    where m.id = holder.message_id
                    and postrider.was_taken_back(m.id, m.targets)
                )
        end)
    then
        delete from postrider.idempotency_key k
        where k.destination = p_destination
        and k.key = p_key
        and k.message_id = holder.message_id;
        return null;
    end if;

    if holder.payload_hash <> p_payload_hash then
        raise exception 'Idempotency key ''%'' conflict: same key with different payload', p_key
            using errcode = '23505',
                hint = format('The key belongs to message %s.', holder.message_id);
    end if;
    return holder.message_id;
end;
$$;
