select postrider.alter_endpoint($1::text, $2::text::jsonb);
