-- See postrider.use_up_numbers.
--   $1 bigint: the highest message number that was delivered
select postrider.use_up_numbers($1) as missing;
