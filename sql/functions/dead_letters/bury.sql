-- postrider.bury(message_ids, targets, endpoint_ids, causes, retry_counts, errors) → how many
--
-- Internal. Makes dead letters: the whole message with the history of its attempts, because the log's
-- partition may be gone when it is redriven. A delivery that is one already stays as it is. Where the
-- event type postrider.dead_letter exists, each is published. Uses message_id, job_drop and what
-- error_history uses.
create or replace function postrider.bury(
    p_message_ids bigint[],
    p_targets integer[],
    p_endpoint_ids integer[],
    p_causes text[],
    p_retry_counts integer[],
    p_errors text[])
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    letters bigint[];
begin
    with buried as (
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
            error_history, message_created_at, correlation_id, priority, event_type, ordering_key,
            headers, metadata, payload, body, content_type, replay_of)
        select
            d.message_id, d.target, d.endpoint_id,
            coalesce(
                (
                    select e.name
                    from postrider.endpoints e
                    where e.id = d.endpoint_id
                ),
                (
                    select j.endpoint_name
                    from postrider.job j
                    where j.kind = 'drop'
                    and j.endpoint_id = d.endpoint_id
                    order by j.id desc
                    limit 1
                ),
                '(dropped)'),
            d.cause, d.retry_count, d.last_error, postrider.error_history(d.message_id, d.target),
            m.created_at, m.correlation_id, m.priority, m.event_type, m.ordering_key, m.headers,
            m.metadata, m.payload, m.body, m.content_type, m.replay_of
        from unnest(p_message_ids, p_targets, p_endpoint_ids, p_causes, p_retry_counts, p_errors)
            d (message_id, target, endpoint_id, cause, retry_count, last_error)
        cross join lateral postrider.kept_message(d.message_id, d.target) m
        -- Looked for before: one that is being redriven would be waited for.
        where not exists (
            select
            from postrider.dead_letter l
            where l.message_id = d.message_id
            and l.target = d.target
            and l.status <> 'redriven'
            offset 0
        )
        on conflict (message_id, target) where status = 'failed' do nothing
        returning id
    )
    select coalesce(array_agg(b.id order by b.id), '{}') into letters from buried b;
    perform postrider.publish_dead_letters(letters);
    return cardinality(letters);
end;
$$;
