select json_build_object('name', $1::text) as item
from postrider.drop_worker($1::text);
