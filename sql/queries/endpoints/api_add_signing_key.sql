-- $1: endpoint, $2: a key, or null to have one made.
select json_build_object('id', postrider.add_signing_key($1::text, $2::text)) as item;
