-- The commit of this transaction does not wait for the disk.
select '{}'::bigint[]
from postrider.enable_fast_mode();
