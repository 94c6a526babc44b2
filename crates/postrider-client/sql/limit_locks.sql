-- How long a statement of this session waits for a lock. $1 a time with its unit.
select set_config('lock_timeout', $1, false);
