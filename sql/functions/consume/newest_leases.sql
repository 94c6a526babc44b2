-- postrider.newest_leases(consumer_id) → the newest lease of each member, running or not
--
-- Internal. Jumps from member to member, so the cost depends on their number and not on that of renewals.
-- Uses consumer_lease_newest.
create or replace function postrider.newest_leases(p_consumer_id integer)
returns setof postrider.consumer_lease
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive members as (
        (
            select l.member
            from postrider.consumer_lease l
            where l.consumer_id = p_consumer_id
            order by l.member
            limit 1
        )
        union all
        select (
                select l.member
                from postrider.consumer_lease l
                where l.consumer_id = p_consumer_id
                and l.member > m.member
                order by l.member
                limit 1
            )
        from members m
        where m.member is not null
    )
    select newest.*
    from members m
    cross join lateral (
        select l.*
        from postrider.consumer_lease l
        where l.consumer_id = p_consumer_id
        and l.member = m.member
        order by l.seq desc
        limit 1
    ) newest;
$$;
