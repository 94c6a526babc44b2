-- postrider.redrive_all(rate) → how many dead letters were put back
--
-- Admin. See redrive_matching, of which it is the short form without a filter.
create or replace function postrider.redrive_all(p_rate integer default null)
returns integer
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.redrive_matching(p_rate => redrive_all.p_rate);
$$;
