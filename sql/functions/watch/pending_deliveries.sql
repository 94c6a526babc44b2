-- postrider.pending_deliveries() → what is pending at each endpoint
--
-- Internal. What dispatchers have read and not finished, by the newest heartbeat that speaks of each
-- shard, and what nobody has read (`unread`; null when the log is locked and cannot be looked at).
-- `oldest_at`: since when the oldest is pending, null when all of it is scheduled for later.
-- `passed_since`: when the oldest was sent of what dispatchers have passed over in the log and not
-- attempted. Endpoints at which nothing is pending have no row.
create or replace function postrider.pending_deliveries()
returns table (
    endpoint_id integer,
    delivery_count double precision,
    oldest_at timestamptz,
    passed_since timestamptz,
    unread double precision,
    unread_oldest_at timestamptz)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    unread_ids integer[];
    unread_counts double precision[];
    unread_oldest timestamptz[];
    unread_due timestamptz[];
    is_unread_known boolean := true;
begin
    begin
        select
            array_agg(u.endpoint_id), array_agg(u.delivery_count), array_agg(u.oldest_at),
            array_agg(u.due_since)
        into unread_ids, unread_counts, unread_oldest, unread_due
        from postrider.unread_messages() u;
    exception
        when lock_not_available then is_unread_known := false;
    end;
    return query
    with reported as (
        select
            (p.value ->> 0)::integer as endpoint_id,
            sum((p.value ->> 1)::double precision * r.share) as delivery_count,
            min(s.oldest_at) filter (where s.oldest_at <= clock_timestamp()) as oldest_at,
            min(s.passed_since) filter (where s.passed_since <= clock_timestamp()) as passed_since
        from postrider.shard_reports() r
        cross join lateral jsonb_array_elements(r.statistics -> 'pending') p
        cross join lateral (
            select
                timestamptz 'epoch' + (p.value ->> 2)::double precision * interval '1 microsecond',
                timestamptz 'epoch' + (p.value ->> 3)::double precision * interval '1 microsecond'
        ) s (oldest_at, passed_since)
        group by 1
    ), unread as (
        select u.endpoint_id, u.delivery_count, u.oldest_at, u.due_since
        from unnest(unread_ids, unread_counts, unread_oldest, unread_due)
            u (endpoint_id, delivery_count, oldest_at, due_since)
    )
    select
        coalesce(r.endpoint_id, u.endpoint_id),
        coalesce(r.delivery_count, 0) + coalesce(u.delivery_count, 0),
        least(r.oldest_at, u.due_since), r.passed_since,
        case when is_unread_known then coalesce(u.delivery_count, 0) end,
        u.oldest_at
    from reported r
    full join unread u on u.endpoint_id = r.endpoint_id;
end;
$$;
