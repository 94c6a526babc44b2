-- postrider.check_egress(config) → nothing
--
-- Internal. Raises 22023 if `tls`, `proxy` or `source_address` cannot be as they are. The options are good, each for itself.
-- The dispatcher asks the same, and besides whether certificates and keys are what they seem.
create or replace function postrider.check_egress(p_config jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    tls constant jsonb := p_config -> 'tls';
    proxy constant jsonb := p_config -> 'proxy';
    server_name constant text := tls ->> 'server_name';
    -- With an address of a proxy as with one of the web.
    proxy_url constant text := regexp_replace(proxy ->> 'url', '^socks5:', 'http:', 'i');
    problem text;
    address text;
begin
    problem := case
        when tls is not null and p_config ->> 'url' !~* '^https:' then
            'tls is for https addresses only'
        when (tls ? 'certificate') <> (tls ? 'key') then
            'tls must have both certificate and key, or neither'
        when exists (
            select
            from jsonb_array_elements_text(coalesce(tls -> 'pins', '[]')) p (pin)
            where p.pin !~ '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'
        ) then
            'tls.pins must be SHA-256 digests in base64, 44 characters each'
        when server_name ~ '\.$' or not (
            server_name ~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.|$)){4}$'
            or length(server_name) <= 253
            and server_name ~ '^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.|$))+$'
            and server_name !~ '(^|\.)[0-9]+$'
        ) then
            'tls.server_name must be a host name or an IPv4 address'
        when proxy is not null
        and not (postrider.is_http_url(proxy_url, 2048) and proxy_url ~ '^[^/]+//[^/?]+/?$') then
            'proxy.url must be an http://, https:// or socks5:// address with a host, with or without a port, and '
            'nothing else'
        when position(':' in proxy ->> 'username') > 0 then
            'proxy.username must not contain a colon'
        when (proxy ? 'username') <> (proxy ? 'password') then
            'proxy must have both username and password, or neither'
        when greatest(octet_length(proxy ->> 'username'), octet_length(proxy ->> 'password')) > 255 then
            'proxy.username and proxy.password must be at most 255 bytes each'
    end;

    for address in
        select a.address
        from jsonb_array_elements_text(coalesce(p_config -> 'source_address', '[]')) a (address)
        where problem is null
    loop
        begin
            if address !~ '^[0-9A-Fa-f:.]+$' or host(address::inet) is null
                or address !~ ':' and address !~ '^((0|[1-9][0-9]{0,2})(\.|$)){4}$'
                or address ~ ':.*\.' and address !~ ':((0|[1-9][0-9]{0,2})(\.|$)){4}$'
            then
                problem := 'source_address must be IP addresses';
            end if;
        exception
            when invalid_text_representation then
                problem := 'source_address must be IP addresses';
        end;
    end loop;
    if problem is not null then
        raise exception 'config.%', problem
            using errcode = '22023';
    end if;
end;
$$;
