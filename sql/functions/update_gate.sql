-- postrider.update_gate() → the sequence number up to which messages may be sent
--
-- Internal, by dispatchers, by a change of max_queue_size, and by a send that finds the log full.
-- A shard's checkpoint says up to which sequence number S it was read, and how many deliveries P of
-- what was read are not finished. Behind S everything counts as waiting, so with n shards and the
-- newest number N about sum(P) + sum(N - S) / n wait; the gate is the N at which that is the limit.
-- setval is not undone by a rollback: what a change of the setting that was rolled back has set, the
-- next call sets right (see set_setting). Uses checkpoint_seq, from its end.
create or replace function postrider.update_gate()
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    size_limit bigint;
    base bigint;
begin
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    if size_limit = 0 then
        return setval('postrider.message_gate', 9223372036854775807);
    end if;
    select floor(sum(coalesce(newest.backlog, 0)) / count(*))
    into base
    from postrider.shard s
    left join lateral (
        select c.backlogs[array_position(c.shards, s.shard)] as backlog
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
    return setval('postrider.message_gate', greatest(base + size_limit, 0));
end;
$$;
