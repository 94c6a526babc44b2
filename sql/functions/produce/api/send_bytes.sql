-- postrider.send_bytes(endpoint, body, content_type, options…) → the message's id
--
-- Producer, application, admin. Like send_with_options, for a message that is no JSON: the body arrives byte by
-- byte as it is given, with this Content-Type. Raises what send_with_options raises, and 22023 for a
-- content type that is none (RFC 9110, section 8.3.1).
create or replace function postrider.send_bytes(
    p_endpoint_name text,
    p_body bytea,
    p_content_type text,
    p_priority integer default 0,
    p_scheduled_at timestamptz default null,
    p_idempotency_key text default null,
    p_correlation_id uuid default null,
    p_expires_at timestamptz default null,
    p_ordering_key text default null,
    p_headers jsonb default null,
    p_metadata jsonb default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    target integer;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_content_type is null then
        raise exception 'Content type must not be null' using errcode = '22004';
    end if;
    if length(p_content_type) > 255
        or p_content_type !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]+/[A-Za-z0-9!#$%&''*+.^_`|~-]+([ \t]*;[\u0020-\u007e]*)?$'
    then
        raise exception
            'p_content_type must be a media type of at most 255 characters such as image/png, got ''%''',
            left(p_content_type, 100) using errcode = '22023';
    end if;
    perform postrider.check_options(
        octet_length(p_body), p_priority, p_scheduled_at, p_idempotency_key, p_expires_at,
        p_ordering_key, p_headers, p_metadata);
    -- Enabled or not, see send_with_options.
    select e.direct_subscription_id
    into target
    from postrider.endpoints e
    where e.name = p_endpoint_name;
    if target is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;
    return postrider.append_message(
        target, p_endpoint_name, null, null, p_body, p_content_type, p_priority, p_scheduled_at,
        p_idempotency_key, p_correlation_id, p_expires_at, p_ordering_key, p_headers, p_metadata);
end;
$$;
