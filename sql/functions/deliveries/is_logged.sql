-- postrider.is_logged(message_id) → whether the log has this message, and nobody has erased it
--
-- Internal: erase_batch. Uses message_id.
create or replace function postrider.is_logged(p_message_id bigint)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (
        select
        from postrider.message m
        where m.id = p_message_id
        and m.erased_at is null
    );
end;
$$;
