-- See postrider.cleanup_old_archive_partitions. $1 integer: months, or null for archive_retention_months.
-- Index: none, a table of a few rows.
select postrider.cleanup_old_archive_partitions(
    coalesce(
        $1::integer,
        (
            select s.value::integer
            from postrider.setting s
            where s.name = 'archive_retention_months'
        ))) as answer;
