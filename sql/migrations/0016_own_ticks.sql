-- It has another parameter.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'next_ticks'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
