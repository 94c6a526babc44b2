-- See postrider.needs_archive_upkeep.
select postrider.needs_archive_upkeep() as answer;
