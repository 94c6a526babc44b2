-- postrider.publish_dead_letters(dead letter ids) → how many were published
--
-- Internal, by bury in the transaction that makes them. Where the event type postrider.dead_letter
-- exists, publishes what is known of each, without the message's payload; where it does not, this is
-- one look into an index. What died on the way to subscribers of that event type itself is not
-- published, which would go on for ever. Raises nothing: an error, such as a full queue, must not undo
-- the record of what died. Then none of them is published, which event_log says (dlq.not_published),
-- once a minute at most. Uses dead_letter_pkey, event_log_at.
create or replace function postrider.publish_dead_letters(p_ids bigint[])
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
as $$
declare
    announced postrider.event_types;
    letter record;
    published integer := 0;
begin
    if p_ids = '{}' then
        return 0;
    end if;
    select t.* into announced from postrider.event_types t where t.name = 'postrider.dead_letter';
    if announced.id is null then
        return 0;
    end if;
    begin
        for letter in
            select
                l.correlation_id,
                jsonb_build_object(
                    'dlq_id', l.id, 'message_id', l.message_id, 'endpoint_name', l.endpoint_name,
                    'cause', l.cause, 'retry_count', l.retry_count, 'last_error', l.last_error,
                    'event_type', l.event_type, 'correlation_id', l.correlation_id,
                    'created_at', l.message_created_at, 'failed_at', l.failed_at) as payload
            from unnest(p_ids) i (id)
            cross join lateral (
                select d.*
                from postrider.dead_letter d
                where d.id >= i.id
                and d.id <= i.id
                order by d.id
                limit 1
            ) l
            where l.event_type is distinct from announced.name
            order by l.id
        loop
            perform postrider.append_message(
                null, null, announced, letter.payload, null, null, 0, null, null,
                letter.correlation_id, null, null, null, null);
            published := published + 1;
        end loop;
    exception
        when others then
            insert into postrider.event_log (event, details)
            select
                'dlq.not_published',
                jsonb_build_object(
                    'count', cardinality(p_ids), 'first_dlq_id', p_ids[1], 'error', sqlerrm)
            where not exists (
                select
                from postrider.event_log l
                where l.event = 'dlq.not_published'
                and l.at between now() - interval '1 minute' and now()
            );
            return 0;
    end;
    return published;
end;
$$;
