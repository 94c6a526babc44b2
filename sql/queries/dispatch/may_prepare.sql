-- Whether transactions can be prepared here (PREPARE TRANSACTION). One that has rung the doorbell
-- cannot, because it has notified.
select current_setting('max_prepared_transactions')::integer > 0 as may_prepare;
