-- postrider.is_made_void(message_id, target, seq) → whether the claim with this number is about a delivery that has been
-- redriven since
--
-- Internal: is_claimed and is_in_hand ask it of a claim that names the delivery. standing_claims knows it of all at once.
-- See there. Uses claim_owner.
create or replace function postrider.is_made_void(p_message_id bigint, p_target integer, p_seq bigint)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select exists (
        select
        from postrider.claim v
        where v.owner = '00000000-0000-0000-0000-000000000000'
        and v.seq > p_seq
        and v.message_ids @> array[p_message_id]
        and exists (
            select
            from unnest(v.message_ids, v.targets) r (message_id, target)
            where r.message_id = p_message_id
            and r.target = p_target
        )
    );
$$;
