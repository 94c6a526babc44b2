-- How long a statement of this session waits for a lock, and on what snapshot it looks, whatever the database's or the
-- role's default is. $1 a time with its unit.
select
    set_config('lock_timeout', $1, false),
    set_config('default_transaction_isolation', 'read committed', false);
