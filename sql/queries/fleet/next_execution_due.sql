-- In how many milliseconds check_executions has something to do; less than 0: it is late. Null: nothing.
-- Index: live_execution_due.
select (
    extract(epoch from (
        select min(l.due_at)
        from postrider.live_generation g
        cross join lateral (
            select l.due_at
            from postrider.live_execution l
            where l.generation = g.id
            and l.due_at is not null
            order by l.due_at
            limit 1
        ) l
    ) - clock_timestamp()) * 1000
)::bigint as due_in_ms;
