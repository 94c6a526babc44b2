-- See postrider.maintain_archive_partitions. $1 integer: months ahead, or null for as many as usual.
select postrider.maintain_archive_partitions(
    coalesce($1::integer, postrider.partition_months_ahead())) as answer;
