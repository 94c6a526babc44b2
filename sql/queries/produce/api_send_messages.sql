-- $2: an array of JSON, taken apart here.
select postrider.send_batch_with_priority(
    $1::text,
    array(
        select p.payload
        from jsonb_array_elements($2::text::jsonb) with ordinality p (payload, position)
        order by p.position
    ),
    coalesce($3::integer, 0));
