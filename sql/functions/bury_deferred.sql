-- postrider.bury_deferred(endpoint_id, cause) → how many dead letters were made
--
-- Internal. Moves every delivery that waits for an endpoint to the dead letter queue. Uses
-- deferred_due.
create or replace function postrider.bury_deferred(p_endpoint_id integer, p_cause text)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    buried integer;
begin
    with given_up as (
        delete from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
        returning d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error
    )
    insert into postrider.dead_letter (
        message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
        error_history, message_created_at, correlation_id, ordering_key, headers, metadata, payload)
    select
        g.message_id, g.target, g.endpoint_id, coalesce(e.name, '(dropped)'), p_cause, g.retry_count, g.last_error,
        coalesce(h.history, '[]'), m.created_at, m.correlation_id, m.ordering_key, m.headers,
        m.metadata, m.payload
    from given_up g
    left join postrider.endpoints e on e.id = g.endpoint_id
    cross join lateral postrider.kept_message(g.message_id, g.target) m
    left join lateral (
        select jsonb_agg(
            jsonb_build_object(
                'attempt', a.number, 'at', a.started_at, 'duration_ms', a.duration_ms,
                'outcome', a.outcome, 'status', a.status, 'error', a.error)
            order by a.started_at, a.number) as history
        from postrider.attempt a
        where a.message_id = g.message_id
        and a.target = g.target
    ) h on true
    on conflict (message_id, target) where status = 'failed' do nothing;
    get diagnostics buried = row_count;
    return buried;
end;
$$;
