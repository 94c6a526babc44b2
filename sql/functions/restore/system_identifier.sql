-- postrider.system_identifier() → the number that this cluster has from initdb; null where the role may not know it
--
-- Internal. It stays with the files: a standby that is promoted and a physical backup have the same, and
-- pg_upgrade makes another.
create or replace function postrider.system_identifier()
returns bigint
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known bigint;
begin
    -- By a statement of its own: permissions are checked before anything is decided.
    if has_function_privilege('pg_control_system()', 'execute') then
        execute 'select c.system_identifier from pg_control_system() c' into known;
    end if;
    return known;
end;
$$;
