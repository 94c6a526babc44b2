-- See postrider.metrics.
select json_build_object(
    'metric_name', m.metric_name, 'metric_value', m.metric_value, 'labels', m.labels,
    'metric_type', m.metric_type)
from postrider.metrics() m;
