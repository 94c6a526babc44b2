-- $1: the endpoint's name; no row when there is none.
-- Index: none, the name's own constraint.
select postrider.replay_range(e.id, $2::text::timestamptz, $3::text::timestamptz, $4::text)
from postrider.endpoints e
where e.name = $1::text;
