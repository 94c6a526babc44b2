-- postrider.make_signing_key() → a new key for v1, whsec_…
--
-- Internal. 32 bytes from the server's strong source of random numbers.
create or replace function postrider.make_signing_key()
returns text
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select 'whsec_' || encode(
        sha256(
            uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
            || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
        'base64');
$$;
