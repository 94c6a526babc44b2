-- postrider.is_header_template(text) → whether it is the value of a header with fields of a message in it
--
-- Internal: what validate_endpoint_config asks. Braces that are no field are doubled. The dispatcher refuses the same
-- texts.
create or replace function postrider.is_header_template(p_text text)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select p_text ~ ('^([^{}]|\{\{|\}\}'
        '|\{(message_id|event_type|ordering_key|correlation_id|header:[!#$%&''*+.^_`|~0-9A-Za-z-]+'
        '|metadata:[^{}\u0001-\u001f\u007f]+|payload:(/([^{}/~\u0001-\u001f\u007f]|~[01])*)+)\})*$');
$$;
