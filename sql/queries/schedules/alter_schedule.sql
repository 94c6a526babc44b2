select postrider.alter_schedule($1::text, $2::text::jsonb);
