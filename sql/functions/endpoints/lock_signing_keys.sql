-- postrider.lock_signing_keys(endpoint_name, is_adding) → the endpoint's id, and its keys, the newest first
--
-- Internal: what each change of keys begins with. The endpoint is locked to the end of the transaction.
-- Raises 22004 (a null name), 42704 (no such endpoint), 22023 (its protocol signs nothing), 55000 (a key is to be added, and
-- the endpoint's config says that nothing is signed).
create or replace function postrider.lock_signing_keys(
    p_endpoint_name text, p_is_adding boolean, out endpoint_id integer, out keys jsonb)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    held_protocol text;
    signature text;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id, e.protocol, e.config ->> 'signature'
    into endpoint_id, held_protocol, signature
    from postrider.endpoints e
    where e.name = p_endpoint_name
    for no key update;
    if not found then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    if not postrider.can_sign(held_protocol) then
        raise exception 'Endpoint ''%'' has the protocol %, which signs nothing', p_endpoint_name,
            held_protocol using errcode = '22023';
    end if;
    if p_is_adding and signature = 'none' then
        raise exception 'Endpoint ''%'' signs nothing: its signature is none', p_endpoint_name
            using errcode = '55000', hint = 'alter_endpoint changes that.';
    end if;
    keys := coalesce(
        (
            select s.config -> 'signing_keys'
            from postrider.endpoint_secret s
            where s.endpoint_id = lock_signing_keys.endpoint_id
        ),
        '[]');
end;
$$;
