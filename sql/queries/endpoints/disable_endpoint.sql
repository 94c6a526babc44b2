select postrider.disable_endpoint($1::text);
