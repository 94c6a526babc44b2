select postrider.publish_batch($1::text::jsonb);
