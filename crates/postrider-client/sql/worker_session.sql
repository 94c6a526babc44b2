-- How long a statement of this session waits for a lock, on what snapshot it looks, and what its commits wait for, whatever
-- the database's or the role's default is. $1 a time with its unit, $2 whether what it commits has to be durable.
--
-- What need not be durable waits for nobody, neither the disk nor a standby that does not answer. A durable commit takes
-- everything to the disk that was written before: what is handed out is there as well, whatever its own sender has
-- waited for.
select
    set_config('lock_timeout', $1, false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config(
        'synchronous_commit',
        case when not $2 then 'off' when c.mode = 'remote_apply' then c.mode else 'on' end,
        false)
from current_setting('synchronous_commit') c (mode);
