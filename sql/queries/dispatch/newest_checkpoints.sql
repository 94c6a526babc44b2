-- How shards were left, by their newest checkpoints. One that is about many of them is brought once.
--   $1 smallint[]: shards
-- shards: those of $1 whose newest checkpoint it is. backlogs: what it says of each. Index: checkpoint_seq.
with newest as materialized (
    select s.shard, c.seq, c.backlog
    from unnest($1::smallint[]) s (shard)
    cross join lateral (
        select k.seq, k.backlogs[array_position(k.shards, s.shard)] as backlog
        from postrider.checkpoint k
        where k.shards @> array[s.shard]
        order by k.seq desc
        limit 1
    ) c
), left_by as materialized (
    select n.seq, array_agg(n.shard) as shards, array_agg(n.backlog) as backlogs
    from newest n
    group by n.seq
)
select c.state, l.shards, l.backlogs
from left_by l
cross join lateral (
    select k.state
    from postrider.checkpoint k
    where k.seq = l.seq
    offset 0
) c;
