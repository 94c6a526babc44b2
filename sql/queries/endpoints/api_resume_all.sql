select row_to_json(r) as item
from postrider.resume_all() r;
