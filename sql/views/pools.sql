-- postrider.pools: every pool of workers, whether it keeps up, and how many workers it wants
--
-- Admin, operator, application, monitor. Costs the same at any backlog: see pool_figures.
create or replace view postrider.pools as
select
    f.pool, f.active_count, f.busy_count, f.inactive_count, f.cordoned_count, f.error_count,
    f.capacity, f.free_capacity, f.waiting_count, f.scheduled_count, f.running_count,
    f.oldest_waiting_at, f.oldest_scheduled_at, f.overdue_count,
    make_interval(secs => f.mean_duration) as mean_duration, f.scaling_signal
from postrider.pool_figures() f;
