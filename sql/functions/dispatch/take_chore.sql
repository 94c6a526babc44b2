-- postrider.take_chore(name) → whether nobody else is at it
--
-- Internal. From then on the chore is the transaction's until it ends. Waits for nobody. What others did
-- before is seen by the next statement.
create or replace function postrider.take_chore(p_name text)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform from postrider.chore c where c.name = p_name for update skip locked;
    return found;
end;
$$;
