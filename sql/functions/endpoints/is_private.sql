-- postrider.is_private(address) → whether it lies in a network that its owner alone uses
--
-- Internal. This machine, private and link-local networks: where secrets may be sent over plain http. The
-- dispatcher has the same list (networks.rs of the core).
create or replace function postrider.is_private(address inet)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select regexp_replace(host(is_private.address), '^::ffff:(?=.*[.])', '')::inet <<= any (array[
        '10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7',
        'fe80::/10']::inet[]);
$$;
