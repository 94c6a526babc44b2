-- postrider.cancel_message(message_id) → whether a delivery was cancelled that had not been attempted
--
-- Application, operator, admin. Takes back what has not been attempted yet: for a published message at each
-- target that has not. Counts from the commit of the caller's transaction. False when there is nothing
-- (any more) to take back. What an operator takes back is logged in event_log. Raises 22004 (a null id), 25001 (the transaction is not READ COMMITTED: it
-- could not see how far dispatchers are).
--
-- Without sequential scans: a plan that a session made while tables were empty would read all of them
-- later.
--
-- A dispatcher writes down what it takes, and then looks whether the sequence has moved or somebody
-- has locked these rows; we lock them and move the sequence, and then look what it has written down. One of
-- both sees the other. See "Cancelling" in ARCHITECTURE.md.
create or replace function postrider.cancel_message(p_message_id bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    waiting integer[];
    ordering_keys text[];
    unread integer[];
    sequence_value bigint;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'cancel_message needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    perform from postrider.cancel_bucket b where b.bucket = p_message_id >> 10 & 1023 for key share;
    perform from postrider.message m where m.id = p_message_id for update;
    sequence_value := nextval('postrider.cancel_sequence');

    with given_up as (
        delete from postrider.deferred d
        where d.message_id = p_message_id
        and d.retry_count = 0
        and d.recovery_count = 0
        and not exists (
            select
            from postrider.attempt a
            where a.message_id = d.message_id
            and a.target = d.target
        )
        and not exists (
            select
            from postrider.dead_letter l
            where l.message_id = d.message_id
            and l.target = d.target
        )
        -- It was cancelled before, and its row is the dispatcher's to take away.
        and not exists (
            select
            from postrider.cancellation c
            where c.message_id = d.message_id
            and c.target = d.target
        )
        and not exists (
            select
            from postrider.claim c
            where c.message_ids @> array[d.message_id]
            -- Nobody's: it was redriven.
            and c.owner <> '00000000-0000-0000-0000-000000000000'
        )
        returning d.target, d.ordering_key, d.is_blocked
    )
    -- What was blocked has blocked nobody: what is before it does, and may be in flight.
    select
        coalesce(array_agg(g.target), '{}'),
        array_agg(g.ordering_key) filter (where g.ordering_key is not null and not g.is_blocked)
    into waiting, ordering_keys
    from given_up g;

    with marked as (
        insert into postrider.cancellation (message_id, target)
        select m.id, t.target
        from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        where m.id = p_message_id
        and t.target <> all (waiting)
        and not postrider.is_taken(
            m.id, m.xid, case when m.expires_at is null then m.targets else '{}' end)
        and not exists (
            select
            from postrider.deferred d
            where d.message_id = m.id
            and d.target = t.target
        )
        and not exists (select from postrider.delivery_end(m.id, t.target))
        on conflict (message_id, target) do nothing
        returning target
    )
    select coalesce(array_agg(m.target), '{}') into unread from marked m;
    if waiting || unread = '{}' then
        return false;
    end if;

    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select p_message_id, t.target, coalesce(s.endpoint_id, 0), 'cancelled'
    from unnest(waiting || unread) t (target)
    left join postrider.subscriptions s on s.id = t.target;
    perform postrider.free_idempotency_keys(array[p_message_id]);
    -- What is behind it is the dispatcher's to let go: a row that we changed would be locked until our
    -- caller commits, and the dispatcher waits for no application.
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from (select distinct o.ordering_key from unnest(ordering_keys) o (ordering_key)) k;
    if postrider.is_operator() then
        insert into postrider.event_log (event, details)
        values (
            'message.cancelled',
            jsonb_build_object(
                'message_id', p_message_id, 'by', session_user,
                'before', jsonb_build_object('status', 'waiting'),
                'after', jsonb_build_object('status', 'cancelled')));
    end if;
    return true;
end;
$$;
