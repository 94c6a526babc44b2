-- postrider.lease_partitions(consumer, member, lease) → the partitions that this member shall read now
--
-- Consumer, application, admin. Joins the consumer's readers, or renews the lease, by the database's clock. Each
-- live member gets its share of the partitions, rounded up or down, and keeps what it has as far as that
-- allows; what it has too much is given up at its next renewal, and what nobody has is taken at the next
-- renewal of somebody with less than a share. No partition is in two live leases. With more members than
-- partitions some get none, until somebody leaves. In a transaction of its own: others wait for its end.
-- Raises 22004 (a null), 22023 (a lease out of its range), 25001 (isolation level), 42501 (another role has taken the
-- member's lease), 42704 (no such consumer), 55006 (somebody's transaction keeps others from renewing).
--
-- The row of its former lease goes, and those of some members whose leases ran out ten minutes ago, whether a dispatcher
-- runs or not. What a dispatcher deletes at the moment is left to it. Uses consumer_lease_newest.
--
-- For affinity and balance only: who reads a partition holds its lock, whatever the leases say, and a
-- member whose lease has run out keeps its partition to the end of its transaction.
create or replace function postrider.lease_partitions(
    p_consumer text, p_member uuid, p_lease interval default '15 seconds')
returns integer[]
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    shortest constant interval := '1 second';
    longest constant interval := '1 hour';
    most_forgotten constant integer := 100;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    at timestamptz;
    known postrider.consumer_lease[];
    own postrider.consumer_lease;
    others postrider.consumer_lease[];
    even_share integer;
    remainder integer;
    large_count integer;
    share integer;
    leased integer[];
begin
    if p_member is null then
        raise exception 'p_member must not be null' using errcode = '22004';
    end if;
    if p_lease is null or p_lease not between shortest and longest then
        raise exception 'p_lease must be between 1 second and 1 hour, got %',
            coalesce(p_lease::text, 'null') using errcode = '22023';
    end if;
    perform postrider.lock_leases(reader);

    -- After the lock: what others have got by then is seen.
    at := clock_timestamp();
    known := array(select l from postrider.newest_leases(reader.id) l);
    select l.* into own from unnest(known) l where l.member = p_member;
    perform postrider.check_lease_role(reader.name, own, at);
    others := array(
        select l
        from unnest(known) l
        where l.member <> p_member
        and l.lease_until > at
    );
    even_share := reader.partition_count / (cardinality(others) + 1);
    remainder := reader.partition_count % (cardinality(others) + 1);
    -- So many members may have one more; those that have it keep it.
    select count(*)
    into large_count
    from unnest(others) l
    where cardinality(l.partitions) > even_share;
    share := even_share + case when large_count < remainder then 1 else 0 end;
    -- Its own first, or what it had when its lease ran out.
    leased := array(
        select f.partition
        from (
            select p.partition
            from generate_series(0, reader.partition_count - 1) p (partition)
            where not exists (
                select
                from unnest(others) l
                where p.partition = any (l.partitions)
            )
            order by p.partition = any (coalesce(own.partitions, '{}')) desc, p.partition
            limit share
        ) f
        order by f.partition
    );
    delete from postrider.consumer_lease l
    where l.ctid = any (array(
        select k.ctid
        from unnest(known) n
        join postrider.consumer_lease k
        on k.consumer_id = reader.id
        and k.member = n.member
        and k.seq = n.seq
        where n.member = p_member
        or n.lease_until < at - interval '10 minutes'
        and not exists (
            -- It would come to life again.
            select
            from postrider.consumer_lease o
            where o.consumer_id = reader.id
            and o.member = n.member
            and o.seq < n.seq
        )
        order by n.member <> p_member
        limit most_forgotten
        for update of k skip locked));
    insert into postrider.consumer_lease (
        consumer_id, member, partitions, lease_until, joined_at, leased_by)
    values (
        reader.id, p_member, leased, at + p_lease,
        case when own.lease_until > at then own.joined_at else at end,
        -- Whoever renews it for that role does not take it away.
        coalesce(case when own.lease_until > at then own.leased_by end, postrider.caller()));
    return leased;
end;
$$;
