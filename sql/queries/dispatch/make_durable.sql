-- A commit that is on disk when it returns, on the standbys' as well where they are asked for, and with it
-- everything that was committed before. A message in the write-ahead log that nobody reads: it leaves no
-- row behind. Reads no table.
select pg_logical_emit_message(true, 'postrider', '');
