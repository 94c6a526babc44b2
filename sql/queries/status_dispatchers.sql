-- One probe per dispatcher, at the index's end. Index: heartbeat_dispatcher.
select json_build_object(
    'id', d.id, 'host', d.host, 'pid', d.pid, 'version', d.version, 'started_at', d.started_at,
    'heartbeat_at', newest.at,
    'is_alive', coalesce(newest.lease_until > clock_timestamp(), false),
    'shards', array(
        select s.shard
        from postrider.shard s
        where s.owner = d.id
        order by s.shard
    ),
    'statistics', newest.statistics)
from postrider.dispatcher d
left join lateral (
    select h.at, h.lease_until, h.statistics
    from postrider.heartbeat h
    where h.dispatcher = d.id
    order by h.seq desc
    limit 1
) newest on true
order by d.started_at
limit 1000;
