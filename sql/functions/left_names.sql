-- postrider.left_names() → names of the endpoints whose messages may be left to a lag
--
-- Application, operator, admin, monitor: the view queue calls it once, so that who asks for an endpoint that keeps up
-- does not look through what it was sent since another one has no room. A target that is gone has no name, and nothing
-- that waits. Uses what known_lanes uses.
create or replace function postrider.left_names()
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set jit = off
as $$
declare
    states jsonb := postrider.known_lanes();
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
