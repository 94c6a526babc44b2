-- postrider.is_url_template(text) → whether it is a path, with or without a query, with fields of a message in it
--
-- Internal: what validate_endpoint_config asks. It begins with one /, has no segment of dots, and holds what may stand in
-- a URL. The dispatcher refuses the same texts.
create or replace function postrider.is_url_template(p_text text)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select p_text ~ '^/(?!/)'
    and p_text !~* '/(\.|%2e){1,2}(/|\?|$)'
    and p_text ~ ('^([A-Za-z0-9._~!$&''()*+,;=:@/?-]|%[0-9A-Fa-f]{2}'
        '|\{(message_id|event_type|ordering_key|correlation_id|header:[!#$%&''*+.^_`|~0-9A-Za-z-]+'
        '|metadata:[^{}\u0001-\u001f\u007f]+|payload:(/([^{}/~\u0001-\u001f\u007f]|~[01])*)+)\})*$');
$$;
