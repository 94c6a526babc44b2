select r.resumed_count as count, r.held
from postrider.resume_all() r;
