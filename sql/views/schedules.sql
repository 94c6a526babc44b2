-- postrider.schedules: what is sent again and again, when it was sent last, and when it is next
--
-- Admin, operator; monitor without what an application wrote.
create or replace view postrider.schedules as
select
    s.id, s.name, s.timing, s.time_zone, m.endpoint_name, m.event_type, s.missed,
    case
        when s.paused_at is not null then 'paused'
        when s.failed_since is not null then 'failing'
        else 'active'
    end as status,
    s.next_at, s.last_at, s.last_message_id, s.fired_count, s.paused_at, s.failed_since,
    s.failure_count, s.last_error_code, s.last_error, s.created_at, s.created_by, m.payload,
    m.priority, m.ordering_key, m.headers, m.metadata, m.expires_in
from postrider.schedule s
join postrider.schedule_message m on m.schedule_id = s.id;
