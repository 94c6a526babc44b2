select json_build_object('is_changed', postrider.reset_circuit_breaker($1::text)) as item;
