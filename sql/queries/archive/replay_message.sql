select postrider.replay_message($1::bigint);
