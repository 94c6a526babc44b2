-- postrider.describe_end(message_id, target) → status, at, retry_count and last_error of an ended
-- delivery
--
-- Application, operator, admin, monitor: the view archive calls it once per row, and not at all when nobody reads
-- these columns. What was delivered, has expired, or was a dead letter that has been cleaned up has its
-- retries from postrider.attempt. Uses attempt_message_id and what delivery_end uses.
create or replace function postrider.describe_end(p_message_id bigint, p_target integer)
returns jsonb
language plpgsql
stable
security definer
cost 5
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known record;
    history record;
begin
    select f.status, f.at, f.retry_count, f.last_error
    into known
    from postrider.delivery_end(p_message_id, p_target) f;
    select count(*) as failed_count, (array_agg(a.error order by a.started_at desc))[1] as error
    into history
    from postrider.attempt a
    where a.message_id = p_message_id
    and a.target = p_target
    and a.outcome <> 'accepted';
    return jsonb_build_object(
        'status', coalesce(known.status, 'failed'), 'at', known.at,
        'retry_count', coalesce(known.retry_count, history.failed_count),
        'last_error', coalesce(known.last_error, history.error));
end;
$$;
