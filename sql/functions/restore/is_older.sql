-- postrider.is_older(xmin, xid) → whether a row was written by a transaction with a lower id; false for none
--
-- Internal: bring_back. Of a row that its reader sees, so the two are less than 2³¹ apart, or the row is as old as
-- can be.
create or replace function postrider.is_older(p_xmin xid, p_xid xid8)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select coalesce(age(p_xmin) > age(p_xid::xid), false);
$$;
