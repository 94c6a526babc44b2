-- $1 jsonb: payload
select postrider.send_batch('bench1', array_fill($1::jsonb, array[100]));
