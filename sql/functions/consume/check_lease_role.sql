-- postrider.check_lease_role(consumer_name, lease, at)
--
-- Internal: lease_partitions, release_partitions, which have the consumer's leases to themselves (lock_leases). Whoever
-- reads can see what members are called, so a lease belongs to the role that took it for as long as it runs. Raises 42501.
create or replace function postrider.check_lease_role(
    p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamptz)
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_lease.lease_until > p_at and not postrider.may_act_for(p_lease.leased_by) then
        raise exception 'The lease of member % of consumer ''%'' was taken by role "%", not by "%"',
            p_lease.member, p_consumer_name, p_lease.leased_by, postrider.caller()
            using
                errcode = '42501',
                hint = format(
                    'Act as that role, grant it to "%s", or take an id of your own for the member.',
                    postrider.caller());
    end if;
end;
$$;
