-- postrider.cancel_endpoint_messages(endpoint) → the job's id, an estimate, whether there may be more
--
-- Operator, admin. Makes a job that takes back what was sent to an endpoint until now and is not over: what nobody has
-- read yet, and what waits, attempted or not; see cancel_batch. What a dispatcher is attempting comes to the end of
-- its attempt. The estimate is a count of what waits, up to 10,000. Raises 22004 (a null name), 42704 (no such
-- endpoint). Uses deferred_due.
create or replace function postrider.cancel_endpoint_messages(
    p_endpoint_name text,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    count_to constant integer := 10000;
    wanted integer;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
    if wanted is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    select count(*), count(*) = count_to
    into estimate, has_more
    from (
        select
        from postrider.deferred d
        where d.endpoint_id = wanted
        limit count_to
    ) w;
    has_more := has_more or exists (
        select
        from postrider.subscriptions s
        where s.endpoint_id = wanted
        and postrider.has_unread_messages(s.id)
    );
    job_id := postrider.create_job(
        'cancel', wanted, p_endpoint_name, '{}', null,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
end;
$$;
