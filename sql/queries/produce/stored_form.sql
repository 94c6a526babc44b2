-- JSON as it would be stored.
--   $1 text: JSON, or null
-- Index: none, it reads no table.
select $1::text::jsonb::text;
