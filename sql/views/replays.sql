-- postrider.replays: the jobs of create_replay
--
-- Admin, operator, monitor. `progress` is the share of the time range that is behind the job's position. Uses
-- replay_pkey.
create or replace view postrider.replays as
select
    r.id, r.endpoint_name, r.state, r.from_ts, r.to_ts, r.status, r.event_type, r.filter, r.rate,
    r.replayed_count,
    case
        when r.state = 'completed' then 1
        else greatest(0, least(1, round(
            (extract(epoch from r.position_at - r.from_ts) / extract(epoch from r.to_ts - r.from_ts))::numeric,
            4)))
    end as progress,
    r.created_by, r.created_at, r.finished_at, r.last_error
from postrider.replay r;
