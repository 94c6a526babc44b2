-- Ids and transaction ids of one lane, for finding what a former owner may have attempted.
--   $1 smallint: lane   $2 bigint: after this id   $3 bigint: up to this id
--   $4 pg_snapshot: base, whose messages are finished   $5 bigint: at most so many rows
-- Index: message_lane_id.
select m.id, m.xid, m.targets
from postrider.message m
where m.lane = $1
and m.id > $2
and m.id <= $3
and not pg_visible_in_snapshot(m.xid, $4)
order by m.id
limit $5;
