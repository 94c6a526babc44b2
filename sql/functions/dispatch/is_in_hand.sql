-- postrider.is_in_hand(message_id, target, retry_count) → whether a dispatcher may be attempting this waiting
-- delivery
--
-- Internal: verbs of operators, who have locked its row before they ask. A dispatcher writes its claim and then looks
-- whether the row is there and whether somebody has locked it (still_waiting): whoever comes second sees the first.
-- Unlike is_claimed it looks at all claims of the shard's owner, and of those before it whose claims nobody has recovered
-- (see claim_holders), and is right. A delivery that was claimed and not
-- attempted, because its endpoint was paused or its circuit is open, seems to be in hand until its claim is forgotten
-- (rotate_slots). Uses claim_owner.
create or replace function postrider.is_in_hand(
    p_message_id bigint, p_target integer, p_retry_count integer)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select exists (
        select
        from postrider.claim c
        where c.owner = any (array(
            select unnest(s.unrecovered || s.owner)
            from postrider.shard s
            where s.shard = (p_message_id & 1023) >> 4
        ))
        and c.message_ids @> array[p_message_id]
        and exists (
            select
            from unnest(c.message_ids, c.targets, c.retry_counts)
                r (message_id, target, retry_count)
            where r.message_id = p_message_id
            and r.target = p_target
            and r.retry_count = p_retry_count
        )
        and not postrider.is_made_void(p_message_id, p_target, c.seq)
    );
$$;
