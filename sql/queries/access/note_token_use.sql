select postrider.note_token_use($1::integer);
