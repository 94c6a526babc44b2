-- The session as it was.
reset statement_timeout;
reset lock_timeout;
