-- See postrider.adopt.
--   $1 boolean: only look
select json_build_object(
    'found', a.found_sign, 'unfinished_messages', a.unfinished_messages,
    'waiting_deliveries', a.waiting_deliveries, 'doubtful_messages', a.doubtful_messages)
from postrider.adopt($1) a;
