-- See postrider.check_workers.
select postrider.check_workers() as lost;
