-- postrider.missing_partitions(months_ahead) → the partitions that should be there and are not
--
-- Internal. In UTC: of today and of the days up to the end of the month that is so many months ahead,
-- or, where partition_interval is `day`, up to that day and seven days ahead at least; and of whatever a
-- default partition holds. A month where no partition is in its way yet, else the single days. A name
-- that is taken, by a partition that somebody has detached, is left out.
create or replace function postrider.missing_partitions(p_months_ahead integer)
returns table (
    parent text,
    time_column text,
    name text,
    from_at timestamptz,
    to_at timestamptz)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
as $$
declare
    today constant timestamptz := date_trunc('day', now());
    is_daily boolean;
    ahead timestamptz[];
    stranded timestamptz[];
    base record;
begin
    select s.value = 'day'
    into is_daily
    from postrider.setting s
    where s.name = 'partition_interval';
    ahead := array(
        select d.day
        from generate_series(
            today,
            case
                when is_daily then greatest(
                    today + make_interval(months => p_months_ahead), today + interval '7 days')
                else date_trunc('month', today) + make_interval(months => p_months_ahead + 1)
                    - interval '1 day'
            end,
            interval '1 day') d (day)
    );

    for base in
        select
            l.table_name, l.time_column, max(l.name) filter (where l.from_at is null) as default_name,
            array_agg(l.from_at order by l.from_at) filter (where l.from_at is not null) as lower,
            array_agg(l.to_at order by l.from_at) filter (where l.from_at is not null) as upper
        from postrider.partitions l
        group by l.table_name, l.time_column
    loop
        execute format(
            $sql$
            select coalesce(array_agg(distinct date_trunc('day', r.%1$I)), '{}')
            from postrider.%2$I r
            where isfinite(r.%1$I)
            $sql$,
            base.time_column, base.default_name)
        into stranded;

        return query
        select distinct
            base.table_name, base.time_column, w.partition, w.begins, w.ends
        from unnest(ahead || stranded) d (day)
        cross join lateral (
            select
                case
                    when is_daily or exists (
                        select
                        from unnest(base.lower, base.upper) e (begins, ends)
                        where e.begins < date_trunc('month', d.day) + interval '1 month'
                        and e.ends > date_trunc('month', d.day)
                    ) then 'day'
                    else 'month'
                end
        ) l (length)
        cross join lateral (
            select
                date_trunc(l.length, d.day),
                date_trunc(l.length, d.day) + ('1 ' || l.length)::interval,
                base.table_name || to_char(d.day, case l.length when 'day' then '_YYYY_MM_DD' else '_YYYY_MM' end)
        ) w (begins, ends, partition)
        where not exists (
            select
            from unnest(base.lower, base.upper) e (begins, ends)
            where e.begins < w.ends
            and e.ends > w.begins
        )
        and to_regclass('postrider.' || w.partition) is null;
    end loop;
end;
$$;
