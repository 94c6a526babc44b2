-- postrider.note_published(executions, fences, is_dead_lettered) → how many are published now
--
-- Internal: the RabbitMQ carrier, when the broker has confirmed their messages. From then on the broker
-- watches over the time to live, if what expires in the worker's queue reaches the handler; the timeout
-- monitor then looks at it after scheduled_timeout, and 10 seconds after it should have expired at the
-- earliest. A message may lie behind one that lives longer, for a queue lets go of its head only: so one
-- whose time is not that of all others, or that nobody would hear about, is looked at 5 seconds after it.
create or replace function postrider.note_published(
    p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    noted tid[];
    queue_ttl constant bigint := postrider.get_setting('worker_queue_ttl_ms')::bigint;
    scheduled_timeout constant interval :=
        make_interval(secs => postrider.get_setting('scheduled_timeout')::integer);
    published integer;
begin
    -- What somebody else has locked counts as not published, and only that.
    select array_agg(o.ctid)
    into noted
    from unnest(p_executions, p_fences) n (id, fence)
    cross join lateral (
        select l.ctid
        from postrider.live_execution l
        where l.id = n.id
        and l.fence = n.fence
        and l.status = 'scheduled'
        offset 0
        for update skip locked
    ) o;
    update postrider.live_execution l
    set is_published = true,
        due_at = case
            when p_is_dead_lettered and l.ttl_ms = queue_ttl
                then greatest(l.scheduled_at + scheduled_timeout, l.expires_at + interval '10 seconds')
            else l.expires_at + interval '5 seconds'
        end
    where l.ctid = any (noted);
    get diagnostics published = row_count;
    return published;
end;
$$;
