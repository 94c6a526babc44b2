select postrider.keep_answer($1::integer, $2::text, $3::smallint, $4::text);
