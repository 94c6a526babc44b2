-- $1: how many. The view goes from key to key and stops there. Index: none, the view has its own.
select json_build_object(
    'items', coalesce(json_agg(json_build_object(
            'ordering_key', b.ordering_key, 'endpoint_name', b.endpoint_name, 'blocked_count', b.blocked_count,
            'blocking_message_id', b.blocking_message_id, 'blocked_since', b.blocked_since,
            'age_seconds', extract(epoch from b.age), 'cause', b.cause, 'last_error', b.last_error)) filter (where b.number <= least(coalesce($1::bigint, 100), 1000)), '[]'),
    'has_more', coalesce(max(b.number) > least(coalesce($1::bigint, 100), 1000), false)) as item
from (
    select b.*, row_number() over () as number
    from (
        select b.*
        from postrider.blocked_keys b
        limit least(coalesce($1::bigint, 100), 1000) + 1
    ) b
) b;
