select json_build_object('is_revoked', postrider.revoke_token($1::text)) as item;
