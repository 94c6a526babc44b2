-- What the configs of endpoints may hold, as the transports of this version say.
with offered as (
    select o.*
    from jsonb_to_recordset($transport_options${{transport_options}}$transport_options$) as o (
        protocol text, name text, kind text, required boolean, minimum bigint, maximum bigint,
        choices jsonb, "default" jsonb, secret boolean, description text)
), withdrawn as (
    delete from postrider.transport_option t
    where not exists (
        select
        from offered o
        where o.protocol = t.protocol
        and o.name = t.name
    )
)
insert into postrider.transport_option (
    protocol, name, kind, required, minimum, maximum, choices, default_value, secret, description)
select
    o.protocol, o.name, o.kind, o.required, o.minimum, o.maximum, nullif(o.choices, 'null'),
    nullif(o."default", 'null'), o.secret, o.description
from offered o
on conflict (protocol, name) do update
set kind = excluded.kind,
    required = excluded.required,
    minimum = excluded.minimum,
    maximum = excluded.maximum,
    choices = excluded.choices,
    default_value = excluded.default_value,
    secret = excluded.secret,
    description = excluded.description;
