-- See postrider.check_generations.
select postrider.check_generations() as checked;
