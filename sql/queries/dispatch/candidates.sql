-- Ids and transaction ids of one lane, for finding what a former owner may have attempted.
--   $1 smallint: lane   $2 bigint: after this id   $3 bigint: up to this id
--   $4 pg_snapshot: base, whose messages are finished   $5 bigint: at most so many rows
--   $6 integer: shards
-- The two ways to the rows are those of page.sql. Indexes: message_id, message_lane_id.
select p.id, p.xid, p.targets, p.expires
from (
    select r.*
    from generate_series(
        ($2::bigint >> 16)
        + ((($1::smallint >> 4) - ($2::bigint >> 16) % $6::integer) + $6) % $6,
        $3::bigint >> 16, $6) g (run)
    cross join lateral (
        select m.id, m.xid, m.targets, m.expires_at is not null as expires
        from postrider.message m
        where m.id > greatest($2, (g.run << 16) - 1)
        and m.id <= least($3, (g.run << 16) | 65535)
        and m.lane = $1
        and not pg_visible_in_snapshot(m.xid, $4)
        order by m.id
    ) r
    where ($1 & 15) = 0
    union all
    (
        select m.id, m.xid, m.targets, m.expires_at is not null
        from postrider.message m
        where ($1 & 15) <> 0
        and m.lane = $1
        and (m.lane & 15) <> 0
        and m.id + 0 > $2
        and m.id + 0 <= $3
        and not pg_visible_in_snapshot(m.xid, $4)
        order by m.id + 0
    )
) p
limit $5;
