-- Which 64 sequence numbers of its bucket a row of postrider.done is about; null: of all of them. Where each
-- message is recorded by itself, a bucket has thousands of rows, and a look-up went through all of them.
alter table postrider.done add column run smallint;
create index done_run on postrider.done (bucket, run);
drop index postrider.done_bucket;

-- It has another parameter.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'flush'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
