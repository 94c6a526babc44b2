-- postrider.address_literal(host) → the address that it is by itself, without a name server; otherwise null
--
-- Internal. IPv4 or IPv6 (also in brackets), or IPv4 in one of the forms that browsers and C libraries take for it, such as
-- 0x7f000001, 2130706433, 0177.1 and 127.0.0.1. with a dot behind it: as the dispatcher judges it (networks.rs of the core).
create or replace function postrider.address_literal(host text)
returns inet
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    bare constant text := lower(regexp_replace(address_literal.host, '^\[(.*)\]$', '\1'));
    parts text[] := string_to_array(regexp_replace(bare, '\.$', ''), '.');
    most constant integer := cardinality(parts);
    part text;
    radix integer;
    value bigint;
    bits bigint := 0;
begin
    if bare ~ ':' then
        -- The server also takes masks, and fewer than four numbers with dots.
        return case
            when bare ~ '^[0-9a-f:]+(?::[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+)?$' then bare::inet
        end;
    end if;
    if address_literal.host ~ '^\[' then
        return null;
    end if;
    if most not between 1 and 4 then
        return null;
    end if;
    for i in 1 .. most loop
        part := parts[i];
        radix := case
            when part ~ '^0x[0-9a-f]*$' then 16
            when part ~ '^0[0-7]+$' then 8
            when part ~ '^(0|[1-9][0-9]*)$' then 10
        end;
        if radix is null then
            return null;
        end if;
        part := case radix when 16 then substr(part, 3) else part end;
        value := 0;
        for k in 1 .. length(part) loop
            value := value * radix + strpos('0123456789abcdef', substr(part, k, 1)) - 1;
            if value > 4294967295 then
                return null;
            end if;
        end loop;
        -- The last part fills what the others leave.
        if value >= (case when i = most then 1::bigint << (8 * (5 - most)) else 256 end) then
            return null;
        end if;
        bits := bits + (value << case when i = most then 0 else 8 * (4 - i) end);
    end loop;
    return inet '0.0.0.0' + bits;
exception
    when invalid_text_representation then
        return null;
end;
$$;
