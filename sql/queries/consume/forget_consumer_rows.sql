-- See postrider.forget_consumer_rows.
select postrider.forget_consumer_rows()::integer as answer;
