-- Waiting deliveries that are due, of some endpoints, oldest first.
--   $1 integer[]: endpoints   $2 bigint[]: at most so many of each   $3 smallint[]: shards
--   $4 integer: payloads up to so many stored bytes come along, larger ones are fetched later
-- Indexes: deferred_due, message_lane_id.
select
    d.message_id, d.target, d.endpoint_id, d.retry_count, d.recovery_count, d.run_at,
    d.message_created_at, d.expires_at, m.correlation_id, m.headers,
    case when pg_column_size(m.payload) <= $4 then m.payload end as payload,
    case when pg_column_size(m.payload) > $4 then octet_length(m.payload::text) end as payload_bytes,
    m.id is null as is_gone
from unnest($1::integer[], $2::bigint[]) e (endpoint_id, most)
cross join lateral (
    select due.*
    from unnest($3::smallint[]) s (shard)
    cross join lateral (
        select
            w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
            w.message_created_at, w.expires_at
        from postrider.deferred w
        where w.endpoint_id = e.endpoint_id
        and w.shard = s.shard
        and w.run_at <= clock_timestamp()
        order by w.run_at, w.message_id
        limit e.most
    ) due
    order by due.run_at, due.message_id
    limit e.most
) d
left join lateral (
    select k.id, k.correlation_id, k.headers, k.payload
    from postrider.message k
    where k.lane = (d.message_id & 1023)::smallint
    and k.id = d.message_id
) m on true;
