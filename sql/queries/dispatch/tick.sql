-- What is visible now and was not at the reader's last tick.
--   $1 xid8: the end (xmax) of the last tick's snapshot   $2 smallint[]: lanes
--   $3 xid8[]: in progress at the last tick               $4 bigint: at most so many rows
--   $5 integer: payloads, headers and metadata come along up to so many bytes as they are sent, others are fetched later
-- The first row is the tick itself: the snapshot of this very statement, the reasons to refuse it,
-- the newest sequence number, and whether what is seen is durable: up to where it was written at most, up
-- to where the disk has it, and whether standbys are to have it, too. All branches see the same snapshot. Of the transactions that were in
-- progress only those are looked at that have ended: one that goes on, with a million messages behind
-- it, would cost 0.3 s in every tick. The cast of the lane keeps a plan that was made while a partition
-- was empty from using message_lane_id, which would read all of it. Index: message_xid_id.
select
    pg_current_snapshot() as snapshot,
    pg_is_in_recovery() as is_standby,
    pg_current_xact_id_if_assigned() is not null as has_own_transaction,
    (select s.last_value from postrider.message_sequence s) as last_number,
    case when not pg_is_in_recovery() then pg_current_wal_insert_lsn() end as written,
    case when not pg_is_in_recovery() then pg_current_wal_flush_lsn() end as flushed,
    current_setting('synchronous_standby_names') <> '' as has_standbys,
    null::bigint as id,
    null::xid8 as xid,
    null::timestamptz as created_at,
    null::timestamptz as scheduled_at,
    null::timestamptz as expires_at,
    null::smallint as priority,
    null::integer[] as targets,
    null::text as ordering_key,
    null::boolean as has_idempotency_key,
    null::uuid as correlation_id,
    null::text as event_type,
    null::jsonb as headers,
    null::text as payload,
    null::bytea as body,
    null::text as content_type,
    null::integer as payload_bytes,
    null::bigint as replay_of,
    null::jsonb as metadata
union all
(
    select
        null, null, null, null, null, null, null, r.id, r.xid, r.created_at, r.scheduled_at, r.expires_at, r.priority,
        r.targets, r.ordering_key, r.idempotency_key is not null, r.correlation_id, r.event_type,
        case when t.bytes <= $5 then r.headers end,
        case when t.bytes <= $5 then t.payload end,
        case when t.bytes <= $5 then r.body end,
        r.content_type,
        case when t.bytes > $5 then t.bytes end,
        r.replay_of,
        case when t.bytes <= $5 then r.metadata end
    from (
        select
            m.id, m.xid, m.created_at, m.scheduled_at, m.expires_at, m.priority, m.targets,
            m.ordering_key, m.idempotency_key, m.correlation_id, m.event_type, m.headers, m.payload,
            m.body, m.content_type, m.replay_of, m.metadata
        from postrider.message m
        where m.xid >= $1
        and m.lane::integer = any ($2::smallint[])
        union all
        select
            m.id, m.xid, m.created_at, m.scheduled_at, m.expires_at, m.priority, m.targets,
            m.ordering_key, m.idempotency_key, m.correlation_id, m.event_type, m.headers, m.payload,
            m.body, m.content_type, m.replay_of, m.metadata
        from postrider.message m
        where m.xid = any (array(
            select x.xid
            from unnest($3::xid8[]) x (xid)
            where pg_visible_in_snapshot(x.xid, pg_current_snapshot())
        ))
        and m.lane::integer = any ($2::smallint[])
    ) r
    cross join lateral (
        select
            j.payload,
            coalesce(octet_length(j.payload), octet_length(r.body), 0)
                + coalesce(octet_length(r.headers::text), 0)
                + coalesce(octet_length(r.metadata::text), 0) as bytes
        from (select r.payload::text as payload offset 0) j
        offset 0
    ) t
    limit $4
);
