select row_to_json(r) as item
from postrider.cancel_endpoint_messages($1::text) r;
