select postrider.cancel_replay($1::bigint);
