-- postrider.next_firing(timing, every, anchor, time_zone, after) → when a schedule fires next, later than that
--
-- Internal. An interval counts from its anchor, so that no firing that is late makes the next one late; null as an interval:
-- the timing is a cron expression (next_cron_firing). Null: never.
create or replace function postrider.next_firing(
    p_timing text, p_every interval, p_anchor timestamptz, p_time_zone text, p_after timestamptz)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_every is null then
        return postrider.next_cron_firing(p_timing, p_time_zone, p_after);
    end if;
    return p_anchor + p_every * (
        floor(extract(epoch from p_after - p_anchor) / extract(epoch from p_every)) + 1
    )::double precision;
end;
$$;
