-- Gives all doorbells back.
select pg_advisory_unlock_all();
