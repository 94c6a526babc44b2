-- postrider.forget_consumer_rows() → how many rows were deleted
--
-- Internal, by any dispatcher once a minute. Of positions, begun batches and leases of consumers the newest
-- counts; what is older goes, and leases that ran out ten minutes ago: 10,000 of each at most. Whoever writes a newer row
-- takes the older one along, so what is left are rows of members that never came back, and of versions before
-- that. A lease that a member's open transaction deletes is left to it. Readers begin at the newest, so what
-- vacuum has not removed yet costs them nothing. Truncating, as other tables that are only appended to, would
-- wait for every consumer that is in the middle of a batch. Uses consumer_position_newest,
-- consumer_attempt_newest, consumer_lease_newest.
create or replace function postrider.forget_consumer_rows()
returns bigint
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    with resting as materialized (
        select c.id as consumer_id, g.partition, p.seq as position_seq, a.seq as attempt_seq
        from postrider.consumer c
        cross join generate_series(0, c.partition_count - 1) g (partition)
        cross join lateral postrider.newest_position(c.id, g.partition) p
        left join lateral postrider.newest_attempt(c.id, g.partition) a on true
    ), old_positions as materialized (
        select o.ctid
        from resting r
        cross join lateral (
            select p.ctid
            from postrider.consumer_position p
            where p.consumer_id = r.consumer_id
            and p.partition = r.partition
            and p.seq < r.position_seq
            order by p.seq
            limit 10000
        ) o
        limit 10000
    ), old_attempts as materialized (
        select o.ctid
        from resting r
        cross join lateral (
            select a.ctid
            from postrider.consumer_attempt a
            where a.consumer_id = r.consumer_id
            and a.partition = r.partition
            and a.seq < r.attempt_seq
            order by a.seq
            limit 10000
        ) o
        limit 10000
    ), old_leases as materialized (
        select o.ctid
        from postrider.consumer c
        cross join lateral postrider.newest_leases(c.id) n
        cross join lateral (
            select l.ctid
            from postrider.consumer_lease l
            where l.consumer_id = c.id
            and l.member = n.member
            and l.seq <= n.seq
            and (l.seq < n.seq or n.lease_until < clock_timestamp() - interval '10 minutes')
            order by l.seq
            limit 10000
            for update skip locked
        ) o
        limit 10000
    ), positions as (
        delete from postrider.consumer_position p
        where p.ctid = any (array(select o.ctid from old_positions o))
        returning 1
    ), attempts as (
        delete from postrider.consumer_attempt a
        where a.ctid = any (array(select o.ctid from old_attempts o))
        returning 1
    ), leases as (
        delete from postrider.consumer_lease l
        where l.ctid = any (array(select o.ctid from old_leases o))
        returning 1
    )
    select
        (select count(*) from positions) + (select count(*) from attempts)
        + (select count(*) from leases);
$$;
