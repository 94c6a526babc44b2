-- See postrider.get_worker_status.
select json_build_object(
    'id', w.id, 'host', w.host, 'pid', w.pid, 'version', w.version, 'shards', w.shards,
    'started_at', w.started_at, 'heartbeat_at', w.heartbeat_at,
    'messages_processed', w.messages_processed, 'in_flight', w.in_flight,
    'error_count', w.error_count, 'last_error', w.last_error,
    'clock_offset_seconds', extract(epoch from w.clock_offset))
from postrider.get_worker_status() w;
