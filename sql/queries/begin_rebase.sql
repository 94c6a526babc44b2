-- The log may be of any size, and nothing else can be done before: no limit of time.
begin;
set local statement_timeout = 0;
