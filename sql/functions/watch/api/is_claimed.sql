-- postrider.is_claimed(message_id, target, retry_count) → whether a dispatcher has this waiting delivery
-- in hand
--
-- Application, operator, admin, monitor: views call it. A claim that names another retry count is about an
-- earlier attempt. Looks at the 200 newest claims of the shard's owner, so that its cost has a bound:
-- a delivery that has been in hand for longer than it takes to write these counts as waiting. Uses
-- claim_owner.
create or replace function postrider.is_claimed(
    p_message_id bigint, p_target integer, p_retry_count integer)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (
        select
        from (
            select c.seq, c.message_ids, c.targets, c.retry_counts
            from postrider.claim c
            where c.owner = (
                select s.owner
                from postrider.shard s
                where s.shard = (p_message_id & 1023) >> 4
            )
            order by c.seq desc
            limit 200
        ) newest
        where newest.message_ids @> array[p_message_id]
        and exists (
            select
            from unnest(newest.message_ids, newest.targets, newest.retry_counts)
                r (message_id, target, retry_count)
            where r.message_id = p_message_id
            and r.target = p_target
            and r.retry_count = p_retry_count
        )
        and not postrider.is_made_void(p_message_id, p_target, newest.seq)
    );
end;
$$;
