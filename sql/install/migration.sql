-- One migration: applied once, and never changed after that.
do $migrate_do$
declare
    migration text := $migration_text${{text}}$migration_text$;
    checksum text := encode(sha256(convert_to(migration, 'UTF8')), 'hex');
    applied text;
begin
    select m.checksum into applied from postrider.migration m where m.version = {{version}};
    if applied is null then
        execute migration;
        insert into postrider.migration (version, name, checksum)
        values ({{version}}, '{{name}}', checksum);
    elsif applied <> checksum then
        raise exception 'migration {{name}} was changed after it was applied to database "%"',
            current_database()
            using errcode = '55000',
                detail = format('Applied with checksum %s, it now has %s.', applied, checksum);
    end if;
end;
$migrate_do$;
