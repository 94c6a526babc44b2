-- Disables an endpoint that says that it is gone; its trigger logs the change.
--   $1 integer: endpoint
-- Index: endpoints_pkey.
update postrider.endpoints
set enabled = false
where id = $1
and enabled;
