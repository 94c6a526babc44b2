-- See postrider.confirm_origin.
select postrider.confirm_origin() as sign, current_database() as database;
