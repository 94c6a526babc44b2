-- $2: null takes the policy away, so that the settings apply.
-- Index: none, a command by hand; the name is unique.
update postrider.endpoints e
set retry_policy = nullif($2::text::jsonb, 'null')
where e.name = $1::text;
