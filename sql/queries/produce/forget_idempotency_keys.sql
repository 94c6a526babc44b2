-- See postrider.forget_idempotency_keys.
select postrider.forget_idempotency_keys() as answer;
