select postrider.pause_endpoint($1::text);
