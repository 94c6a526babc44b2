select p.paused_count as count, p.held
from postrider.pause_all() p;
