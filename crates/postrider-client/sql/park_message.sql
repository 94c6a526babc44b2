-- Sets the first fetched message aside, and passes it. $1 consumer, $2 position, $3 how often it was
-- attempted, $4 the last error.
select postrider.park_message(
    p_consumer => $1, p_position => $2, p_attempt_count => $3, p_error => $4);
