-- Of what waits with an ordering key, at whatever endpoint, the first: with ordering_scope = global. Whoever looks at one
-- endpoint cannot stumble upon this index, neither by its columns nor by its condition, and whoever looks at all of them not
-- upon deferred_key: see 0006.
create index deferred_key_everywhere on postrider.deferred ((ordering_key || ''), message_id)
where ordering_key || '' is not null;
