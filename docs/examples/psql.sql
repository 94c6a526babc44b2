-- Places an order and tells others about it, in one transaction:
--
--     psql "$DATABASE_URL" -X -q -v order=1 -v item=lamp -f psql.sql

begin;

insert into orders (id, item)
values (:order, :'item')
on conflict (id) do nothing;

-- Once for each order, however often this runs within 24 hours (idempotency_window).
select
    -- One endpoint.
    postrider.send_with_options('warehouse', jsonb_build_object('order', :order, 'item', :'item'),
        p_idempotency_key => 'order ' || :order) as sent,
    -- All who subscribe to the event.
    postrider.publish('order.placed', jsonb_build_object('order', :order, 'item', :'item'),
        p_idempotency_key => 'order ' || :order,
        p_ordering_key => 'order ' || :order,
        p_priority => 5,
        p_headers => '{"x-tenant": "acme"}',
        p_expires_at => now() + interval '1 hour') as published
\gset

commit;

-- After an error everything above was rolled back.
select
    :'LAST_ERROR_SQLSTATE' = '53400' as is_full,
    :'LAST_ERROR_MESSAGE' like 'Idempotency key %' as is_conflict,
    :'LAST_ERROR_SQLSTATE' = '00000' as is_done
\gset
\if :is_full
    \warn 'too many messages wait; try again later'
\elif :is_conflict
    \warn 'order' :order 'was placed with another item'
\elif :is_done
    \echo 'order' :order 'placed, messages' :sent 'and' :published
\endif
