-- What strangers hold is called `held`; what goes on meanwhile is called `good`. {good}, {held}, {burst} and
-- {failing} are receivers.
select postrider.set_setting('allow_internal_destinations', 'on');
select postrider.set_setting('stale_recovery_timeout', '{lease}');
select postrider.set_setting('tick_interval_ms', '0');
select postrider.set_setting('worker_stale_after', '3600');
-- A machine that stands still for seconds loses no answer: what comes twice would have a cause.
select postrider.set_setting('http_timeout', '60');
select postrider.create_endpoint(e.name, 'http', jsonb_build_object('url', e.url))
from (values ('good', '{good}'), ('held', '{held}')) e (name, url);
-- Its messages come in bursts, for which dispatchers lend each other places (the table `loan`).
select postrider.create_endpoint(
    'burst', 'http', jsonb_build_object('url', '{burst}', 'concurrency', 16));
-- `failing` refuses what it gets, again and again: its rows are claimed, attempted and flushed all the time.
select postrider.set_setting('circuit_breaker_threshold', '1000');
select postrider.create_endpoint(
    'failing', 'http', jsonb_build_object('url', '{failing}', 'concurrency', 256));
update postrider.endpoints
set retry_policy = '{"base_delay_seconds": 1, "backoff": "fixed", "jitter": 0, "max_retries": 1000}'
where name = 'failing';
select postrider.create_event_type(n.name), postrider.subscribe(n.name, n.name)
from unnest(array['good', 'held']) n (name);
select postrider.create_consumer(n.name, array[n.name])
from unnest(array['good', 'held']) n (name);
-- What is held is there to the end, however long that takes.
select
    postrider.set_action(n.name, p_ttl => '2 days', p_timeout => '2 days', p_concurrency => 3),
    postrider.register_worker(n.name, n.name, 10)
from unnest(array['good', 'held']) n (name);
-- As workers of a former version: strangers act for them, too.
update postrider.worker set registered_by = null;
-- A key that can be ended, beside the one that was made with it.
select postrider.add_signing_key('held');
select postrider.create_endpoint('reborn', 'discard', '{}');
select postrider.create_endpoint('disabled', 'discard', '{}');
select postrider.disable_endpoint('disabled');
select postrider.create_event_type('spare');
select postrider.deregister_worker(w.worker_id) from postrider.register_worker('spare') w;
select postrider.create_token('held', 'viewer', sha256('held'));
select postrider.create_schedule('held', '@yearly', p_endpoint_name => 'held');
select postrider.create_schedule('spare', '@yearly', p_endpoint_name => 'held');
