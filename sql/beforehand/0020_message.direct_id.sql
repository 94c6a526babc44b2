-- What message_direct_id has of this partition.
create index concurrently {{index}} on {{partition}} (id)
where endpoint_name is not null;
