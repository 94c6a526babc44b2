-- Index: none, at most 64 rows.
select json_build_object('shard', s.shard, 'owner', s.owner, 'epoch', s.epoch)
from postrider.shard s
order by s.shard;
