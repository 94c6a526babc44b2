-- Who holds what a session waits for, for people.
--   $1 integer: the session's process id
-- Index: none, a look at the lock table.
select
    format(
        '%s holds %s',
        case
            when b.pid = 0 then 'a prepared transaction'
            else format(
                'session %s of role %s (%s, %s for %s s)', b.pid, coalesce(a.usename, '?'),
                coalesce(nullif(a.application_name, ''), 'no application_name'),
                coalesce(a.state, 'state unknown'),
                coalesce(extract(epoch from clock_timestamp() - a.xact_start)::bigint, 0))
        end,
        coalesce(
            (
                select string_agg(
                    distinct coalesce(l.relation::regclass::text, l.locktype),
                    ', ')
                from pg_locks l
                where l.pid = $1
                -- A row that is waited for shows as a lock on its tuple, which we hold meanwhile.
                and (not l.granted and l.locktype <> 'transactionid' or l.locktype = 'tuple')
            ),
            'a row')) as blocker
from (select distinct u.pid from unnest(pg_blocking_pids($1)) u (pid)) b
left join pg_stat_activity a on a.pid = b.pid;
