-- postrider.check_reason(reason)
--
-- Internal: what an operator says for ending deliveries. Raises 22004 and 22023.
create or replace function postrider.check_reason(p_reason text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_reason is null then
        raise exception 'Reason must not be null' using errcode = '22004';
    end if;
    if btrim(p_reason) = '' or length(p_reason) > 1000 then
        raise exception 'p_reason must have 1 to 1000 characters and not only spaces, got %',
            length(p_reason) using errcode = '22023';
    end if;
end;
$$;
