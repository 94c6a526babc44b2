select postrider.redrive_endpoint($1::text);
