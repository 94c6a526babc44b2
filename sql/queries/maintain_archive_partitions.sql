-- See postrider.maintain_archive_partitions.
select postrider.maintain_archive_partitions() as answer;
