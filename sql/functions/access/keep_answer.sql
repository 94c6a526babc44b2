-- postrider.keep_answer(token, key, status, body)
--
-- Internal: the last of the transaction that began with claim_request. Uses api_request_pkey.
create or replace function postrider.keep_answer(
    p_token_id integer, p_key text, p_status smallint, p_body text)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    update postrider.api_request r
    set status = p_status,
        body = p_body
    where r.token_id = p_token_id
    and r.key = p_key;
$$;
