-- Where the walk through a window has to begin and to end.
--   $1 xid8: the end (xmax) of the window's base   $2 xid8[]: in progress at the base
--   $3 smallint[]: lanes
-- last_id: no message that the window can hold has a higher id. floor: messages of transactions at or
-- above $1 have higher sequence numbers (null: unknown). straggler_id: the lowest id that a
-- transaction of $2 wrote. Indexes: heartbeat_xid, message_xid_id.
select
    (select (s.last_value << 10) | 1023 from postrider.message_sequence s) as last_id,
    (
        select h.sequence_floor
        from postrider.heartbeat h
        where h.xid < $1
        order by h.xid desc
        limit 1
    ) as floor,
    (
        select min(first.id)
        from unnest($2::xid8[]) x (xid)
        cross join lateral (
            select m.id
            from postrider.message m
            -- Bounds and order that no other index has; the cast keeps message_lane_id out.
            where m.xid >= x.xid
            and m.xid <= x.xid
            and m.lane::integer = any ($3::smallint[])
            order by m.xid, m.id
            limit 1
        ) first
    ) as straggler_id;
