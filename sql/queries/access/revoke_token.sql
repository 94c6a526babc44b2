select postrider.revoke_token($1::text);
