-- $1: name, $2: protocol, $3: config.
select json_build_object('id', postrider.create_endpoint($1::text, $2::text, $3::text::jsonb)) as item;
