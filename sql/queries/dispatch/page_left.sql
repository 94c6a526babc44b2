-- How many messages of each target a page of page.sql has left to the lag, and since when they are pending: what is
-- scheduled for later counts from then on.
--   $1 smallint: lane        $2 bigint: after this id     $3 bigint: up to this id
--   $4 pg_snapshot: top      $5 pg_snapshot: base
--   $6 integer[]: targets    $7 integer: shards           $8 boolean: what expires is not left
-- Groups are of type xid, which can be hashed and not be sorted: sorting a flood would take seconds.
-- Indexes: message_id, message_lane_id.
select l.target::text::integer as target, count(*) as left_count, min(l.pending_since) as oldest
from (
    select r.target::text::xid as target, r.pending_since
    from generate_series(
        ($2::bigint >> 16)
        + ((($1::smallint >> 4) - ($2::bigint >> 16) % $7::integer) + $7) % $7,
        $3::bigint >> 16, $7) g (run)
    join lateral (
        select m.targets[1] as target, greatest(m.created_at, m.scheduled_at) as pending_since
        from postrider.message m
        where m.id > greatest($2, (g.run << 16) - 1)
        and m.id <= least($3, (g.run << 16) | 65535)
        and m.lane = $1
        and pg_visible_in_snapshot(m.xid, $4)
        and not pg_visible_in_snapshot(m.xid, $5)
        and cardinality(m.targets) = 1
        and m.targets[1] = any ($6)
        and not ($8 and m.expires_at is not null)
        order by m.id
    ) r on true
    where ($1 & 15) = 0
    union all
    select m.targets[1]::text::xid, greatest(m.created_at, m.scheduled_at)
    from postrider.message m
    where ($1 & 15) <> 0
    and m.lane = $1
    and (m.lane & 15) <> 0
    and m.id + 0 > $2
    and m.id + 0 <= $3
    and pg_visible_in_snapshot(m.xid, $4)
    and not pg_visible_in_snapshot(m.xid, $5)
    and cardinality(m.targets) = 1
    and m.targets[1] = any ($6)
    and not ($8 and m.expires_at is not null)
) l
group by l.target;
