-- postrider.check_tick_allowed(caller)
--
-- Internal: tick and begin_batch, before append_tick. Raises 25001 (in a transaction that has written or
-- locked something, or is not READ COMMITTED), 25006 (on a standby), in the caller's name.
--
-- A snapshot never lists its own transaction as running: what this one wrote later would be behind a
-- tick that seems to have seen it. On a standby no transaction is listed as running.
create or replace function postrider.check_tick_allowed(p_caller text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if pg_is_in_recovery() then
        raise exception '% needs the primary, this is a standby', p_caller using errcode = '25006';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            '% needs a transaction with isolation level READ COMMITTED, this is %', p_caller,
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if pg_current_xact_id_if_assigned() is not null then
        raise exception '% needs a transaction that has not written or locked anything', p_caller
            using errcode = '25001';
    end if;
end;
$$;
