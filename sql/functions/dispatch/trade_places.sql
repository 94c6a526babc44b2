-- postrider.trade_places(dispatcher, shards, epochs, lent…, returned…, asked…) → all loans that it has to heed
--
-- Internal. Parts of endpoints' concurrency go from dispatcher to dispatcher: see "Lending places" in
-- docs/internals/endpoints.md. Lends the parts of its shards that the caller does not use any more, gives back what it had
-- borrowed, and asks the others for what it could use. Only a shard's owner can lend its part, so under the fence:
-- whoever takes the shard over sees all loans. Loans of a borrower whose lease has run out are over. Who calls it
-- twice for one trade does no more than once. The others are notified; who misses that asks or looks again.
create or replace function postrider.trade_places(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_lent_endpoint_ids integer[],
    p_lent_shards smallint[],
    p_borrowers uuid[],
    p_returned_endpoint_ids integer[],
    p_returned_shards smallint[],
    p_asked_endpoint_ids integer[],
    p_asked_parts integer[])
returns table (endpoint_id integer, shard smallint, is_borrowed boolean)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    live uuid[];
    lost smallint[];
    addressee uuid;
begin
    select coalesce(array_agg(l.id), '{}') into live from postrider.live_dispatchers() l (id);
    delete from postrider.loan l
    where l.shard = any (p_shards)
    and l.borrower <> all (live);

    delete from postrider.loan l
    using unnest(p_returned_endpoint_ids, p_returned_shards) r (endpoint_id, shard)
    where l.endpoint_id = r.endpoint_id
    and l.shard = r.shard
    and l.borrower = p_dispatcher;

    if cardinality(p_lent_shards) > 0 then
        lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
        insert into postrider.loan (endpoint_id, shard, borrower)
        select r.endpoint_id, r.shard, r.borrower
        from unnest(p_lent_endpoint_ids, p_lent_shards, p_borrowers) r (endpoint_id, shard, borrower)
        where r.shard = any (p_shards)
        and r.shard <> all (lost)
        and r.borrower = any (live)
        order by r.endpoint_id, r.shard
        on conflict do nothing;
    end if;

    for addressee in
        select r.borrower
        from unnest(p_borrowers) r (borrower)
        union
        select s.owner
        from unnest(p_returned_shards) r (shard)
        join postrider.shard s on s.shard = r.shard
        where s.owner <> p_dispatcher
    loop
        perform postrider.ring('postrider', 'loans ' || addressee);
    end loop;
    if cardinality(p_asked_parts) > 0 then
        perform postrider.ring(
            'postrider',
            format(
                'places %s %s', p_dispatcher,
                (
                    select string_agg(format('%s:%s', r.endpoint_id, r.parts), ' ')
                    from unnest(p_asked_endpoint_ids, p_asked_parts) r (endpoint_id, parts)
                )));
    end if;

    return query
    select l.endpoint_id, l.shard, l.borrower = p_dispatcher
    from postrider.loan l
    where l.shard = any (p_shards)
    or l.borrower = p_dispatcher;
end;
$$;
