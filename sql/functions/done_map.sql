-- postrider.done_map() → a byte for each sequence number behind done_map_start: 1 when it is done
--
-- Application, operator, admin, monitor: the view queue calls it once, to pass over what has been delivered since
-- the oldest checkpoint without asking for each message. Uses done_run.
create or replace function postrider.done_map()
returns bytea
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    with finished as materialized (
        select (d.bucket << 12) + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1) as number
        from (
            -- Fetched once, not byte by byte.
            select o.bucket, o.offsets || ''::bytea as offsets
            from postrider.done o
            where o.bucket >= postrider.done_map_start() >> 12
            offset 0
        ) d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    )
    select string_agg(
        case when f.number is null then '\x00'::bytea else '\x01'::bytea end, ''::bytea order by n)
    from (select postrider.done_map_start(), s.last_value from postrider.message_sequence s)
        b (start, last)
    cross join lateral generate_series(b.start + 1, b.last) n
    left join (select distinct number from finished) f on f.number = n;
$$;
