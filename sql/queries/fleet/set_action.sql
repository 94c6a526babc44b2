-- $2, $3: seconds or null.
select postrider.set_action(
    p_name => $1::text,
    p_ttl => make_interval(secs => $2::double precision),
    p_timeout => make_interval(secs => $3::double precision),
    p_max_retries => $4::integer,
    p_priority => $5::integer,
    p_concurrency => $6::integer,
    p_description => $7::text);
