-- postrider.can_sign(protocol) → whether what is sent by this protocol can be signed
--
-- Internal. Uses transport_option_pkey.
create or replace function postrider.can_sign(p_protocol text)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select exists (
        select
        from postrider.transport_option o
        where o.protocol = p_protocol
        and o.kind = 'signing_keys'
    );
$$;
