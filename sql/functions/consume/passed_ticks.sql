-- postrider.passed_ticks(tick) → which ticks behind this one do not count
--
-- Internal: next_ticks. From the last tick that was made past others to the one that it builds on, and so
-- on: what a tick that was passed itself says counts as little. A tick that builds on the one just before it leaves
-- nothing out, and the next below it is the next below the one that it builds on: so those, of which there are as
-- many as were made beside one that is never finished, are not looked at. Uses tick_passes_over.
create or replace function postrider.passed_ticks(p_tick bigint)
returns int8multirange
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
begin
    if pg_sequence_last_value('postrider.tick_epoch') is null then
        return '{}';
    end if;
    return (
        with recursive passing as (
            (
                select t.id, t.passes_after
                from postrider.tick t
                where t.passes_after < t.id - 1
                and t.id > p_tick
                order by t.id desc
                limit 1
            )
            union all
            select n.id, n.passes_after
            from passing p
            cross join lateral (
                select t.id, t.passes_after
                from postrider.tick t
                where t.passes_after < t.id - 1
                and t.id > p_tick
                and t.id <= p.passes_after
                order by t.id desc
                limit 1
            ) n
        )
        select coalesce(range_agg(int8range(p.passes_after + 1, p.id)), '{}')
        from passing p
    );
end;
$$;
