select row_to_json(r) as item
from postrider.get_endpoint_health($1::text) r;
