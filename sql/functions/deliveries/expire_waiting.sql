-- postrider.expire_waiting(most) → how many waiting deliveries have expired
--
-- Internal, see mark_expired_messages. Deliveries in postrider.deferred whose time is over, the first to expire first, at most
-- so many. None that a dispatcher has claimed, for the claim's retry count, or one that died and whose claims nobody has
-- recovered yet.
--
-- A dispatcher writes its claim and then asks whether the row is there and has not expired, by this
-- database's clock (still_waiting). What has expired here had done so when this transaction began: a
-- claim that this statement does not see is followed by a question whose answer is no. So what ends
-- here is not attempted any more, whatever clocks and locks do. What is locked is left to who has it.
--
-- What waited behind them is the dispatcher's to let go, as in cancel_message. Uses deferred_expires_at, deferred_pkey,
-- and what uncancelled uses.
create or replace function postrider.expire_waiting(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set jit = off
as $$
declare
    last_at timestamptz := '-infinity';
    last_id bigint := 0;
    last_target integer := 0;
    page_places tid[];
    places tid[] := '{}';
    message_ids bigint[];
    ordering_keys text[];
begin
    -- Reading the claims is what costs, and mostly there is no reason to.
    if not exists (select from postrider.deferred d where d.expires_at <= now()) then
        return 0;
    end if;
    -- A page after the other, as there may be claims on all of one. What is in order by an index needs no sort.
    loop
        with page as materialized (
            select w.message_id, w.target, w.retry_count, w.recovery_count, w.expires_at
            from postrider.deferred w
            where (w.expires_at, w.message_id, w.target) > (last_at, last_id, last_target)
            and w.expires_at <= now()
            order by w.expires_at, w.message_id, w.target
            limit p_most
        ), claimed as materialized (
            select h.message_id, h.target, h.retry_count
            from (
                select array_agg(o.owner) as owners, array_agg(o.shard) as shards
                from postrider.claim_holders() o
            ) s
            cross join lateral postrider.standing_claims(s.owners, s.shards) h
        )
        select
            (
                select array_agg(l.ctid)
                from (
                    select w.ctid, p.message_id, p.retry_count, p.recovery_count
                    from (
                        select p.message_id, p.target, p.retry_count, p.recovery_count
                        from page p
                        where not exists (
                            select
                            from claimed c
                            where c.message_id = p.message_id
                            and c.target = p.target
                            and c.retry_count = p.retry_count
                        )
                        offset 0
                    ) p
                    cross join lateral (
                        select d.ctid
                        from postrider.deferred d
                        where d.message_id = p.message_id
                        and d.target = p.target
                        and d.retry_count = p.retry_count
                        and d.expires_at <= now()
                        offset 0
                        for update skip locked
                    ) w
                    offset 0
                ) l
                -- Its own row first: nobody who cancels waits for a message of which nothing is ended here. What may be
                -- being cancelled is not in the way of others.
                where not postrider.is_being_cancelled(l.message_id, l.retry_count, l.recovery_count)
            ),
            e.expires_at, e.message_id, e.target
        into page_places, last_at, last_id, last_target
        from page e
        order by e.expires_at desc, e.message_id desc, e.target desc
        limit 1;
        exit when last_at is null;
        places := places || (
            select u.free from postrider.uncancelled(coalesce(page_places, '{}')) u
        );
        exit when cardinality(places) >= p_most;
    end loop;
    places := places[:p_most];
    if places = '{}' then
        return 0;
    end if;
    with gone as (
        delete from postrider.deferred d
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.ordering_key, d.is_blocked
    ), noted as (
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select g.message_id, g.target, g.endpoint_id, 'expired'
        from gone g
    )
    -- What was blocked has blocked nobody.
    select
        array_agg(distinct g.message_id),
        array_agg(distinct g.ordering_key)
        filter (where g.ordering_key is not null and not g.is_blocked)
    into message_ids, ordering_keys
    from gone g;
    perform postrider.free_idempotency_keys(message_ids);
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from unnest(ordering_keys) k (ordering_key);
    return cardinality(places);
end;
$$;
