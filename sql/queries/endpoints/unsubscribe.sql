select postrider.unsubscribe($1::bigint);
