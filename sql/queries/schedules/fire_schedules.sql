-- See postrider.fire_schedules.
select postrider.fire_schedules() as answer;
