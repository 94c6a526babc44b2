-- postrider.recover_claims(dispatcher, shards, epochs, last_owner, spared, spared_targets) → see postrider.recover_waiting
--
-- Internal. Waiting deliveries that the last owner of these shards had in hand when it went away, or those before it
-- whose claims nobody has recovered, each in the shards where that is so (see standing_claims): who has released a shard
-- has nothing in hand there, whatever it has claimed. All claims of these are read once, so all shards that had one last
-- owner come together. Those that are spared, or whose message is where no targets are named, are known not to have been
-- attempted.
create or replace function postrider.recover_claims(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_last_owner uuid,
    p_spared bigint[],
    p_spared_targets integer[] default null)
returns table (
    recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    places tid[];
begin
    return query
    with of_shards as (
        select array_agg(o.owner) as owners, array_agg(o.shard) as shards
        from (
            select p_last_owner as owner, r.shard
            from unnest(p_shards) r (shard)
            union
            select u.owner, s.shard
            from postrider.shard s
            cross join lateral unnest(s.unrecovered) u (owner)
            where s.shard = any (p_shards)
        ) o
    )
    select w.recovered, w.held_ids, w.held_targets, w.held_retry_counts
    from (
        select
            coalesce(array_agg(d.message_id), '{}') as ids, array_agg(d.target) as targets,
            array_agg(d.retry_count) as retry_counts
        from (
            select distinct r.message_id, r.target, r.retry_count
            from of_shards o
            cross join lateral postrider.standing_claims(o.owners, o.shards) r
            -- A search by hash: through as many as a dispatcher may have in hand, for each of as many as were claimed.
            where (r.message_id, r.target) not in (
                select s.message_id, s.target
                from unnest(p_spared, p_spared_targets) s (message_id, target)
                where s.target is not null
            )
            and r.message_id not in (
                select s.message_id
                from unnest(p_spared, p_spared_targets) s (message_id, target)
                where s.target is null
            )
        ) d
    ) c
    cross join lateral postrider.recover_waiting(
        p_dispatcher, p_shards, p_epochs, c.ids, c.targets, c.retry_counts) w;
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return;
    end if;
    -- A row that somebody holds says so again to whoever comes next, who finds what nobody has attempted since.
    select array_agg(n.ctid)
    into places
    from unnest(p_shards, p_epochs) o (shard, epoch)
    cross join lateral (
        select s.ctid
        from postrider.shard s
        where s.shard = o.shard
        and s.epoch = o.epoch
        and s.owner = p_dispatcher
        and s.unrecovered <> '{}'
        offset 0
        for no key update skip locked
    ) n;
    update postrider.shard s
    set unrecovered = '{}'
    where s.ctid = any (places);
end;
$$;
