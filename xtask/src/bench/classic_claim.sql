-- $1 bigint: at most so many
update classic.queue q
set status = 'processing',
    claimed_at = clock_timestamp()
where q.id in (
    select c.id
    from classic.queue c
    where c.status = 'pending'
    and c.scheduled_at <= now()
    order by c.priority desc, c.id
    for update skip locked
    limit $1
)
returning q.id, q.endpoint_id, q.retry_count, q.headers, q.payload::text;
