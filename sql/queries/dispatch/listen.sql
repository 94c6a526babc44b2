-- The one channel of the doorbell, of changed settings and endpoints.
listen postrider;
