-- postrider.note_token_use(id)
--
-- Internal: who answers requests with a token calls it, beside them and in a transaction of its own. Notes it at most once
-- a minute, and waits for nobody: neither for a row, which it skips, nor for a disk or a standby, nor for a table for long. Uses
-- api_token_pkey.
create or replace function postrider.note_token_use(p_id integer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
    set local synchronous_commit = off;
    set local lock_timeout = '50ms';
    update postrider.api_token t
    set last_used_at = now()
    where t.id in (
        select l.id
        from postrider.api_token l
        where l.id = p_id
        and coalesce(l.last_used_at < now() - interval '1 minute', true)
        for no key update skip locked
    );
end;
$$;
