select row_to_json(r) as item
from postrider.pause_all() r;
