-- postrider.left_names() → names of the endpoints of which messages that were sent to them may be left to a lag
--
-- Application, operator, admin, monitor: the view queue calls it once, so that who asks for an endpoint that keeps up
-- does not look through what it was sent since another one has no room. Of a target that is gone nobody knows whose it
-- was: then every name counts that is in the log. Uses message_endpoint_id, and what known_lanes uses.
create or replace function postrider.left_names()
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    states jsonb := postrider.known_lanes();
    names text[];
begin
    select array_agg(distinct e.name)
    into names
    from (
        select l.value as state
        from jsonb_each(states -> 'lanes') l
        union all
        select h.value
        from jsonb_each(states -> 'shards') h
    ) s
    cross join lateral jsonb_object_keys(s.state #> '{lag,skipped}') k (target)
    left join postrider.subscriptions b on b.id = k.target::integer
    left join postrider.endpoints e on e.id = b.endpoint_id;
    if array_position(names, null) is null then
        return names;
    end if;
    return array(
        -- From each name to the next one, by the index.
        with recursive found as (
            select min(m.endpoint_name) as name
            from postrider.message m
            union all
            select (
                select min(m.endpoint_name)
                from postrider.message m
                where m.endpoint_name > f.name
            )
            from found f
            where f.name is not null
        )
        select f.name
        from found f
        where f.name is not null
    );
end;
$$;
