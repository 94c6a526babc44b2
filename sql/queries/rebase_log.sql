-- See postrider.rebase_log.
select postrider.rebase_log() as answer;
