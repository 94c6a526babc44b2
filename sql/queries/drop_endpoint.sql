select postrider.drop_endpoint($1::text, $2::boolean);
