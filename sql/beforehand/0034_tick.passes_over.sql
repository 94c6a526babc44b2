-- What tick_passes_over has of this partition.
create index concurrently {{index}} on {{partition}} (id)
where passes_after < id - 1;
