-- Settings of a connection that follows the log. Plans are made once, by index only: one made on an empty
-- table would scan a full one later.
set default_transaction_isolation = 'read committed';
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set max_parallel_workers_per_gather = 0;
set jit = off;
