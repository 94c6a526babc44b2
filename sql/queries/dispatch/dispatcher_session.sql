-- Settings of every dispatcher connection. Recording late is a duplicate at worst, so commits do not
-- wait for the disk. Plans are made once, by index only: a plan made on an empty table would scan a
-- full one later.
-- The fence needs a new snapshot behind its lock, whatever a database or role has for a default.
set default_transaction_isolation = 'read committed';
set synchronous_commit = off;
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set max_parallel_workers_per_gather = 0;
set jit = off;
set idle_in_transaction_session_timeout = '10s';
set statement_timeout = '60s';
set timezone = 'UTC';
