-- postrider.bury_deferred(endpoint_id, cause) → how many dead letters were made
--
-- Internal. Moves every delivery that waits for an endpoint to the dead letter queue. What waits for
-- them elsewhere (ordering_scope = global) is the dispatcher's to let go. Uses deferred_due.
create or replace function postrider.bury_deferred(p_endpoint_id integer, p_cause text)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    message_ids bigint[];
    buried integer;
begin
    with given_up as (
        delete from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
        returning d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error
    )
    select
        array_agg(g.message_id),
        postrider.bury(
            array_agg(g.message_id), array_agg(g.target), array_agg(g.endpoint_id),
            array_agg(p_cause), array_agg(g.retry_count), array_agg(g.last_error))
    into message_ids, buried
    from given_up g;
    perform postrider.free_idempotency_keys(message_ids);
    return coalesce(buried, 0);
end;
$$;
