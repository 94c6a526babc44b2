select postrider.cancel_job($1::bigint);
