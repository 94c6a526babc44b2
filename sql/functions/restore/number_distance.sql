-- postrider.number_distance(from, to) → how many sequence numbers behind the first, up to the second, were given away
--
-- Internal. Without those that adopt or use_up_numbers went past (number_gap), which would count as messages.
create or replace function postrider.number_distance(p_from bigint, p_to bigint)
returns bigint
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select p_to - p_from - coalesce(sum(least(g.last_number, p_to) - greatest(g.after_number, p_from)), 0)::bigint
    from postrider.number_gap g
    where g.after_number < p_to
    and g.last_number > p_from;
$$;
