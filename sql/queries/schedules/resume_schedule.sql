select postrider.resume_schedule($1::text);
