-- See postrider.advance_replays.
select postrider.advance_replays() as answer;
