-- postrider.redrive_letters(dead letter ids, by, from, gap) → how many were put back
--
-- Internal. One statement: each letter that is still `failed`, was not erased, and whose endpoint is there,
-- becomes `redriven` and its delivery waits again, due in the order of creation: the first at `from`, each other
-- one `gap` later. One that somebody else has locked is passed over. A delivery that waits already, which
-- no letter should have, is left as it is. What had been claimed of the others before is void from now on (see
-- standing_claims): nothing of it has been attempted since. Uses dead_letter_pkey.
create or replace function postrider.redrive_letters(
    p_ids bigint[], p_by text, p_from timestamptz, p_gap interval)
returns integer
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    with wanted as materialized (
        -- Each by its index, whatever the plan was made for.
        select o.ctid
        from unnest(p_ids) i (id)
        cross join lateral (
            select l.ctid
            from postrider.dead_letter l
            where l.id = i.id
            and l.status = 'failed'
            and l.erased_at is null
            and exists (select from postrider.endpoints e where e.id = l.endpoint_id)
            offset 0
            for update of l skip locked
        ) o
    ), put_back as (
        update postrider.dead_letter l
        set status = 'redriven', redriven_at = clock_timestamp(), redriven_by = p_by
        where l.ctid = any (array(select w.ctid from wanted w))
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at, l.ordering_key
    ), placed as (
        select
            p.message_id, p.target, p.endpoint_id, p.message_created_at, p.ordering_key,
            row_number() over (order by p.message_id, p.target) - 1 as place
        from put_back p
    ), waiting as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
        select
            p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
            p_from + p.place * p_gap, p.message_created_at, p.ordering_key
        from placed p
        on conflict (message_id, target) do nothing
        returning message_id, target
    ), made_void as (
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        select
            postrider.current_slot(), '00000000-0000-0000-0000-000000000000'::uuid,
            array_agg(w.message_id), array_agg(w.target), array_agg(0)
        from waiting w
        having count(*) > 0
    )
    select count(*)::integer
    from put_back p;
$$;
