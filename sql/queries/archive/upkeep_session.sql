-- Settings of the connection that makes and drops partitions: what takes longer than this waits for
-- something, or is too much for one call, and is tried again.
set default_transaction_isolation = 'read committed';
set statement_timeout = '10min';
set timezone = 'UTC';
