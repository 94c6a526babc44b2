-- postrider.claim_holders() → shard, owner: whose claims say what is in hand
--
-- Internal. The owner of each shard, and those before it whose claims nobody has recovered yet: what they were attempting
-- when they died may have been accepted. Uses shard_pkey.
create or replace function postrider.claim_holders(out shard smallint, out owner uuid)
returns setof record
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select s.shard, o.owner
    from postrider.shard s
    cross join lateral unnest(s.unrecovered || s.owner) o (owner)
    where o.owner is not null;
$$;
