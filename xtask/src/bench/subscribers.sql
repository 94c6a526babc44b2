-- A hundred endpoints that subscribe to one event type, and no limit that this could reach.
select postrider.set_setting('max_queue_size', '2147483647');
select postrider.create_event_type('bench');
select postrider.create_endpoint('bench' || n, 'discard', '{}')
from generate_series(1, 100) s (n);
select postrider.subscribe('bench', 'bench' || n)
from generate_series(1, 100) s (n);
