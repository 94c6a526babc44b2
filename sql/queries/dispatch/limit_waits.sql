-- How long a statement of this session may wait for a lock from now on.
--   $1 text: milliseconds
select set_config('lock_timeout', $1, false);
