-- postrider.erase_messages(ordering key, correlation id, metadata, event type, from, to) → the job's id, an estimate,
-- whether there may be more
--
-- Admin. Makes a job that takes out of the log what was in these messages, and out of all copies of them, see
-- erase_batch. All that is not null has to hold; metadata: contains these. What was sent in [from, to) until now. What
-- has not ended is cancelled first. There is no way back. The estimate is a count among the first 10,000 messages of
-- the log. Raises 22023 (no ordering key, correlation id or metadata, or one out of its range, an empty time range),
-- 42704 (no such event type).
create or replace function postrider.erase_messages(
    p_ordering_key text default null,
    p_correlation_id uuid default null,
    p_metadata jsonb default null,
    p_event_type text default null,
    p_from timestamptz default null,
    p_to timestamptz default null,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    look_at constant integer := 10000;
    wanted jsonb;
begin
    if p_ordering_key is null and p_correlation_id is null and p_metadata is null then
        raise exception 'One of p_ordering_key, p_correlation_id and p_metadata must be given'
            using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %', length(p_ordering_key)
            using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' or p_metadata = '{}' then
        raise exception 'p_metadata must be an object that is not empty, got %',
            case when p_metadata = '{}' then 'an empty one' else jsonb_typeof(p_metadata) end
            using errcode = '22023';
    end if;
    perform postrider.check_event_type(p_event_type);
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    -- Of metadata only the names: the job and its events are kept, and shown to others.
    wanted := jsonb_strip_nulls(
        jsonb_build_object(
            'ordering_key', p_ordering_key, 'correlation_id', p_correlation_id,
            'metadata', (select jsonb_agg(k.name) from jsonb_object_keys(p_metadata) k (name)),
            'event_type', p_event_type, 'from', p_from, 'to', p_to));
    select count(*) filter (where w.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            m.erased_at is null
            and postrider.is_erasure_wanted(
                wanted, p_metadata, m.created_at, m.ordering_key, m.correlation_id, m.event_type,
                m.metadata)
            as is_wanted
        from postrider.message m
        order by m.id
        limit look_at
    ) w;
    has_more := has_more
        or exists (select from postrider.dead_letter l)
        or exists (select from postrider.parked_message k);
    job_id := postrider.create_job(
        'erase', null, null, wanted, null,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
    update postrider.job j set metadata = p_metadata where j.id = job_id;
end;
$$;
