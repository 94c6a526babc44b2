-- postrider.take_tokens(endpoint_ids, wanted, rates, bursts) → what each gets, and in how many milliseconds
-- it may be used
--
-- Internal. A flow of `rate` requests per second is given away in order of asking: whoever comes later gets
-- what comes later, so nobody who asks is passed by. What was not taken is kept for as long as it takes to
-- gather `burst`. One dispatcher after the other, by a row that nobody else locks. Appends: a row that was
-- updated for every few requests would be a chain that every reader walks as soon as any session pins the
-- xmin horizon. Uses rate_grant_endpoint.
create or replace function postrider.take_tokens(
    p_endpoint_ids integer[],
    p_wanted integer[],
    p_rates integer[],
    p_bursts integer[])
returns table (endpoint_id integer, granted integer, wait_ms integer)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    -- As many as there can be shards.
    most_dispatchers constant integer := 64;
    asked record;
    used timestamptz;
    used_at timestamptz;
    moment timestamptz;
    each interval;
begin
    for asked in
        select w.endpoint_id, w.wanted, w.rate, w.burst
        from unnest(p_endpoint_ids, p_wanted, p_rates, p_bursts) w (endpoint_id, wanted, rate, burst)
        order by w.endpoint_id
    loop
        insert into postrider.rate_turn (endpoint_id)
        values (asked.endpoint_id)
        on conflict do nothing;
        perform from postrider.rate_turn t where t.endpoint_id = asked.endpoint_id for update;
        select g.used_until, g.granted_at
        into used, used_at
        from postrider.rate_grant g
        where g.endpoint_id = asked.endpoint_id
        order by g.seq desc
        limit 1;
        moment := clock_timestamp();
        each := interval '1 second' / asked.rate;
        -- What was given away later than now was before the clock was set back, by as much at least.
        used := used - greatest(used_at - moment, interval '0');
        -- Nobody is ahead by more than all that dispatchers may ask for at once, unless the rate was lower.
        used := least(
            greatest(used, moment - asked.burst * each), moment + (asked.burst + most_dispatchers) * each);
        endpoint_id := asked.endpoint_id;
        granted := asked.wanted;
        used := used + asked.wanted * each;
        wait_ms := greatest(ceil(extract(epoch from used - moment) * 1000), 0);
        insert into postrider.rate_grant (slot, endpoint_id, used_until, granted_at)
        values (postrider.current_slot(), asked.endpoint_id, used, moment);
        return next;
    end loop;
end;
$$;
