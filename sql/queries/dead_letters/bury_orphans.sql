-- Gives up what waits for endpoints that are gone, of each so many at a time.
--   $1 bigint: at most so many
select postrider.bury_orphans() as answer;
