-- A page of one lane's window: what the snapshot $4 sees and the snapshot $5 did not, in order of id.
--   $1 smallint: lane        $2 bigint: after this id     $3 bigint: up to this id
--   $4 pg_snapshot: top      $5 pg_snapshot: base         $6 bigint: at most so many rows
--   $7 integer[]: targets    $8 boolean: only messages for one of these targets, or all others
--   $9 integer: payloads up to so many stored bytes come along, larger ones are fetched later
-- Index: message_lane_id.
select
    m.id, m.xid, m.created_at, m.expires_at, m.correlation_id, m.targets, m.headers,
    case when pg_column_size(m.payload) <= $9 then m.payload end as payload,
    case when pg_column_size(m.payload) > $9 then octet_length(m.payload::text) end as payload_bytes
from postrider.message m
where m.lane = $1
and m.id > $2
and m.id <= $3
and pg_visible_in_snapshot(m.xid, $4)
and not pg_visible_in_snapshot(m.xid, $5)
and (cardinality(m.targets) = 1 and m.targets[1] = any ($7)) = $8
order by m.id
limit $6;
