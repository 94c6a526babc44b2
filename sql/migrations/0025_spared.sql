-- Recoveries that know which deliveries of a message were not attempted, and not only which messages. Callers of older
-- versions name fewer parameters, which would be ambiguous beside the former functions.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname in ('recover_messages', 'recover_claims')
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
