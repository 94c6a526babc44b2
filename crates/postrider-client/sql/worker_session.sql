-- How long a statement of this session waits for a lock, on what snapshot it looks, and what its commits wait for, whatever
-- the database's or the role's default is. $1 a time with its unit, $2 whether what it commits waits for standbys as well.
--
-- Everything waits for the disk: a crash that forgot a sign of life would make its worker count as lost while it runs. A
-- commit takes everything to the disk that was written before: what is handed out is there as well, whatever its own
-- sender has waited for.
select
    set_config('lock_timeout', $1, false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config(
        'synchronous_commit',
        case when not $2 then 'local' when c.mode = 'remote_apply' then c.mode else 'on' end,
        false)
from current_setting('synchronous_commit') c (mode);
