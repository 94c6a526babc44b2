-- postrider.check_setting(setting, value) → the value as it is to be stored
--
-- Internal. Raises 22023 with the rule and the range when the setting cannot have the value: of the times
-- of workers, one is checked against the other.
create or replace function postrider.check_setting(p_setting postrider.setting, p_value text)
returns text
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    trimmed text := btrim(p_value);
    expected text;
    networks text;
    -- Heartbeats that come late, or get lost, do not make a worker count as lost.
    beats constant integer := 3;
    other bigint;
begin
    case p_setting.kind
    when 'integer' then
        if trimmed ~ '^[+-]?[0-9]{1,18}$'
            and trimmed::bigint between p_setting.minimum and p_setting.maximum
        then
            select s.value::bigint
            into other
            from postrider.setting s
            where (p_setting.name, s.name) in (
                ('worker_heartbeat_interval', 'worker_stale_after'),
                ('worker_stale_after', 'worker_heartbeat_interval'));
            case
                when p_setting.name = 'worker_stale_after' and trimmed::bigint < beats * other then
                    expected := format(
                        'at least %s times worker_heartbeat_interval, which is %s %s', beats,
                        beats * other, p_setting.unit);
                when p_setting.name = 'worker_heartbeat_interval' and beats * trimmed::bigint > other then
                    expected := format(
                        'at most worker_stale_after divided by %s, which is %s %s', beats,
                        other / beats, p_setting.unit);
                else
                    return trimmed::bigint::text;
            end case;
        else
            expected :=
                concat_ws(' ', 'between', p_setting.minimum, 'and', p_setting.maximum, p_setting.unit);
        end if;
    when 'switch' then
        if trimmed in ('on', 'off') then
            return trimmed;
        end if;
        expected := 'on or off';
    when 'choice' then
        if trimmed = any (p_setting.choices) then
            return trimmed;
        end if;
        expected := 'one of ' || array_to_string(p_setting.choices, ', ');
    when 'name' then
        if trimmed ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$' then
            return trimmed;
        end if;
        expected := '1 to 200 letters, digits, _ . : or -, the first a letter or digit';
    when 'uri' then
        -- RFC 3986: a URI or what is relative to one.
        if length(trimmed) between 1 and 255
            and trimmed ~ ('^([A-Za-z][A-Za-z0-9+.-]*:|[^:/?#]*([/?#]|$))'
                '([A-Za-z0-9._~:/?#@!$&''()*+,;=-]|%[0-9A-Fa-f]{2})*$')
            and trimmed ~ '^([A-Za-z0-9._~:/?#@!$&''()*+,;=-]|%[0-9A-Fa-f]{2})+$'
            and trimmed !~ '#.*#'
        then
            return trimmed;
        end if;
        expected := 'a URI reference of 1 to 255 characters, such as /shop or https://shop.example.com/';
    when 'networks' then
        if trimmed in ('on', 'off') then
            return trimmed;
        end if;
        expected := 'off, on, or up to 1000 networks such as 10.0.0.0/8, fd00::/8';
        begin
            select string_agg(network(btrim(n.network)::inet)::text, ', ' order by n.position)
            into networks
            from unnest(string_to_array(trimmed, ',')) with ordinality n (network, position)
            having count(*) <= 1000;
        exception
            when invalid_text_representation then null;
        end;
        if networks is not null then
            return networks;
        end if;
    end case;
    raise exception 'Setting ''%'' must be %, got ''%''', p_setting.name, expected, left(p_value, 200)
        using errcode = '22023';
end;
$$;
