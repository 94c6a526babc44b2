select postrider.redrive_message($1::bigint);
