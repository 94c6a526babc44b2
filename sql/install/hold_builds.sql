-- One migration at a time builds indexes, by a session of its own. It waits in short tries: who waits has a snapshot, for
-- which the one that builds would wait.
begin;
set local lock_timeout = '200ms';
set local idle_in_transaction_session_timeout = 0;
lock table postrider.migration in share row exclusive mode;
