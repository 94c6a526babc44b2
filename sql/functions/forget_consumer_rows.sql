-- postrider.forget_consumer_rows() → how many rows were deleted
--
-- Internal, by any dispatcher once a minute. Of positions, begun batches and leases of consumers the newest
-- counts; what is older goes, and leases that ran out ten minutes ago. Readers begin at the newest, so what
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
    ), positions as (
        delete from postrider.consumer_position p
        using resting r
        where p.consumer_id = r.consumer_id
        and p.partition = r.partition
        and p.seq < r.position_seq
        returning 1
    ), attempts as (
        delete from postrider.consumer_attempt a
        using resting r
        where a.consumer_id = r.consumer_id
        and a.partition = r.partition
        and a.seq < r.attempt_seq
        returning 1
    ), leases as (
        delete from postrider.consumer_lease l
        using (
            select n.consumer_id, n.member, n.seq, n.lease_until
            from (select distinct k.consumer_id from postrider.consumer_lease k) c
            cross join lateral postrider.newest_leases(c.consumer_id) n
        ) newest
        where l.consumer_id = newest.consumer_id
        and l.member = newest.member
        and (
            l.seq < newest.seq
            or newest.lease_until < clock_timestamp() - interval '10 minutes' and l.seq = newest.seq)
        returning 1
    )
    select
        (select count(*) from positions) + (select count(*) from attempts)
        + (select count(*) from leases);
$$;
