-- postrider.is_letter_wanted(filter, failed_at, last_error, cause, event_type) → whether the filter of a
-- redrive job lets this dead letter through
--
-- Internal. Not given the whole row, which would read its payload.
create or replace function postrider.is_letter_wanted(
    p_filter jsonb,
    p_failed_at timestamptz,
    p_last_error text,
    p_cause text,
    p_event_type text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return coalesce(
        (not p_filter ? 'from' or p_failed_at >= (p_filter ->> 'from')::timestamptz)
        and (not p_filter ? 'to' or p_failed_at < (p_filter ->> 'to')::timestamptz)
        and (not p_filter ? 'error_pattern' or p_last_error ~ (p_filter ->> 'error_pattern'))
        and (not p_filter ? 'cause' or p_cause = p_filter ->> 'cause')
        and (not p_filter ? 'event_type' or p_event_type = p_filter ->> 'event_type'),
        false);
end;
$$;
