-- postrider.metrics() → figures for monitoring, named as Prometheus wants them, without the prefix
--
-- Operator, admin, monitor. An exporter adds `postrider_` (`postrider metrics` does). Types: gauge, counter.
-- Nothing is counted: figures come from heartbeats, sequences, catalogs, rolled-up totals and looks of
-- bounded size at the log and at executions, so the cost depends on the number of endpoints, dispatchers,
-- pools and workers only. What cannot be known at the moment has no row.
create or replace function postrider.metrics()
returns table (
    metric_name text,
    metric_value double precision,
    labels jsonb,
    metric_type text)
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
set jit = off
as $$
    with pending as materialized (
        select p.endpoint_id, p.delivery_count, p.oldest_at, p.unread, p.unread_oldest_at
        from postrider.pending_deliveries() p
    ), workers as materialized (
        select w.id, w.host, w.shards, w.messages_processed, w.error_count, w.in_flight, w.clock_offset
        from postrider.get_worker_status() w
    ), horizons as materialized (
        select h.table_name, h.horizon, h.has_default_rows
        from postrider.partition_horizons() h
    ), consumers as materialized (
        select c.name, c.partition, c.message_count, c.lag_messages, c.lag_seconds, c.parked_count
        from postrider.consumer_figures() c
    ), pools as materialized (
        select
            f.pool, f.active_count, f.busy_count, f.inactive_count, f.cordoned_count, f.error_count,
            f.capacity, f.free_capacity, f.waiting_count, f.scheduled_count, f.running_count,
            f.oldest_scheduled_at, f.overdue_count, f.scaling_signal
        from postrider.pool_figures() f
    ), brokers as materialized (
        select b.process, b.is_connected, b.dead_letter_depth
        from postrider.broker_report b
        where b.at > clock_timestamp() - interval '30 seconds'
    ), seconds (at) as (
        select clock_timestamp()
    )
    select m.name, m.value, m.labels, m.kind
    from (
        select v.name, v.value, jsonb_build_object('endpoint', e.name), 'gauge'
        from postrider.endpoints e
        left join postrider.circuit c on c.endpoint_id = e.id
        left join pending p on p.endpoint_id = e.id
        cross join seconds n
        cross join lateral (values
            (
                'endpoint_circuit_state',
                (case c.state when 'open' then 2 when 'half_open' then 1 else 0 end)::double precision
            ),
            ('endpoint_circuit_failure_count', coalesce(c.failure_count, 0)),
            ('endpoint_enabled', e.enabled::integer),
            ('endpoint_paused', (e.paused or coalesce(c.paused_until > n.at, false))::integer),
            ('endpoint_pending_messages', coalesce(round(p.delivery_count), 0)),
            (
                'endpoint_oldest_pending_seconds',
                case
                    when e.paused then 0
                    else coalesce(greatest(extract(epoch from n.at - p.oldest_at), 0), 0)
                end
            ),
            ('endpoint_last_success_timestamp_seconds', extract(epoch from c.last_success_at))
        ) v (name, value)
        union all
        select v.name, v.value, jsonb_build_object('dispatcher', w.id, 'host', w.host), v.kind
        from workers w
        cross join lateral (values
            ('messages_processed_total', w.messages_processed::double precision, 'counter'),
            ('errors_total', w.error_count, 'counter'),
            ('in_flight', w.in_flight, 'gauge'),
            ('clock_offset_seconds', extract(epoch from w.clock_offset), 'gauge')
        ) v (name, value, kind)
        union all
        select v.name, v.value, jsonb_build_object('table', h.table_name), 'gauge'
        from horizons h
        cross join lateral (values
            ('partition_horizon_seconds', extract(epoch from h.horizon)::double precision),
            ('default_partition_rows', h.has_default_rows::integer)
        ) v (name, value)
        union all
        select
            v.name, v.value, jsonb_build_object('consumer', c.name, 'partition', c.partition::text),
            v.kind
        from consumers c
        cross join lateral (values
            ('consumer_lag_messages', c.lag_messages::double precision, 'gauge'),
            ('consumer_lag_seconds', c.lag_seconds, 'gauge'),
            ('consumer_parked_messages', c.parked_count, 'gauge'),
            ('consumer_messages_total', c.message_count, 'counter')
        ) v (name, value, kind)
        union all
        select 'workers', v.value, jsonb_build_object('pool', p.pool, 'status', v.status), 'gauge'
        from pools p
        cross join lateral (values
            ('active', p.active_count),
            ('busy', p.busy_count),
            ('inactive', p.inactive_count),
            ('cordoned', p.cordoned_count),
            ('error', p.error_count)
        ) v (status, value)
        union all
        select 'executions', v.value, jsonb_build_object('pool', p.pool, 'status', v.status), 'gauge'
        from pools p
        cross join lateral (values
            ('waiting', p.waiting_count),
            ('scheduled', p.scheduled_count),
            ('running', p.running_count)
        ) v (status, value)
        union all
        select v.name, v.value, jsonb_build_object('pool', p.pool), 'gauge'
        from pools p
        cross join seconds n
        cross join lateral (values
            ('pool_capacity', p.capacity::double precision),
            ('pool_free_capacity', p.free_capacity),
            ('pool_scaling_signal_seconds', p.scaling_signal),
            (
                'executions_oldest_scheduled_seconds',
                coalesce(greatest(extract(epoch from n.at - p.oldest_scheduled_at), 0), 0)
            ),
            ('executions_overdue', p.overdue_count)
        ) v (name, value)
        union all
        select
            v.name, v.value::double precision,
            jsonb_build_object(
                'pool', t.pool, 'action', t.action, 'reason', t.reason)
            || case
                when v.name = 'executions_ended_total' then jsonb_build_object('status', t.status)
                else '{}'
            end,
            'counter'
        from postrider.execution_total t
        cross join lateral (values
            ('executions_ended_total', nullif(t.ended_count, 0)),
            (
                'execution_retries_total',
                case when t.status = 'failed' then nullif(t.attempt_count - t.ended_count, 0) end
            )
        ) v (name, value)
        union all
        select
            'execution_dead_letters_total', coalesce(t.letter_count, 0)::double precision,
            jsonb_build_object('outcome', o.outcome), 'counter'
        from unnest(array[
            'failed', 'retried', 'returned', 'terminal', 'running', 'passed', 'unknown', 'unreadable'
        ]) o (outcome)
        left join postrider.dead_letter_total t on t.outcome = o.outcome
        union all
        select
            'broker_connected', b.is_connected::integer, jsonb_build_object('process', b.process),
            'gauge'
        from brokers b
        union all
        select 'dead_letter_queue_depth', max(b.dead_letter_depth), '{}', 'gauge'
        from brokers b
        union all
        select
            'ticks_total', (
                select t.id::double precision from postrider.tick t order by t.id desc limit 1
            ), '{}', 'counter'
        union all
        select 'log_rewinds_total', (select count(*) from postrider.rewind), '{}', 'counter'
        union all
        select v.name, v.value, '{}', 'gauge'
        from seconds n
        cross join postrider.message_sequence q
        cross join lateral (values
            ('dispatchers', (select count(*) from workers)::double precision),
            ('shards', (select count(*) from postrider.shard)),
            ('shards_owned', (select coalesce(sum(cardinality(w.shards)), 0) from workers w)),
            (
                'unread_messages',
                (
                    select case
                        when bool_or(p.unread is null) then null
                        else coalesce(round(sum(p.unread)), 0)
                    end
                    from pending p
                )
            ),
            (
                'oldest_unread_seconds',
                (
                    select case
                        when bool_or(p.unread is null) then null
                        else coalesce(
                            greatest(extract(epoch from n.at - min(p.unread_oldest_at)), 0), 0)
                    end
                    from pending p
                )
            ),
            (
                'queue_depth',
                greatest(q.last_value - (not q.is_called)::integer - postrider.queue_base(), 0)
            ),
            (
                'queue_limit',
                (
                    select s.value::double precision
                    from postrider.setting s
                    where s.name = 'max_queue_size'
                )
            ),
            (
                'dead_letters_estimate',
                greatest(pg_stat_get_live_tuples('postrider.dead_letter'::regclass), 0)
            ),
            (
                'oldest_transaction_seconds',
                coalesce((select t.age from postrider.open_transactions(1) t), 0)
            )
        ) v (name, value)
        union all
        select 'build_info', 1, jsonb_build_object('version', i.product_version), 'gauge'
        from postrider.installation i
    ) m (name, value, labels, kind)
    where m.value is not null
    order by m.name, m.labels;
$$;
