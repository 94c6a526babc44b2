-- postrider.check_options(largest_payload, options…)
--
-- Internal. The rules of everything that a producer may pass besides a destination, in one place;
-- `largest_payload` in bytes, null when a payload is null. Raises 22004 and 22023 with the name of the
-- parameter, the rule and the bound.
create or replace function postrider.check_options(
    p_largest_payload bigint,
    p_priority integer default 0,
    p_scheduled_at timestamptz default null,
    p_idempotency_key text default null,
    p_expires_at timestamptz default null,
    p_ordering_key text default null,
    p_headers jsonb default null,
    p_metadata jsonb default null)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    size_limit bigint;
    most_days integer;
    header record;
begin
    if p_largest_payload is null then
        raise exception 'Payload must not be null' using errcode = '22004';
    end if;
    if p_priority is null or p_priority not between 0 and 10 then
        raise exception 'Priority must be between 0 and 10, got %', coalesce(p_priority::text, 'null')
            using errcode = '22023';
    end if;
    if not isfinite(p_scheduled_at) then
        raise exception 'p_scheduled_at must be a finite time, got %', p_scheduled_at
            using errcode = '22023';
    end if;
    if p_expires_at <= clock_timestamp() then
        raise exception 'p_expires_at must be in the future, got %', p_expires_at
            using errcode = '22023';
    end if;
    if p_expires_at <= p_scheduled_at then
        raise exception 'p_expires_at must be after p_scheduled_at, got % and %',
            p_expires_at, p_scheduled_at using errcode = '22023';
    end if;
    -- The setting's lowest value is a day: a message that waits longer keeps the log from being cleaned up.
    if p_scheduled_at > clock_timestamp() + interval '24 hours' then
        select s.value::integer
        into most_days
        from postrider.setting s
        where s.name = 'max_schedule_ahead';
        if p_scheduled_at > clock_timestamp() + make_interval(hours => 24 * most_days) then
            raise exception 'p_scheduled_at must be at most % days ahead (max_schedule_ahead), got %',
                most_days, p_scheduled_at using errcode = '22023';
        end if;
    end if;
    if length(p_idempotency_key) not between 1 and 255 then
        raise exception 'p_idempotency_key must have 1 to 255 characters, got %',
            length(p_idempotency_key) using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %',
            length(p_ordering_key) using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' then
        raise exception 'p_metadata must be an object, got %', jsonb_typeof(p_metadata)
            using errcode = '22023';
    end if;

    if p_headers is not null then
        if jsonb_typeof(p_headers) <> 'object' then
            raise exception 'p_headers must be an object of text values, got %',
                jsonb_typeof(p_headers) using errcode = '22023';
        end if;
        -- Longer ones would never be sent.
        if octet_length(p_headers::text) > 32768 then
            raise exception 'p_headers must not be longer than 32768 bytes, got %',
                octet_length(p_headers::text) using errcode = '22023';
        end if;
        for header in select h.key, h.value from jsonb_each(p_headers) h loop
            if header.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,200}$' then
                raise exception 'p_headers: "%" is not a header name', header.key
                    using errcode = '22023';
            end if;
            if jsonb_typeof(header.value) <> 'string'
                or (header.value #>> '{}') ~ '[\u0001-\u0008\u000a-\u001f\u007f]'
            then
                raise exception 'p_headers.% must be text without control characters', header.key
                    using errcode = '22023';
            end if;
        end loop;
    end if;

    -- The setting's lowest value is 1 KiB: smaller payloads need no look-up.
    if p_largest_payload > 1024 then
        select s.value::bigint
        into size_limit
        from postrider.setting s
        where s.name = 'max_payload_size';
        if p_largest_payload > size_limit then
            raise exception 'Payload of % bytes exceeds max_payload_size of % bytes',
                p_largest_payload, size_limit using errcode = '22023';
        end if;
    end if;
end;
$$;
