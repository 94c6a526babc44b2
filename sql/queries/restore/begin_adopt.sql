-- The log may be of any size, and nothing is delivered before: no limit of time.
set statement_timeout = 0;
