select json_build_object('id', postrider.replay_message($1::bigint)) as item;
