-- $1: an endpoint's name. No row without an endpoint. It has ten keys at most.
-- Index: signing_key_pkey; endpoints are few, and looked up by their name.
select json_build_object(
    'items', array(
        select json_build_object(
            'id', k.id, 'kind', k.kind, 'created_at', k.created_at, 'retires_at', k.retires_at,
            'public_key', k.public_key, 'can_be_revealed', k.can_be_revealed)
        from postrider.signing_keys k
        where k.endpoint = e.name
        order by k.created_at desc, k.id
    )) as item
from postrider.endpoints e
where e.name = $1::text;
