-- Which roles of the cluster belong to this database: several databases of one cluster may have roles
-- of their own.

alter table postrider.installation
    add column role_prefix text not null default 'postrider'
        check (role_prefix ~ '^[a-z][a-z0-9_]{0,47}$' and role_prefix !~ '^pg_');
