-- postrider.refuse_copy()
--
-- Internal: whoever hands out messages or executions. Raises 55000 in a copy of another database that nobody has
-- adopted: what is in it the original hands out, too.
create or replace function postrider.refuse_copy()
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.is_copy() then
        raise exception 'The log in database "%" is a copy that nobody has adopted', current_database()
            using errcode = '55000',
                hint = 'The original hands out the same. If this one is to go on, run `postrider adopt`.';
    end if;
end;
$$;
