-- See postrider.trade_places.
select *
from postrider.trade_places($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
