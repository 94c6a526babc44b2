-- postrider.tell_deliveries(verb, message_ids, targets, reason, from, gap) → how many were told, and how many somebody
-- has
--
-- Internal: a step of tell_batch and cancel_batch. Locks rows, passing over what is locked or cancelled (see uncancelled),
-- and then looks which of them a dispatcher has claimed: it writes its claim and then looks whether the row is there and whether it is locked
-- (still_waiting), so that whoever comes second sees the first. What an owner had claimed that died is claimed until it is recovered. `retry`: due from `from` on, each a `gap` after the one
-- before; what is in hand needs none. Others: see end_deliveries. Uses deferred_pkey.
create or replace function postrider.tell_deliveries(
    p_verb text,
    p_message_ids bigint[],
    p_targets integer[],
    p_reason text,
    p_from timestamptz,
    p_gap interval,
    out told_count bigint,
    out held_count bigint)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set jit = off
as $$
declare
    places tid[];
    uncancelled record;
    free tid[];
begin
    select
        coalesce(array_agg(d.ctid) filter (where d.ctid is not null), '{}'),
        count(*) filter (where d.ctid is null and postrider.is_deferred(i.message_id, i.target))
    into places, held_count
    from unnest(p_message_ids, p_targets) i (message_id, target)
    left join lateral (
        select w.ctid
        from postrider.deferred w
        where w.message_id = i.message_id
        and w.target = i.target
        offset 0
        for update skip locked
    ) d on true;
    uncancelled := postrider.uncancelled(places);
    held_count := held_count + uncancelled.under_way_count;
    with claimed as materialized (
        select h.message_id, h.target, h.retry_count
        from (
            select array_agg(o.owner) as owners, array_agg(o.shard) as shards
            from postrider.claim_holders() o
        ) s
        cross join lateral postrider.standing_claims(s.owners, s.shards, p_message_ids) h
    )
    select coalesce(array_agg(d.ctid order by d.message_id, d.target), '{}')
    into free
    from postrider.deferred d
    where d.ctid = any (uncancelled.free)
    and not exists (
        select
        from claimed c
        where c.message_id = d.message_id
        and c.target = d.target
        and c.retry_count = d.retry_count
    );
    told_count := cardinality(free);
    if p_verb <> 'retry' then
        held_count := held_count + cardinality(uncancelled.free) - told_count;
        perform postrider.end_deliveries(free, p_verb, p_reason);
        return;
    end if;
    update postrider.deferred d
    set run_at = least(d.run_at, p_from + (f.place - 1) * p_gap)
    from unnest(free) with ordinality f (ctid, place)
    where d.ctid = f.ctid;
end;
$$;
