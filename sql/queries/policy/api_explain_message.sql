-- $1: a message. See postrider.explain_policy.
select json_build_object('items', array(select row_to_json(p) from postrider.explain_policy($1::bigint) p limit 1000)) as item;
