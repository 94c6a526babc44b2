-- postrider.unread_messages() → what of the log no dispatcher has read, for each endpoint
--
-- Internal. How many deliveries, when the oldest message was sent, and since when one could have been
-- attempted (null: all are scheduled for later). A look at no more than 10,000 messages from where
-- reading has come to, and as many from the slowest of the lanes that are walked through in order of
-- id: where there are more, their number is what these tell of the rest, by sequence numbers.
-- Where the reader of a message's lane stands is looked up by the lane's number, and its target by id: joined, a
-- plan of few messages goes through all lanes, and all subscriptions, for each of many. Uses message_xid_id,
-- message_id, subscriptions_pkey.
create or replace function postrider.unread_messages()
returns table (
    endpoint_id integer,
    delivery_count double precision,
    oldest_at timestamptz,
    due_since timestamptz)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    look constant integer := 10000;
    last_number bigint;
    tail record;
    -- By lane.
    bases pg_snapshot[];
    tops pg_snapshot[];
    walks bigint[];
begin
    select s.last_value into last_number from postrider.message_sequence s;
    for tail in
        select t.lane, t.base, t.top, t.walked
        from postrider.lane_tails() t
    loop
        bases[tail.lane] := tail.base;
        tops[tail.lane] := tail.top;
        walks[tail.lane] := tail.walked;
    end loop;
    return query
    with tails as materialized (
        select t.base, t.walked
        from unnest(bases, walks) t (base, walked)
        where t.base is not null
    ), following as materialized (
        -- Lanes that are read by ticks: what came since the one that is farthest behind.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from postrider.message m
        where m.xid >= (
            select pg_snapshot_xmax(t.base)
            from tails t
            where t.walked is null
            order by 1
            limit 1
        )
        order by m.xid, m.id
        limit look
    ), late as (
        -- And what was not committed then.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from (
            select distinct x.xid
            from tails t
            cross join lateral pg_snapshot_xip(t.base) x (xid)
            where t.walked is null
        ) x
        cross join lateral (
            select l.id, l.xid, l.lane, l.targets, l.created_at, l.scheduled_at
            from postrider.message l
            where l.xid >= x.xid
            and l.xid <= x.xid
            order by l.xid, l.id
            limit look
        ) m
        where m.id not in (select f.id from following f)
    ), walking as materialized (
        -- Lanes that are walked through: what lies behind the slowest of them.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from postrider.message m
        where m.id > (select min(t.walked) from tails t)
        and not pg_visible_in_snapshot(
            m.xid, (
                select t.base
                from tails t
                where t.walked is not null
                order by pg_snapshot_xmax(t.base)
                limit 1
            ))
        order by m.id
        limit look
    ), following_size as materialized (
        select
            count(*) = look as is_full,
            (postrider.number_distance(min(f.id >> 10), last_number) + 1)
                / (postrider.number_distance(min(f.id >> 10), max(f.id >> 10)) + 1.0) as factor
        from following f
    ), walking_size as materialized (
        select count(*) = look as is_full, max(w.id >> 10) as up_to
        from walking w
    ), unread as (
        select
            f.id, f.targets, f.created_at, f.scheduled_at,
            case when z.is_full then greatest(z.factor, 1) else 1 end as weight
        from following f
        cross join following_size z
        where walks[f.lane] is null
        and not pg_visible_in_snapshot(f.xid, bases[f.lane])
        union all
        select l.id, l.targets, l.created_at, l.scheduled_at, 1
        from late l
        where walks[l.lane] is null
        and not pg_visible_in_snapshot(l.xid, bases[l.lane])
        union all
        -- What was passed already of a lane says how much of it comes behind the look.
        select
            w.id, w.targets,
            case when p.is_passed then null else w.created_at end,
            w.scheduled_at,
            case
                when z.is_full then
                    greatest(
                        postrider.number_distance(greatest(walks[w.lane] >> 10, z.up_to), last_number), 0)
                    / (postrider.number_distance(s.walked >> 10, z.up_to) + 1.0)
                    + (not p.is_passed)::integer
                else (not p.is_passed)::integer
            end
        from walking w
        cross join walking_size z
        cross join (select min(m.walked) as walked from tails m) s
        cross join lateral (
            select pg_visible_in_snapshot(w.xid, bases[w.lane])
                or w.id <= walks[w.lane] and pg_visible_in_snapshot(w.xid, tops[w.lane])
        ) p (is_passed)
        where walks[w.lane] is not null
    )
    select
        s.endpoint_id, sum(u.weight)::double precision, min(u.created_at),
        min(greatest(u.created_at, u.scheduled_at))
            filter (where u.created_at is not null
                and (u.scheduled_at is null or u.scheduled_at <= clock_timestamp()))
    from unread u
    cross join lateral unnest(u.targets) g (target)
    cross join lateral (
        select p.endpoint_id
        from postrider.subscriptions p
        where p.id = g.target
        limit 1
    ) s
    group by s.endpoint_id
    having sum(u.weight) > 0;
end;
$$;
