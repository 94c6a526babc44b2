-- $1: name; $2: description, an empty one takes it away; $3: schema, $4: metadata, the JSON null takes them away; null
-- leaves each. No row: there is none. Index: none, the name's own constraint.
update postrider.event_types t
set description = case when $2::text is null then t.description else nullif($2::text, '') end,
    schema = case when $3::text is null then t.schema else nullif($3::text::jsonb, 'null') end,
    metadata = case when $4::text is null then t.metadata else nullif($4::text::jsonb, 'null') end
where t.name = $1::text
returning json_build_object('id', t.id, 'name', t.name) as item;
