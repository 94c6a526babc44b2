-- For the rest of the transaction. $1: what follows the prefix in the role's name, $2: the name of the token.
-- Index: none, the table has one row.
select
    set_config('role', i.role_prefix || '_' || $1::text, true),
    set_config('postrider.token', $2::text, true)
from postrider.installation i;
