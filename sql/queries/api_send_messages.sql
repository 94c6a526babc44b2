select postrider.send_batch_with_priority(
    $1::text, $2::text[]::jsonb[], coalesce($3::integer, 0));
