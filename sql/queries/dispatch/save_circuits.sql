-- See postrider.save_circuits.
select *
from postrider.save_circuits($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);
