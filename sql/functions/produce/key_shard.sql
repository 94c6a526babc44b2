-- postrider.key_shard(ordering_key) → the shard of all messages with this key
--
-- Internal. By sha256, which no version of PostgreSQL will ever compute differently: a key that
-- changed its shard would have two owners. In plpgsql, which keeps its plan for the session.
create or replace function postrider.key_shard(p_ordering_key text)
returns integer
language plpgsql
immutable
parallel safe
as $$
declare
    digest bytea := sha256(convert_to(p_ordering_key, 'UTF8'));
begin
    return (get_byte(digest, 0) * 256 + get_byte(digest, 1)) % postrider.shard_count();
end;
$$;
