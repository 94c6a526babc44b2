-- $1: the protocol.
-- Index: transport_option_pkey.
select o.name, o.kind, o.secret
from postrider.transport_option o
where o.protocol = $1::text;
