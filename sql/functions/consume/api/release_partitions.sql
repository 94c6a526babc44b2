-- postrider.release_partitions(consumer, member) → whether it had a lease
--
-- Consumer, application, admin. Leaves the consumer's readers: what the member has is free at once, when this
-- commits. Others take it at their next renewals. In a transaction of its own. Raises 22004 (a null), 25001
-- (isolation level), 42501 (another role has taken the lease), 42704 (no such consumer), 55006 (somebody's transaction keeps others from it).
create or replace function postrider.release_partitions(p_consumer text, p_member uuid)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    at timestamptz;
    own postrider.consumer_lease;
begin
    if p_member is null then
        raise exception 'p_member must not be null' using errcode = '22004';
    end if;
    perform postrider.lock_leases(reader);
    at := clock_timestamp();
    select l.* into own from postrider.newest_leases(reader.id) l where l.member = p_member;
    perform postrider.check_lease_role(reader.name, own, at);
    if own.lease_until > at then
        insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at, leased_by)
        values (reader.id, p_member, '{}', at, own.joined_at, own.leased_by);
        delete from postrider.consumer_lease l
        where l.consumer_id = reader.id
        and l.member = p_member
        and l.seq = own.seq;
        return true;
    end if;
    return false;
end;
$$;
