-- Shards are taken by take_shards, which brings no checkpoints with them. A dispatcher of the version before takes none
-- any more: whoever stood still while it read them kept all others from writing.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'acquire_shards'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
