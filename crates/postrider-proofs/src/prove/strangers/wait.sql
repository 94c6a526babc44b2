-- Run when `held` has rejected 20 messages: what waits for it, what a consumer has parked, executions in every state.
select postrider.pause_endpoint('held');
select postrider.send_with_options(
    'held', to_jsonb(n),
    p_scheduled_at => case when n % 3 = 0 then now() + interval '1 day' end,
    p_expires_at => case when n % 5 = 0 then now() + interval '2 days' end,
    -- One is the first of its key and waits in any case, however soon dispatchers hear of the pause.
    p_ordering_key => case when n = 60 then 'scheduled' when n % 4 = 0 and n % 3 <> 0 then 'key' end,
    p_idempotency_key => 'once ' || n)
from generate_series(1, 60) n;
select postrider.publish('held', '{"n": 1}') from generate_series(1, 10);
select postrider.submit_execution('held', p_pool => 'held') from generate_series(1, 12);
select postrider.submit_execution('good', p_pool => 'held') from generate_series(1, 2);
select postrider.redrive_matching('held', p_error_pattern => 'no letter says this');
