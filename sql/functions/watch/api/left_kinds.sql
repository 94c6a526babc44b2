-- postrider.left_kinds() → of which kinds messages may be left to a lag: direct (sent to an endpoint), one (published)
--
-- Application, operator, admin, monitor: the view queue calls it once, so that it looks for no others there. Uses what
-- known_lanes uses.
create or replace function postrider.left_kinds()
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
    -- Of a target that is gone nobody knows what it was.
    return array(
        select distinct n.kind
        from (
            select l.value as state
            from jsonb_each(states -> 'lanes') l
            union all
            select h.value
            from jsonb_each(states -> 'shards') h
        ) s
        cross join lateral jsonb_object_keys(s.state #> '{lag,skipped}') k (target)
        left join postrider.subscriptions b on b.id = k.target::integer
        cross join lateral (values ('direct'), ('one')) n (kind)
        where b.id is null
        or (n.kind = 'direct') = (b.event_type is null)
    );
end;
$$;
