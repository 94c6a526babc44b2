-- postrider.changes_between(before, after) → {"before": …, "after": …}: what differs, both empty where nothing does
--
-- Internal, for event_log, where every change has both.
create or replace function postrider.changes_between(p_before jsonb, p_after jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select jsonb_build_object(
        'before', coalesce(jsonb_object_agg(k.key, p_before -> k.key), '{}'),
        'after', coalesce(jsonb_object_agg(k.key, p_after -> k.key), '{}'))
    from (
        select jsonb_object_keys(coalesce(p_before, '{}') || coalesce(p_after, '{}'))
    ) k (key)
    where p_before -> k.key is distinct from p_after -> k.key;
$$;
