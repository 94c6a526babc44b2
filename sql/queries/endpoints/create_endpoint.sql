select postrider.create_endpoint($1::text, $2::text, $3::text::jsonb);
