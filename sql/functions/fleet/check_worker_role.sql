-- postrider.check_worker_role(name, registered_by)
--
-- Internal: before anything is done for a worker. Ids, epochs and fences can be guessed, so they are not enough: the
-- caller must have the rights of the role that registered the worker. Raises 42501.
create or replace function postrider.check_worker_role(p_name text, p_registered_by text)
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    acting constant text := postrider.caller();
begin
    if not postrider.may_act_for(p_registered_by) then
        raise exception 'Worker ''%'' was registered by role "%", not by "%"', p_name, p_registered_by,
            acting
            using
                errcode = '42501',
                hint = format(
                    'Act as that role, grant it to "%s", or register the worker when that one has left.',
                    acting);
    end if;
end;
$$;
