-- postrider.message_partition(ordering_key, id, count) → the partition of a consumer that reads it
--
-- Internal. 0 to count - 1: all messages of one ordering key in one partition, others in turn. By sha256,
-- which no version of PostgreSQL will ever compute differently. A plain SQL function, so that the planner
-- puts it in its place.
create or replace function postrider.message_partition(
    p_ordering_key text, p_id bigint, p_count integer)
returns integer
language sql
immutable
parallel safe
as $$
    select
        case
            when p_count = 1 then 0
            when p_ordering_key is null then ((p_id >> 10) % p_count)::integer
            else get_byte(sha256(convert_to(p_ordering_key, 'UTF8')), 2) % p_count
        end;
$$;
