-- postrider.notification_queue_usage() → how full the cluster's queue of notifications is, from 0 to 1
--
-- Internal. Where it is full, whoever has notified cannot commit. It fills up when a session listens and does
-- not read, in whichever database.
create or replace function postrider.notification_queue_usage()
returns double precision
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select pg_notification_queue_usage();
$$;
