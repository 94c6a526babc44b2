select json_build_object('items', array(
    select json_build_object(
        'name', m.metric_name, 'value', m.metric_value, 'labels', m.labels, 'type', m.metric_type)
    from postrider.metrics() m)) as item;
