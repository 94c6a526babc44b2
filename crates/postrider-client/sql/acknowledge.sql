-- Everything up to and with this position is processed. $1 consumer, $2 position.
select postrider.acknowledge(p_consumer => $1, p_position => $2);
