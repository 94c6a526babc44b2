-- postrider.partition_horizons() → up to when each partitioned table has partitions, without a gap
--
-- Internal. `horizon` is how long from now on rows find their partition (zero: even now they do not),
-- `width` how long the current one lasts, `has_default_rows` whether something had to go into the
-- default partition; all are null when the table is locked and cannot be looked at. Reads the catalog
-- only, and one row of each default partition.
create or replace function postrider.partition_horizons()
returns table (table_name text, horizon interval, width interval, has_default_rows boolean)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    part record;
    this_moment constant timestamptz := clock_timestamp();
    covered_until timestamptz;
    parent text;
begin
    foreach parent in array array['message', 'done', 'partly_done', 'ended', 'attempt', 'tick'] loop
        table_name := parent;
        begin
            covered_until := this_moment;
            width := null;
            for part in
                select b.lower::timestamptz as lower, b.upper::timestamptz as upper
                from pg_inherits i
                join pg_class c on c.oid = i.inhrelid
                cross join lateral (
                    select
                        substring(g.bound from 'FROM \(''([^'']+)''\)') as lower,
                        substring(g.bound from 'TO \(''([^'']+)''\)') as upper
                    from pg_get_expr(c.relpartbound, c.oid) g (bound)
                ) b
                where i.inhparent = format('postrider.%I', parent)::regclass
                and b.lower is not null
                and b.upper is not null
                order by 1
            loop
                continue when part.upper <= covered_until;
                exit when part.lower > covered_until;
                width := coalesce(width, part.upper - part.lower);
                covered_until := part.upper;
            end loop;
            horizon := covered_until - this_moment;
            execute format('select exists (select from postrider.%I)', parent || '_default')
            into has_default_rows;
        exception
            when lock_not_available then
                horizon := null;
                width := null;
                has_default_rows := null;
        end;
        return next;
    end loop;
end;
$$;
