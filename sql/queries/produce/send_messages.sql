select postrider.send_batch_with_priority($1::text, $2::text[]::jsonb[], $3::smallint);
