-- The settings there are, with their ranges. A value that was changed stays; one that is still the
-- default follows the default.
insert into postrider.setting (
    name, value, default_value, kind, minimum, maximum, choices, unit, description)
select
    s.name, s.default_value, s.default_value, s.kind, s.minimum, s.maximum, s.choices, s.unit,
    s.description
from (
    values
    (
        'stale_recovery_timeout', '15', 'integer', 5, 3600, null::text[], 's',
        'How long a dispatcher keeps its shards without a sign of life; others take over after it.'
    ),
    (
        'max_queue_size', '1000000', 'integer', 0, 2147483647, null, 'deliveries',
        'How many deliveries may wait or be under way; sending more is refused. 0: as many as you like.'
    ),
    (
        'ordering_scope', 'endpoint', 'choice', null, null, array['endpoint', 'global'], null,
        'Where messages with one ordering key wait for each other: at each endpoint, or across all.'
    ),
    (
        'idempotency_window', '86400', 'integer', 0, 2592000, null, 's',
        'How long an idempotency key is held, from the creation of its message, unless all its deliveries expire or are cancelled; 0: until the message has ended.'
    ),
    (
        'max_payload_size', '1048576', 'integer', 1024, 67108864, null, 'bytes',
        'The largest payload that a message may have.'
    ),
    (
        'max_schedule_ahead', '400', 'integer', 1, 36500, null, 'days',
        'For how far ahead a message may be scheduled.'
    ),
    (
        'http_timeout', '10', 'integer', 1, 300, null, 's',
        'How long an HTTP request may take, from the request to the end of its answer.'
    ),
    (
        'http_connect_timeout', '5', 'integer', 1, 300, null, 's',
        'How long connecting may take: name look-up, TCP and TLS together.'
    ),
    (
        'default_max_retries', '10', 'integer', 0, 1000, null, 'retries',
        'How often a failed delivery is retried before it becomes a dead letter.'
    ),
    (
        'retry_base_delay', '10', 'integer', 1, 3600, null, 's',
        'How long the first retry waits.'
    ),
    (
        'retry_max_delay', '300', 'integer', 1, 86400, null, 's',
        'How long a retry waits at most.'
    ),
    (
        'retry_increment', '30', 'integer', 1, 3600, null, 's',
        'How much longer each retry waits than the one before, where the backoff is linear.'
    ),
    (
        'circuit_breaker_threshold', '10', 'integer', 1, 1000, null, 'failures',
        'After how many failed attempts in a row an endpoint is left alone.'
    ),
    (
        'circuit_breaker_cooldown', '30', 'integer', 5, 3600, null, 's',
        'How long an endpoint that keeps failing is left alone before it is tried again.'
    ),
    (
        'auto_disable_after_days', '0', 'integer', 0, 365, null, 'days',
        'After how many days of failures without a success an endpoint is disabled; 0: never.'
    ),
    (
        'dlq_retention_days', '30', 'integer', 1, 3650, null, 'days',
        'How long a dead letter is kept, from its failure, or from when it was redriven.'
    ),
    (
        'event_log_retention_days', '30', 'integer', 1, 3650, null, 'days',
        'How long rows of event_log are kept.'
    ),
    (
        'allow_internal_destinations', 'off', 'networks', null, null, null, null,
        'Which internal addresses messages may be sent to: off, on, or a list of networks such as 10.0.0.0/8, 127.0.0.1/32.'
    ),
    (
        'allow_any_port', 'off', 'choice', null, null, array['off', 'on'], null,
        'Whether messages may be sent to ports where something else than HTTP is spoken, such as 25 and 5432.'
    ),
    (
        'deliver_before_durable', 'off', 'choice', null, null, array['off', 'on'], null,
        'Whether a message may be delivered before its commit is on disk: sooner, and perhaps one that a crash of PostgreSQL takes back.'
    ),
    (
        'record_attempts', 'failures', 'choice', null, null, array['failures', 'all'], null,
        'Which attempts are recorded: those that failed, or all.'
    ),
    (
        'capture_response', 'off', 'switch', null, null, null, null,
        'Whether what endpoints answer is kept with their attempts; an endpoint may say otherwise.'
    ),
    (
        'response_body_max_size', '65536', 'integer', 0, 1048576, null, 'bytes',
        'How much of the body of an answer is kept.'
    ),
    (
        'partition_interval', 'month', 'choice', null, null, array['month', 'day'], null,
        'How long the partitions of the log are that are made from now on.'
    ),
    (
        'archive_retention_months', '6', 'integer', 1, 120, null, 'months',
        'How long messages that have ended are kept: partitions that ended before are dropped.'
    ),
    (
        'tick_interval_ms', '20', 'integer', 0, 10000, null, 'ms',
        'How long two ticks are apart at least: how often consumers get something new.'
    ),
    (
        'consumer_retention', '0', 'integer', 0, 3650, null, 'days',
        'How long messages are kept that a consumer has not read; 0: until it has read them.'
    ),
    (
        'execution_carrier', 'postgres', 'choice', null, null, array['postgres', 'rabbitmq'], null,
        'How executions get to workers that do not say it themselves, or have never been there.'
    ),
    (
        'worker_queue_ttl_ms', '300000', 'integer', 1000, 2592000000, null, 'ms',
        'How long an execution waits until a worker has started it, unless it or its action says otherwise.'
    ),
    (
        'dead_letter.enabled', 'on', 'switch', null, null, null, null,
        'Whether dispatchers read the dead letter queue of RabbitMQ. Executions expire all the same.'
    ),
    (
        'dead_letter.exchange', 'postrider.dlx', 'name', null, null, null, null,
        'The exchange of RabbitMQ to which the queues of workers send what has expired.'
    ),
    (
        'dead_letter.ttl_ms', '86400000', 'integer', 1000, 2592000000, null, 'ms',
        'How long a message stays in the dead letter queue of RabbitMQ when nobody reads it.'
    ),
    (
        'scheduled_timeout', '300', 'integer', 10, 86400, null, 's',
        'After what time an execution counts as expired that a worker was sent by RabbitMQ and has not started.'
    ),
    (
        'execution_timeout', '3600', 'integer', 1, 2592000, null, 's',
        'How long an execution may run, unless it or its action says otherwise.'
    ),
    (
        'cancel_timeout', '30', 'integer', 1, 3600, null, 's',
        'How long a worker may take to stop an execution that somebody cancels.'
    ),
    (
        'worker_heartbeat_interval', '10', 'integer', 1, 300, null, 's',
        'How often workers say that they live.'
    ),
    (
        'worker_stale_after', '30', 'integer', 2, 3600, null, 's',
        'After what time without a heartbeat a worker counts as lost.'
    ),
    (
        'cloudevents_source', '/postrider', 'uri', null, null, null, null,
        'Whose events messages are, where an endpoint gets them as CloudEvents: their attribute source, a URI reference.'
    ),
    (
        'stale_worker_policy', 'reroute', 'choice', null, null, array['reroute', 'fail'], null,
        'What becomes of an execution for a lost worker alone: it waits for its return, or fails. For others it goes to the pool.'
    ),
    (
        'execution_retention_days', '30', 'integer', 1, 3650, null, 'days',
        'How long executions that have ended, and their dead letters, are kept.'
    ),
    (
        'max_unknown_workers', '1000', 'integer', 0, 100000, null, 'workers',
        'How many names of workers that have never registered each role may make known: its executions for one more are refused.'
    )
) s (name, default_value, kind, minimum, maximum, choices, unit, description)
-- A row that stays as it is, is not locked: somebody may be setting it.
where not exists (
    select
    from postrider.setting k
    where k.name = s.name
    and (k.default_value, k.kind, k.minimum, k.maximum, k.choices, k.unit, k.description)
        is not distinct from
        (s.default_value, s.kind, s.minimum, s.maximum, s.choices, s.unit, s.description)
)
on conflict (name) do update
set value = case
        when setting.value = setting.default_value then excluded.default_value
        else setting.value
    end,
    default_value = excluded.default_value,
    kind = excluded.kind,
    minimum = excluded.minimum,
    maximum = excluded.maximum,
    choices = excluded.choices,
    unit = excluded.unit,
    description = excluded.description;
