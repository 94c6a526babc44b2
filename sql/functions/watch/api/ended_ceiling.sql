-- postrider.ended_ceiling() → an id above which no message has ended at any target
--
-- Application, operator, admin, monitor: the view archive calls it, so that it begins to read behind a backlog and
-- not in it. The highest id that stands in done, partly_done, ended or dead_letter. Uses done_run,
-- partly_done_message_id, ended_message_id, dead_letter_message, from their ends.
create or replace function postrider.ended_ceiling()
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    newest_bucket bigint;
    newest_run smallint;
    newest_offset integer;
begin
    -- Rows of older versions, which name no run, come first.
    select d.bucket, d.run
    into newest_bucket, newest_run
    from postrider.done d
    order by d.bucket desc, d.run desc
    limit 1;
    select max(get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1))
    into newest_offset
    from postrider.done d
    cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    where d.bucket = newest_bucket
    and (d.run = newest_run or newest_run is null);
    return greatest(
        0, (((newest_bucket << 12) | newest_offset) << 10) | 1023,
        (
            select p.message_id
            from postrider.partly_done p
            order by p.message_id desc
            limit 1
        ),
        (
            select e.message_id
            from postrider.ended e
            order by e.message_id desc
            limit 1
        ),
        (
            select l.message_id
            from postrider.dead_letter l
            order by l.message_id desc
            limit 1
        ));
end;
$$;
