select postrider.retry_execution($1::bigint);
