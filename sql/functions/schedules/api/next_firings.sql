-- postrider.next_firings(name, count) → when a schedule fires next, in order
--
-- Operator, admin, monitor. By its timing, from the next one on; of one that is paused, from now on, as if it were resumed.
-- What is due and not fired comes first. Raises 22004 (a null), 22023 (a count that is not between 1 and 1,000), 42704 (no such schedule).
create or replace function postrider.next_firings(p_name text, p_count integer default 5)
returns setof timestamptz
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.schedule;
    at timestamptz;
begin
    if p_name is null or p_count is null then
        raise exception 'p_name and p_count must not be null' using errcode = '22004';
    end if;
    if p_count not between 1 and 1000 then
        raise exception 'p_count must be between 1 and 1000, got %', p_count using errcode = '22023';
    end if;
    select s.* into known from postrider.schedule s where s.name = p_name;
    if known.id is null then
        raise exception 'Schedule ''%'' does not exist', left(p_name, 200) using errcode = '42704';
    end if;
    at := known.next_at;
    if known.paused_at is not null then
        at := postrider.next_firing(
            known.timing, known.every, known.anchor, known.time_zone, clock_timestamp());
    end if;
    for turn in 1..p_count loop
        exit when at is null;
        return next at;
        at := postrider.next_firing(known.timing, known.every, known.anchor, known.time_zone, at);
    end loop;
end;
$$;
