-- Takes back what has not been attempted. $1 message. Returns its id if there was something.
select case when postrider.cancel_message($1) then array[$1] else '{}' end;
