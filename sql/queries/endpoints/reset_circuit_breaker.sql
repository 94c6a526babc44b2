select postrider.reset_circuit_breaker($1::text);
