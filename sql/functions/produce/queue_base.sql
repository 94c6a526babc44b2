-- postrider.queue_base() → the sequence number behind which everything counts as waiting
--
-- Internal. A shard's checkpoint says up to which sequence number S it was read, and how many
-- deliveries P of what was read are not finished. Behind S everything counts as waiting, so with n
-- shards and the newest number N about sum(P) + sum(N - S) / n wait: N minus this. Numbers that were left out behind
-- S (number_gap) are nobody's: a checkpoint has S - n * P, which is below such a gap until the shard is read beyond it, for
-- not so much waits. Null without shards. Uses checkpoint_seq, from its end.
create or replace function postrider.queue_base()
returns bigint
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select floor(
        sum(
            coalesce(newest.backlog, 0) + (
                select coalesce(sum(g.last_number - g.after_number), 0)
                from postrider.number_gap g
                where g.after_number >= coalesce(newest.backlog, 0)
            )
        ) / count(*)
    )::bigint
    from postrider.shard s
    left join lateral (
        select c.backlogs[array_position(c.shards, s.shard)] as backlog
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
$$;
