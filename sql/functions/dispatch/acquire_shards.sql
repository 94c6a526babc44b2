-- postrider.acquire_shards(dispatcher, limit, silent_ids, silent_seqs) → no rows
--
-- Internal. For dispatchers of the version before, which still run when the database has been migrated; those of this
-- version call take_shards. An error would end a tenure that has attempts in hand. By this answer they keep what they
-- have, and take nothing more until they are replaced: whoever stood still while it read the checkpoints that this
-- answered before kept all others from writing. The next version drops it.
create or replace function postrider.acquire_shards(
    p_dispatcher uuid,
    p_limit integer,
    p_silent_ids uuid[] default null,
    p_silent_seqs bigint[] default null)
returns table (
    shard smallint, epoch bigint, state jsonb, backlog bigint, last_owner uuid)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select null::smallint, null::bigint, null::jsonb, null::bigint, null::uuid
    where false;
$$;
