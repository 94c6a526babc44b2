select postrider.resolve_parked_message($1::bigint);
