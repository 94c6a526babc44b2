-- Keys of schemes that are no standard, a setting that is a URI, and a helper with one more parameter.
alter table postrider.signing_key drop constraint signing_key_kind_check;
alter table postrider.signing_key
    add constraint signing_key_kind_check check (kind in ('v1', 'v1a', 'raw'));
alter table postrider.setting drop constraint setting_kind_check;
alter table postrider.setting
    add constraint setting_kind_check
    check (kind in ('integer', 'switch', 'choice', 'networks', 'name', 'uri'));
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'check_config_headers'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
