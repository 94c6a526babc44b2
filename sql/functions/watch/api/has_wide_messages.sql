-- postrider.has_wide_messages() → whether a message in the log was published to more than four targets
--
-- Application, operator, admin, monitor: views call it, once, and without any leave the part for these out: a planner
-- that has no statistics yet may read the whole log for it. Uses message_published_id.
create or replace function postrider.has_wide_messages()
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    -- In this order there is one index, whose last row says it.
    return coalesce(
        (
            select cardinality(m.targets) > 4
            from postrider.message m
            where m.event_type is not null
            order by cardinality(m.targets) > 1 desc, cardinality(m.targets) > 4 desc, m.id desc
            limit 1
        ), false);
end;
$$;
