-- postrider.claim_request(token, key, fingerprint) → the request that has the key already
--
-- Internal: who answers a request with an Idempotency-Key calls it before anything else of the same transaction. No row: the
-- key is this request's now, if the transaction commits. It waits for a transaction that has just claimed the same one, up to the
-- session's lock_timeout. A key is free again after 24 hours, whether forget_requests has been by or not; if it comes by between
-- the insert and the look at what was in its way, the key is claimed once more.
-- Uses api_request_pkey, whatever there was when the session made its plans: the age is written so that it has no index.
create or replace function postrider.claim_request(
    p_token_id integer, p_key text, p_fingerprint bytea)
returns table (fingerprint bytea, status smallint, body text)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
    delete from postrider.api_request r
    where r.token_id = p_token_id
    and r.key = p_key
    and r.at + interval '0' < now() - interval '24 hours';
    loop
        insert into postrider.api_request (token_id, key, fingerprint)
        values (p_token_id, p_key, p_fingerprint)
        on conflict on constraint api_request_pkey do nothing;
        if found then
            return;
        end if;
        return query
        select r.fingerprint, r.status, r.body
        from postrider.api_request r
        where r.token_id = p_token_id
        and r.key = p_key;
        if found then
            return;
        end if;
    end loop;
end;
$$;
