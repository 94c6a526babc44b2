select postrider.resume_endpoint($1::text);
