-- postrider.attempts: attempts that are on record, and what was answered where that is captured
--
-- Admin, operator; monitor without bodies. Failed attempts always, successful ones as `record_attempts` and
-- `capture_response` say. One message's attempts are found by attempt_message_id. A body is what came,
-- byte for byte, up to `response_body_max_size`: it need not be text in any encoding, so nothing is
-- made of it here.
create or replace view postrider.attempts as
select
    a.message_id, e.name as endpoint_name, a.target, a.number as attempt, a.started_at, a.duration_ms,
    a.outcome, a.status, a.error, a.correlation_id,
    a.response_headers ->> 'content-type' as response_content_type,
    a.response_headers, a.response_body, a.response_truncated
from postrider.attempt a
left join postrider.endpoints e on e.id = a.endpoint_id;
