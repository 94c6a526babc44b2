-- postrider.check_options(endpoint, payloads, options…)
--
-- Internal. The rules of everything that a producer may pass, in one place; raises 22004, 22023 or
-- 0A000 with the name of the parameter, the rule and the bound.
create or replace function postrider.check_options(
    p_endpoint_name text,
    p_payloads jsonb[],
    p_priority smallint default 0,
    p_scheduled_at timestamptz default null,
    p_idempotency_key text default null,
    p_expires_at timestamptz default null,
    p_ordering_key text default null,
    p_headers jsonb default null)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    size_limit bigint;
    largest bigint;
    header record;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_payloads is null or array_position(p_payloads, null) is not null then
        raise exception 'Payload must not be null' using errcode = '22004';
    end if;
    if p_priority is null or p_priority not between 0 and 10 then
        raise exception 'Priority must be between 0 and 10, got %', coalesce(p_priority::text, 'null')
            using errcode = '22023';
    end if;
    if p_priority <> 0 then
        raise exception 'Option p_priority is not supported yet' using errcode = '0A000';
    end if;
    if p_scheduled_at is not null then
        raise exception 'Option p_scheduled_at is not supported yet' using errcode = '0A000';
    end if;
    if p_idempotency_key is not null then
        raise exception 'Option p_idempotency_key is not supported yet' using errcode = '0A000';
    end if;
    if p_ordering_key is not null then
        raise exception 'Option p_ordering_key is not supported yet' using errcode = '0A000';
    end if;
    if p_expires_at <= clock_timestamp() then
        raise exception 'p_expires_at must be in the future, got %', p_expires_at
            using errcode = '22023';
    end if;

    if p_headers is not null then
        if jsonb_typeof(p_headers) <> 'object' then
            raise exception 'p_headers must be an object of text values, got %',
                jsonb_typeof(p_headers) using errcode = '22023';
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

    select max(octet_length(p.payload::text))
    into largest
    from unnest(p_payloads) p (payload);
    -- The setting's lowest value is 1 KiB: smaller payloads need no look-up.
    if largest > 1024 then
        select s.value::bigint
        into size_limit
        from postrider.setting s
        where s.name = 'max_payload_size';
        if largest > size_limit then
            raise exception 'Payload of % bytes exceeds max_payload_size of % bytes',
                largest, size_limit using errcode = '22023';
        end if;
    end if;
end;
$$;
