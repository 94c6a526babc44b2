-- postrider.take_out_of_attempts(message_ids) → how many attempts
--
-- Internal: a step of erase_logged, erase_letters and erase_parked. What was answered to these messages' attempts, and what went wrong in words; the
-- outcome and its number stay. What somebody has locked is passed over. Uses attempt_message_id.
create or replace function postrider.take_out_of_attempts(p_message_ids bigint[])
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    attempt record;
    changed bigint := 0;
begin
    -- By partition and place: nothing else tells two attempts apart.
    for attempt in
        select a.tableoid::regclass as part, array_agg(a.place) as places
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select t.tableoid, t.ctid as place
            from postrider.attempt t
            where t.message_id = i.id
            and (t.error <> '(erased)' or t.response_body is not null)
            offset 0
            for update skip locked
        ) a
        group by a.tableoid
    loop
        execute format(
            $change$
            update %s a
            set error = case when a.error is not null then '(erased)' end,
                response_headers = null,
                response_body = null,
                response_truncated = null
            where a.ctid = any ($1)
            $change$, attempt.part)
        using attempt.places;
        changed := changed + cardinality(attempt.places);
    end loop;
    return changed;
end;
$$;
