-- postrider.claim_idempotency_key(destination, key, payload_hash, message_id) → the key's message
--
-- Internal. Either this message becomes the key's, or the message that has the key already is
-- returned. Waits for a transaction that is about to claim the same key. Raises 23505 when the key is
-- held with another payload.
create or replace function postrider.claim_idempotency_key(
    p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    holder_id bigint;
begin
    loop
        insert into postrider.idempotency_key (destination, key, message_id, payload_hash)
        values (p_destination, p_key, p_message_id, p_payload_hash)
        on conflict (destination, key) do nothing;
        if found then
            return p_message_id;
        end if;
        -- It may have been freed meanwhile.
        holder_id := postrider.idempotency_key_holder(p_destination, p_key, p_payload_hash);
        if holder_id is not null then
            return holder_id;
        end if;
    end loop;
end;
$$;
