-- postrider.note_token_use(id)
--
-- Internal: who answers a request with a token calls it, at most once a minute. Skips a row that somebody has locked.
create or replace function postrider.note_token_use(p_id integer)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    update postrider.api_token t
    set last_used_at = now()
    where t.id in (
        select l.id
        from postrider.api_token l
        where l.id = p_id
        and coalesce(l.last_used_at < now() - interval '1 minute', true)
        for update skip locked
    );
$$;
