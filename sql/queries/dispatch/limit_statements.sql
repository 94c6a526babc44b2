-- How long a statement of this session may take from now on.
--   $1 text: milliseconds
select set_config('statement_timeout', $1, false);
