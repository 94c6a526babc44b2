-- See postrider.recheck_idempotency_keys.
--   $1 bigint: after the key of this message
select postrider.recheck_idempotency_keys($1, 2000) as answer;
