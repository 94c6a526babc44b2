select postrider.cancel_execution($1::bigint);
