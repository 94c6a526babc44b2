-- postrider.unregister_dispatcher(id)
--
-- Internal. Ends a lease at once: for a dispatcher that stops, and for one that lost its connection
-- and comes back under a new id. What it still owned is recovered by whoever takes it over, who waits at
-- the fence for what that one is writing. We do not: its connection may hang.
create or replace function postrider.unregister_dispatcher(p_dispatcher uuid)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    lock table postrider.fence in row share mode;
    delete from postrider.dispatcher d where d.id = p_dispatcher;
end;
$$;
