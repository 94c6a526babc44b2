-- postrider.hold_deliveries(verb, message_id, endpoint) → the waiting deliveries of a message, locked
--
-- Internal: what retry_delivery, fail_delivery and skip_delivery begin with. All of the message, or the one to this
-- endpoint; an error unless all of them are the caller's to change. To the end of its transaction no dispatcher
-- attempts them: it leaves the same marks as cancel_message, see there. Waits no longer than a second for another
-- transaction.
--
-- Raises 22004 (a null id), 42704 (no such message or endpoint), 25001 (the transaction is not READ COMMITTED: it could
-- not see what dispatchers have in hand), 55000 (nothing waits), 55006 (a dispatcher has one in hand, or somebody
-- else has locked one). Uses message_id, deferred_pkey, cancellation_pkey, dead_letter_message.
create or replace function postrider.hold_deliveries(
    p_verb text, p_message_id bigint, p_endpoint_name text)
returns table (place tid, target integer, endpoint_name text)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    patience constant interval := '1 second';
    look constant double precision := 0.02;
    began constant timestamptz := clock_timestamp();
    wanted integer;
    places tid[];
    is_held boolean;
    held_at text;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception '% needs a transaction with isolation level READ COMMITTED, this is %',
            p_verb, upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;

    perform from postrider.cancel_bucket b where b.bucket = p_message_id >> 10 & 1023 for key share;
    loop
        perform from postrider.message m where m.id = p_message_id for update skip locked;
        is_held := not found
            and exists (select from postrider.message m where m.id = p_message_id);
        -- Who waits for the message holds nothing that whoever has it waits for.
        places := array(
            select d.ctid
            from postrider.deferred d
            where d.message_id = p_message_id
            and (wanted is null or d.endpoint_id = wanted)
            and not is_held
            -- It was cancelled before, and its row is the dispatcher's to take away.
            and not exists (
                select
                from postrider.cancellation c
                where c.message_id = d.message_id
                and c.target = d.target
            )
            for update of d skip locked
        );
        is_held := is_held or exists (
            select
            from postrider.deferred d
            where d.message_id = p_message_id
            and (wanted is null or d.endpoint_id = wanted)
            and d.ctid <> all (places)
            and not exists (
                select
                from postrider.cancellation c
                where c.message_id = d.message_id
                and c.target = d.target
            )
        );
        exit when not is_held;
        if clock_timestamp() not between began and began + patience then
            raise exception 'Message % is held by another transaction', p_message_id
                using errcode = '55006', hint = 'Try again when that transaction has ended.';
        end if;
        perform pg_sleep(look);
    end loop;
    if places = '{}' then
        if not exists (select from postrider.message m where m.id = p_message_id)
            and not exists (select from postrider.dead_letter l where l.message_id = p_message_id)
        then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
        raise exception 'No delivery of message % waits%', p_message_id,
            coalesce(' for endpoint ''' || p_endpoint_name || '''', '')
            using
                errcode = '55000',
                detail = (
                    select string_agg(format('%s: %s', s.endpoint_name, s.status), ', ')
                    from postrider.message_status(p_message_id) s
                ),
                hint = 'What no dispatcher has read yet is taken back by cancel_message.';
    end if;
    perform nextval('postrider.cancel_sequence');

    select coalesce(e.name, d.endpoint_id::text)
    into held_at
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    where d.ctid = any (places)
    and postrider.is_in_hand(d.message_id, d.target, d.retry_count)
    limit 1;
    if found then
        raise exception 'A dispatcher has the delivery of message % to endpoint ''%'' in hand',
            p_message_id, held_at
            using
                errcode = '55006',
                hint = 'Try again when its attempt is over; where its endpoint is paused or its circuit is '
                    'open, after half an hour at most.';
    end if;
    return query
    select d.ctid, d.target, coalesce(e.name, d.endpoint_id::text)
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    where d.ctid = any (places)
    order by d.target;
end;
$$;
