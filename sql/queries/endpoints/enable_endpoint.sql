select postrider.enable_endpoint($1::text);
