-- The endpoints of which there is something to say, at most $1 of them, those with the most first. See
-- postrider.get_endpoint_health.
select json_build_object(
    'endpoint_name', h.endpoint_name, 'protocol', h.protocol, 'enabled', h.enabled,
    'paused', h.paused, 'circuit_state', h.circuit_state,
    'circuit_failure_count', h.circuit_failure_count, 'last_success_at', h.last_success_at,
    'last_failure_at', h.last_failure_at, 'pending_messages', h.pending_messages,
    'oldest_pending_message', h.oldest_pending_message)
from postrider.get_endpoint_health() h
where h.pending_messages > 0
or not h.enabled
or h.paused
or h.paused_until is not null
or h.circuit_state <> 'closed'
order by h.pending_messages desc, h.endpoint_name
limit $1::bigint;
