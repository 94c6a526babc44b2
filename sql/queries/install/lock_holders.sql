-- Who keeps a session from the lock that it waits for, and on what.
--   $1 integer: the session that waits
select
    b.pid, a.usename::text as role, a.application_name, a.xact_start::text as since,
    case
        when w.locktype = 'advisory' then 'the fence of an older dispatcher'
        else w.relation::regclass::text
    end as relation
from unnest(pg_blocking_pids($1)) b (pid)
left join pg_stat_activity a on a.pid = b.pid
left join pg_locks w on w.pid = $1 and not w.granted
order by a.xact_start
limit 1;
