-- Which of some deliveries still wait, with how many retries and until when, whether they have expired, by the clock that
-- postrider.expire_waiting goes by, and whether somebody else has locked them.
--   $1 bigint[]: messages   $2 integer[]: their targets
-- A row that nobody has touched since it was written has no xmax, and costs no lock. Index: deferred_pkey.
select
    d.message_id, d.target, d.retry_count, d.expires_at,
    coalesce(d.expires_at <= clock_timestamp(), false) as has_expired,
    not d.is_untouched and h.message_id is null as is_held
from unnest($1::bigint[], $2::integer[]) c (message_id, target)
cross join lateral (
    select w.message_id, w.target, w.retry_count, w.expires_at, w.xmax::text = '0' as is_untouched
    from postrider.deferred w
    where w.message_id = c.message_id
    and w.target = c.target
    offset 0
) d
left join lateral (
    select w.message_id
    from postrider.deferred w
    where not d.is_untouched
    and w.message_id = c.message_id
    and w.target = c.target
    offset 0
    for update skip locked
) h on true;
