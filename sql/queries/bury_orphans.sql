-- See postrider.bury_orphans.
select postrider.bury_orphans() as answer;
