-- See postrider.make_partitions: as many months ahead as usual.
select postrider.make_partitions(postrider.partition_months_ahead()) as answer;
