-- postrider.retry_policy_keys() → the keys of all forms of retry policies
--
-- Internal. What validate_retry_policy checks, and the dispatcher as well (core/policy/parse.rs).
-- `ignore_subscription_override` is known in every form.
create or replace function postrider.retry_policy_keys()
returns table (
    form text, name text, kind text, minimum integer, maximum integer, choices text[])
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select k.form, k.name, k.kind, k.minimum, k.maximum, k.choices
    from (
        values
        ('nested', 'healthyRetryPolicy', 'object', null, null, null::text[]),
        ('healthy', 'minDelayTarget', 'integer', 0, 3600, null),
        ('healthy', 'maxDelayTarget', 'integer', 0, 86400, null),
        ('healthy', 'numRetries', 'integer', 0, 1000, null),
        ('healthy', 'numNoDelayRetries', 'integer', 0, 1000, null),
        ('healthy', 'numMinDelayRetries', 'integer', 0, 1000, null),
        ('healthy', 'numMaxDelayRetries', 'integer', 0, 1000, null),
        (
            'healthy', 'backoffFunction', 'word', null, null,
            array['linear', 'arithmetic', 'geometric', 'exponential']
        ),
        ('schedule', 'schedule_seconds', 'schedule', 0, 86400, null),
        ('schedule', 'jitter', 'fraction', 0, 1, null),
        (
            'preset', 'preset', 'word', null, null,
            array['standard-webhooks', 'sns', 'sns-managed', 'sns-customer']
        ),
        ('preset', 'max_retries', 'integer', 0, 1000, null),
        ('preset', 'jitter', 'fraction', 0, 1, null),
        ('phased', 'retries_with_no_delay', 'integer', 0, 1000, null),
        ('phased', 'minimum_delay_retries', 'integer', 0, 1000, null),
        ('phased', 'minimum_delay', 'integer', 0, 3600, null),
        ('phased', 'maximum_delay', 'integer', 0, 86400, null),
        ('phased', 'maximum_delay_retries', 'integer', 0, 1000, null),
        (
            'phased', 'retry_backoff_function', 'word', null, null,
            array['linear', 'arithmetic', 'geometric', 'exponential']
        ),
        ('phased', 'backoff_retries', 'integer', 0, 1000, null),
        ('simple', 'max_retries', 'integer', 0, 1000, null),
        ('simple', 'backoff', 'word', null, null, array['exponential', 'linear', 'fixed']),
        ('simple', 'base_delay_seconds', 'integer', 1, 3600, null),
        ('simple', 'max_delay_seconds', 'integer', 1, 86400, null),
        ('simple', 'increment_seconds', 'integer', 1, 3600, null),
        ('simple', 'jitter', 'fraction', 0, 1, null)
    ) k (form, name, kind, minimum, maximum, choices);
$$;
