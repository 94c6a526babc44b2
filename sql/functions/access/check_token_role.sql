-- postrider.check_token_role(role)
--
-- Internal: create_token. Whether the schema's owner, who answers requests, can act as the database role that belongs to
-- a token's role. Raises 55000 (there is no such role, or the owner is no member of it).
create or replace function postrider.check_token_role(p_role text)
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    wanted text;
    owner name;
    kind constant text := case
        when current_setting('server_version_num')::integer >= 160000 then 'set'
        else 'member'
    end;
begin
    select
        i.role_prefix || '_' || case p_role when 'viewer' then 'monitor' else p_role end,
        r.rolname
    into wanted, owner
    from postrider.installation i
    join pg_namespace n on n.nspname = 'postrider'
    join pg_roles r on r.oid = n.nspowner;
    if not exists (select from pg_roles r where r.rolname = wanted) then
        raise exception 'Role "%" does not exist, as which tokens with the role % act', wanted, p_role
            using
                errcode = '55000',
                hint = format(
                    'Run as a superuser or a role with CREATEROLE: create role %I nologin; grant %I to %I; then migrate again.',
                    wanted, wanted, owner);
    end if;
    if not pg_has_role(owner, wanted, kind) then
        raise exception 'Role "%" may not act as role "%", as which tokens with the role % act',
            owner, wanted, p_role
            using
                errcode = '55000',
                hint = format('Run as a superuser, or whoever made the role: grant %I to %I;', wanted, owner);
    end if;
end;
$$;
