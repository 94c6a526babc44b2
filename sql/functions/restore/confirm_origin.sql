-- postrider.confirm_origin() → what shows that this log was written by another database (foreign_sign); null when
-- this one may be delivered from
--
-- Internal, by each tenure of a dispatcher before anything else. After pg_upgrade everything is where it was but the
-- cluster's own number, which is remembered from then on, with an event.
create or replace function postrider.confirm_origin()
returns text
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_sign constant text := postrider.foreign_sign();
    present constant bigint := postrider.system_identifier();
    former bigint;
begin
    if found_sign is not null or present is null then
        return found_sign;
    end if;
    select i.system_identifier into former from postrider.identity i;
    if former = present then
        return null;
    end if;
    -- One of those who start at the same time.
    update postrider.identity i
    set system_identifier = present
    where i.system_identifier is distinct from present;
    if found then
        update postrider.identity i set mark = i.xmin;
        insert into postrider.event_log (event, details)
        select
            'cluster.upgraded',
            jsonb_build_object('former_system_identifier', former, 'system_identifier', present)
        where former is not null;
    end if;
    return null;
end;
$$;
