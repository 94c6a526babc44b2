select json_build_object('id', postrider.create_event_type($1::text, $2::text, $3::text::jsonb, $4::text::jsonb)) as item;
