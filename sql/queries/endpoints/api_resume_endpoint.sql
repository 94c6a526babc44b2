select json_build_object('is_changed', postrider.resume_endpoint($1::text)) as item;
