-- What message_published_id has of this partition.
create index concurrently {{index}} on {{partition}} (
    (cardinality(targets) > 1), (cardinality(targets) > 4), id)
include (targets, event_type)
where event_type is not null;
