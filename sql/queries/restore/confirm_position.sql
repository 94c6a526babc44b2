-- See postrider.confirm_position.
--   $1 uuid: the dispatcher   $2 integer: its timeline   $3 pg_lsn: up to where it has delivered   $4 bigint: the highest
--   message number that it has read
select p.timeline, p.left_at, p.lost_bytes::bigint as lost_bytes, p.lost_numbers
from postrider.confirm_position($1, $2, $3, $4) p;
