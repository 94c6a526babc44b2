-- See postrider.rotate_slots.
select postrider.rotate_slots() as answer;
