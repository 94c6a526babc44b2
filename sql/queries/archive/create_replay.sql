select postrider.create_replay(
    $1::text, $2::text::timestamptz, $3::text::timestamptz, $4::text, $5::text, $6::text::jsonb,
    $7::integer);
