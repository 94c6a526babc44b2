-- postrider.is_done(message_id) → whether the message is recorded as done
--
-- Internal. Rows of older versions hold numbers of several runs. Uses done_run.
create or replace function postrider.is_done(p_message_id bigint)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select exists (
        select
        from postrider.done d
        where d.bucket = p_message_id >> 22
        and d.run = (p_message_id >> 16 & 63)::smallint
        and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    )
    or exists (
        select
        from postrider.done d
        where d.bucket = p_message_id >> 22
        and d.run is null
        and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    );
$$;
