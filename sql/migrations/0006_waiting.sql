-- What waits is found by one index and no other: between two that would do, a plan that was made while the
-- table was empty has chosen by chance. `message_id + 0`, so that who looks for a message cannot walk over
-- all of deferred_due.
drop index postrider.deferred_due;
create index deferred_due on postrider.deferred (endpoint_id, shard, run_at, (message_id + 0));

-- Functions whose parameters or results are others from now on.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = any (array['flush', 'bury_deferred', 'bury_orphans', 'recover_claims'])
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
