-- Those deliveries of these messages that were cancelled before they were read.
--   $1 bigint[]: messages
-- Index: cancellation_pkey.
select c.message_id, c.target from postrider.cancellation c where c.message_id = any ($1);
