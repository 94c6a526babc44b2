-- postrider.check_replay(from, to, status)
--
-- Internal. The rules of replay_range and create_replay. Raises 22004 and 22023.
create or replace function postrider.check_replay(
    p_from_ts timestamptz, p_to_ts timestamptz, p_status text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_from_ts is null then
        raise exception 'p_from_ts must not be null' using errcode = '22004';
    end if;
    if p_to_ts is null then
        raise exception 'p_to_ts must not be null' using errcode = '22004';
    end if;
    if not isfinite(p_from_ts) then
        raise exception 'p_from_ts must be a finite time, got %', p_from_ts using errcode = '22023';
    end if;
    if not isfinite(p_to_ts) then
        raise exception 'p_to_ts must be a finite time, got %', p_to_ts using errcode = '22023';
    end if;
    if p_from_ts >= p_to_ts then
        raise exception 'p_from_ts must be before p_to_ts, got % and %', p_from_ts, p_to_ts
            using errcode = '22023';
    end if;
    if p_status not in ('completed', 'failed', 'expired', 'cancelled', 'skipped') then
        raise exception 'p_status must be completed, failed, expired, cancelled or skipped, got ''%''',
            left(p_status, 100) using errcode = '22023';
    end if;
end;
$$;
