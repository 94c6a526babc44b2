-- See postrider.forget_keys_to_nobody.
select postrider.forget_keys_to_nobody(10000) as answer;
