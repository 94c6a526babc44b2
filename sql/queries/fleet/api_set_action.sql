-- $2, $3: intervals or null.
select json_build_object('name', $1::text) as item
from postrider.set_action(
    p_name => $1::text,
    p_ttl => $2::text::interval,
    p_timeout => $3::text::interval,
    p_max_retries => $4::integer,
    p_priority => $5::integer,
    p_concurrency => $6::integer,
    p_description => $7::text);
