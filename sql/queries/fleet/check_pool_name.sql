-- $1: a name in a filter, or null.
select postrider.check_pool_name($1::text);
