-- postrider.done_before() → the transaction id below which every message of every shard is finished
--
-- Application, operator, admin, monitor: views call it. The oldest of the shards' newest checkpoints. Uses
-- checkpoint_seq, from its end.
create or replace function postrider.done_before()
returns xid8
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select (min(coalesce(newest.done_xmin, '3')::text::numeric))::text::xid8
    from postrider.shard s
    left join lateral (
        select c.done_xmin
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
$$;
