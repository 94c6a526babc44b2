-- postrider.matching_targets(patterns, payload) → the subscriptions that get an event now
--
-- Internal. Subscriptions and endpoints that are disabled get nothing; an endpoint with several
-- subscriptions that match gets it once, by the first of them. In plpgsql, which keeps its plan for
-- the session: an SQL function is planned again in each transaction. Uses subscriptions_event_type.
create or replace function postrider.matching_targets(p_patterns text[], p_payload jsonb)
returns integer[]
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return coalesce(array_agg(first.id order by first.id), '{}')
    from (
        select min(s.id) as id
        from postrider.subscriptions s
        where s.event_type = any (p_patterns)
        and s.ended_at is null
        and s.enabled
        and s.is_endpoint_enabled
        and (s.filter is null or p_payload @> s.filter)
        group by s.endpoint_id
    ) first;
end;
$$;
