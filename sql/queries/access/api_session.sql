-- The sessions of the listener. What waits for a lock, or takes long, is given up: its client may ask again.
set statement_timeout = '10s';
set lock_timeout = '1s';
set idle_in_transaction_session_timeout = '30s';
set jit = off;
-- A page walks along an index, whatever was counted when: all of a table, put in order for a page, is never better.
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_incremental_sort = off;
-- Answers have times and intervals as RFC 3339 and ISO 8601 write them, whatever the database is set to.
set datestyle = 'ISO, YMD';
set timezone = 'UTC';
set intervalstyle = 'iso_8601';
