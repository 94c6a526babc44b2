-- postrider.left_endpoints() → the names of endpoints of which messages may be left to a lag
--
-- Application, operator, admin, monitor: the view queue calls it once, so that it looks for nobody else's there. Uses
-- what lane_states uses.
create or replace function postrider.left_endpoints()
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set jit = off
as $$
declare
    states jsonb := postrider.lane_states();
begin
    return array(
        select distinct e.name
        from (
            select l.value as state
            from jsonb_each(states -> 'lanes') l
            union all
            select h.value
            from jsonb_each(states -> 'shards') h
        ) s
        cross join lateral jsonb_object_keys(s.state #> '{lag,skipped}') k (target)
        join postrider.subscriptions b on b.id = k.target::integer
        join postrider.endpoints e on e.id = b.endpoint_id
    );
end;
$$;
