-- postrider.standing_claims(owners, shards, message_ids) → message_id, target, retry_count: what has been claimed of
-- each of these shards by the owner beside it
--
-- Internal. A delivery may be named more than once. What was claimed before its delivery was redriven is left out: it
-- is about a delivery that has ended, and the one that waits now has the same id, target and retry count. Redriving
-- says so by a claim of nobody (the nil UUID, see redrive_letters): its number is above those of the claims before
-- it, and below those of the claims after it, whatever clocks do. Read once, however many shards an owner has, and
-- joined by hashes, whatever the plan was made for. Where messages are given, claims that name none of them are left
-- out as a whole: first by the lowest and the highest of them, which takes no claim apart, and then one by one. What
-- it says of other messages beside these is of no use. Uses claim_owner.
create or replace function postrider.standing_claims(
    p_owners uuid[], p_shards smallint[], p_message_ids bigint[] default null)
returns table (message_id bigint, target integer, retry_count integer)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set enable_mergejoin = off
set enable_nestloop = off
set jit = off
as $$
    with bounds as materialized (
        select min(i.id) as lowest, max(i.id) as highest
        from unnest(p_message_ids) i (id)
    ), claimed as materialized (
        select c.owner, c.seq, r.message_id, r.target, r.retry_count
        from postrider.claim c
        cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
            r (message_id, target, retry_count)
        where c.owner = any (p_owners)
        and (
            p_message_ids is null
            -- A case, for the order.
            or case
                when (select b.lowest from bounds b) <= any (c.message_ids)
                    and (select b.highest from bounds b) >= any (c.message_ids)
                then c.message_ids && p_message_ids
            end
        )
    ), made_void as materialized (
        select r.message_id, r.target, c.seq
        from postrider.claim c
        cross join lateral unnest(c.message_ids, c.targets) r (message_id, target)
        where c.owner = '00000000-0000-0000-0000-000000000000'
        and (r.message_id & 1023) >> 4 = any (p_shards)
        and (
            p_message_ids is null
            or case
                when (select b.lowest from bounds b) <= any (c.message_ids)
                    and (select b.highest from bounds b) >= any (c.message_ids)
                then c.message_ids && p_message_ids
            end
        )
    ), owned as materialized (
        select distinct o.owner, o.shard
        from unnest(p_owners, p_shards) o (owner, shard)
        where o.owner is not null
    )
    select c.message_id, c.target, c.retry_count
    from claimed c
    join owned o on o.owner = c.owner and o.shard = (c.message_id & 1023) >> 4
    where not exists (
        select
        from made_void v
        where v.message_id = c.message_id
        and v.target = c.target
        and v.seq > c.seq
    );
$$;
