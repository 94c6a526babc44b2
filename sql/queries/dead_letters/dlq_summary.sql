select json_build_object(
    'endpoint_name', s.endpoint_name, 'failed_count', s.failed_count,
    'redriven_count', s.redriven_count, 'oldest_failed_at', s.oldest_failed_at,
    'newest_failed_at', s.newest_failed_at)
from postrider.dlq_summary() s;
