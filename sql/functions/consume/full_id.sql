-- postrider.full_id(id) → the id of a transaction with its epoch
--
-- Internal, for what a row says of who has locked it, in 32 bits: the one that is nearest to the present.
create or replace function postrider.full_id(p_id bigint)
returns xid8
language sql
stable
parallel safe
as $$
    select (n.present + ((p_id - n.present + 2147483648) & 4294967295) - 2147483648)::text::xid8
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) n (present);
$$;
