-- postrider.is_erasure_wanted(filter, metadata, created_at, ordering key, correlation id, event type, its metadata) →
-- whether a job that erases messages means this one
--
-- Internal: erase_messages, erase_batch. All that the filter names has to hold. Of the metadata it has only the names;
-- what is contained in the message's is beside it.
create or replace function postrider.is_erasure_wanted(
    p_filter jsonb,
    p_metadata jsonb,
    p_created_at timestamptz,
    p_ordering_key text,
    p_correlation_id uuid,
    p_event_type text,
    p_own_metadata jsonb)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return coalesce(
        (not p_filter ? 'ordering_key' or p_ordering_key = p_filter ->> 'ordering_key')
        and (not p_filter ? 'correlation_id' or p_correlation_id = (p_filter ->> 'correlation_id')::uuid)
        and (not p_filter ? 'event_type' or p_event_type = p_filter ->> 'event_type')
        and (not p_filter ? 'from' or p_created_at >= (p_filter ->> 'from')::timestamptz)
        and (not p_filter ? 'to' or p_created_at < (p_filter ->> 'to')::timestamptz)
        and (not p_filter ? 'metadata' or p_own_metadata @> p_metadata),
        false);
end;
$$;
