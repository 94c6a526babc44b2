-- Settings of the connections that look after executions. Who waits for a lock would keep all others
-- waiting: what is locked is tried again later.
set default_transaction_isolation = 'read committed';
-- A broker gets what is on disk, whatever the database's or the role's default is.
set synchronous_commit = on;
set lock_timeout = '500ms';
set statement_timeout = '60s';
set idle_in_transaction_session_timeout = '10s';
set timezone = 'UTC';
-- Plans that are made while a table is empty have to do when it is not.
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off;
