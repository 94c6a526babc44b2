-- postrider.timeline_end(former, present) → the position at which the server left the former timeline, null if that cannot be known
--
-- Internal, by confirm_position. It stands in a file that only some roles may read, and which may be gone, out of reach or
-- no text: whatever is the matter with it, a dispatcher does without. Only that its statement is cancelled passes.
create or replace function postrider.timeline_end(p_former integer, p_present integer)
returns pg_lsn
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    history text;
    left_at pg_lsn;
begin
    -- By a statement of its own: permissions are checked before anything is decided.
    if not has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute') then
        return null;
    end if;
    execute 'select pg_read_file($1, 0, 1000000, true)'
    into history
    using format('pg_wal/%s.history', upper(lpad(to_hex(p_present), 8, '0')));
    -- A variable of its own: what is returned is cast outside of the block.
    left_at := (regexp_match(history, format('(?:^|\n)%s\t([0-9A-F]+/[0-9A-F]+)', p_former)))[1];
    return left_at;
exception
    when others then
        return null;
end;
$$;
