select postrider.cancel_message($1::bigint);
