-- Deliveries that were cancelled before they were read.
--   $1 bigint: how many at most
-- Index: none, all rows are wanted; each goes when its message is read.
select c.message_id, c.target from postrider.cancellation c limit $1;
