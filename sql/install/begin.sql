-- The first step of `postrider migrate`: refuse where it cannot work, then make sure that nobody else
-- migrates this database at the same time, and that there is a schema.
--
-- ASCII only up to the check of the encoding, so that every database can read it.

set transaction isolation level read committed;
set local postrider.is_migrating = 'yes';
do $do$
begin
    if current_setting('postrider.is_migrating', true) is distinct from 'yes' then
        raise exception 'this script has to run in one transaction: psql -1 -f'
            using errcode = '25P01';
    end if;
end;
$do$;

set local postrider.shard_count = '{{shard_count}}';
set local postrider.role_prefix = '{{role_prefix}}';
set local search_path = pg_catalog, pg_temp;
set local client_encoding = 'UTF8';
set local standard_conforming_strings = on;
set local client_min_messages = notice;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local lock_timeout = '10min';
-- Functions are installed in any order, also before those that they call.
set local check_function_bodies = off;

do $do$
begin
    if current_setting('server_version_num')::integer < 140000 then
        raise exception 'Postrider needs PostgreSQL 14 or newer, this is %',
            current_setting('server_version') using errcode = '0A000';
    end if;
    if pg_is_in_recovery() then
        raise exception 'database "%" is a standby; run this on the primary', current_database()
            using errcode = '25006';
    end if;
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception 'database "%" has the encoding %; Postrider needs UTF8',
            current_database(), current_setting('server_encoding') using errcode = '0A000';
    end if;
end;
$do$;

-- Who owns the schema is who its security definer functions run as, so everything in it gets one
-- owner, also when a superuser migrates.
do $do$
declare
    schema_owner text;
begin
    perform set_config('postrider.installer', current_user, true);
    loop
        select pg_get_userbyid(n.nspowner)
        into schema_owner
        from pg_namespace n
        where n.nspname = 'postrider';
        exit when schema_owner is not null;

        if not has_database_privilege(current_database(), 'create') then
            raise exception 'role "%" may not create a schema in database "%"',
                current_user, current_database()
                using errcode = '42501',
                    hint = format(
                        'Run as its owner or a superuser: grant create on database %I to %I;',
                        current_database(), current_user);
        end if;
        begin
            create schema postrider;
        exception
            -- Somebody else has, and we have waited for the end of that.
            when duplicate_schema or unique_violation then null;
        end;
    end loop;
    if schema_owner <> current_user then
        if not pg_has_role(schema_owner, 'member') then
            raise exception 'the schema "postrider" in database "%" belongs to role "%", not to "%"',
                current_database(), schema_owner, current_user
                using errcode = '42501', hint = 'Migrate as that role.';
        end if;
        perform set_config('role', schema_owner, true);
    end if;

    if to_regclass('postrider.migration') is null then
        begin
            create table postrider.migration (
                version integer primary key,
                name text not null,
                checksum text not null,
                applied_at timestamptz not null default now()
            );
        exception
            when duplicate_table or duplicate_object or unique_violation then null;
        end;
    end if;
    -- Against other migrations only: readers go on, and nobody else has a right to write here.
    lock table postrider.migration in share row exclusive mode;
end;
$do$;

-- From here on we hold what other migrations wait for. Whoever comes for the same lock as we queues behind
-- us: give up soon and leave everything as it was. The program tries again.
set local lock_timeout = '{{lock_timeout}}';

set local postrider.is_same = 'no';
do $do$
declare
    installed record;
begin
    select m.version, m.name
    into installed
    from postrider.migration m
    order by m.version desc
    limit 1;
    if installed.version > {{latest_migration}} then
        raise exception
            'database "%" has the migration %, which Postrider {{product_version}} does not know; upgrade the program that migrates',
            current_database(), installed.name using errcode = '55000';
    end if;

    if to_regclass('postrider.installation') is not null then
        select i.product_version, i.fingerprint into installed from postrider.installation i;
        if installed.fingerprint = '{{fingerprint}}' then
            perform set_config('postrider.is_same', 'yes', true);
        end if;
        if string_to_array(split_part(installed.product_version, '-', 1), '.')::integer[]
            > string_to_array(split_part('{{product_version}}', '-', 1), '.')::integer[]
        then
            raise exception
                'database "%" was migrated by Postrider %, this is {{product_version}}; upgrade the program that migrates',
                current_database(), installed.product_version using errcode = '55000';
        end if;
    end if;
end;
$do$;
