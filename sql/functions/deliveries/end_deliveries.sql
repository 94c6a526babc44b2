-- postrider.end_deliveries(places, verb, reason) → how many
--
-- Internal. Ends waiting deliveries that the caller has locked, and of which it has seen since that no dispatcher has
-- them in hand: `fail` makes dead letters, `skip` and `cancel` write into postrider.ended. What waited behind them is
-- the dispatcher's to let go, as in cancel_message.
create or replace function postrider.end_deliveries(p_places tid[], p_verb text, p_reason text)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    gone record;
begin
    with gone as (
        delete from postrider.deferred d
        where d.ctid = any (p_places)
        returning
            d.message_id, d.target, d.endpoint_id, d.retry_count, d.ordering_key, d.is_blocked
    )
    select
        count(*)::integer as ended_count,
        array_agg(g.message_id) as message_ids, array_agg(g.target) as targets,
        array_agg(g.endpoint_id) as endpoint_ids, array_agg(g.retry_count) as retry_counts,
        -- What was blocked has blocked nobody.
        array_agg(distinct g.ordering_key)
            filter (where g.ordering_key is not null and not g.is_blocked) as ordering_keys
    into gone
    from gone g;
    if gone.ended_count = 0 then
        return 0;
    end if;
    if p_verb = 'fail' then
        perform postrider.bury(
            gone.message_ids, gone.targets, gone.endpoint_ids,
            array_fill('operator'::text, array[gone.ended_count]), gone.retry_counts,
            array_fill('[OPERATOR] ' || p_reason, array[gone.ended_count]));
    else
        insert into postrider.ended (message_id, target, endpoint_id, reason, note)
        select
            g.message_id, g.target, g.endpoint_id,
            case p_verb when 'skip' then 'skipped' else 'cancelled' end,
            case p_verb when 'skip' then p_reason end
        from unnest(gone.message_ids, gone.targets, gone.endpoint_ids)
            g (message_id, target, endpoint_id);
    end if;
    perform postrider.free_idempotency_keys(gone.message_ids);
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from unnest(gone.ordering_keys) k (ordering_key);
    -- They are counted anew.
    perform postrider.ring('postrider', 'deferred');
    return gone.ended_count;
end;
$$;
