-- postrider.make_partitions(months_ahead) → how many partitions were created
--
-- Internal, by maintain_archive_partitions, by a dispatcher once a minute if something is missing
-- (missing_partitions), and by migrate. 0 while somebody else is at it. Raises 22023 and, when a lock is not to
-- be had for some seconds, 55P03.
--
-- A partition is made aside and attached, which stops no writer but locks the default partition against
-- everybody. So all is prepared first: rows of the default partition move beside it, which readers do
-- not see. Then the locks are waited for as briefly as senders may wait, and given back in between. A
-- row is deleted and not truncated away: whoever reads with an older snapshot must find it.
--
-- Who waits to write into the default partition while it loses the range is refused afterwards (23514),
-- because it has chosen its partition already. So where somebody may write into the range now, writers
-- wait at the table itself, before they choose.
--
-- Nothing is deleted where nothing is to be moved: where deletes are published, PostgreSQL refuses the statement in a
-- table without replica identity, rows or not. Where the whole table has one (full), its new partitions get it, too.
create or replace function postrider.make_partitions(p_months_ahead integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
set lock_timeout = '20ms'
as $$
declare
    most_tries constant integer := 10;
    -- What is held up least comes last.
    missing record;
    moving text := $sql$
        do $do$
        begin
            if exists (
                select
                from postrider.%1$I r
                where r.%2$I >= %3$L
                and r.%2$I < %4$L
            )
            then
                with moved as (
                    delete from postrider.%1$I r
                    where r.%2$I >= %3$L
                    and r.%2$I < %4$L
                    returning r.*
                )
                insert into postrider.%5$I
                select m.*
                from moved m;
            end if;
        end;
        $do$
        $sql$;
    statements text[] := '{}';
    statement text;
    created integer := 0;
begin
    if p_months_ahead is null or p_months_ahead not between 0 and 120 then
        raise exception 'p_months_ahead must be between 0 and 120, got %',
            coalesce(p_months_ahead::text, 'null') using errcode = '22023';
    end if;
    if not postrider.take_chore('partitions') then
        return 0;
    end if;

    for missing in
        select
            m.parent, m.time_column, m.name, m.from_at, m.to_at, l.name as default_name,
            c.relreplident = 'f' as has_full_identity,
            row_number() over (partition by m.parent) = 1 as is_first,
            bool_or(m.from_at < now() + interval '1 hour') over (partition by m.parent) as is_written
        from postrider.missing_partitions(p_months_ahead) m
        join postrider.partitions l on l.table_name = m.parent and l.from_at is null
        join pg_class c on c.oid = format('postrider.%I', m.parent)::regclass
        order by m.parent = 'message', m.parent, m.from_at
    loop
        execute format(
            'create table postrider.%I (like postrider.%I including all)',
            missing.name, missing.parent);
        if missing.has_full_identity then
            execute format('alter table postrider.%I replica identity full', missing.name);
        end if;
        statement := format(
            moving, missing.default_name, missing.time_column, missing.from_at, missing.to_at,
            missing.name);
        execute statement;
        if missing.is_first and missing.is_written then
            statements := statements || format(
                'lock table only postrider.%I in share row exclusive mode', missing.parent);
        end if;
        if missing.is_first then
            statements := statements || format(
                'lock table postrider.%I in access exclusive mode', missing.default_name);
        end if;
        -- What came into the default partition meanwhile.
        statements := statements || statement || format(
            'alter table postrider.%I attach partition postrider.%I for values from (%L) to (%L)',
            missing.parent, missing.name, missing.from_at, missing.to_at);
        created := created + 1;
    end loop;

    for try in 1..most_tries loop
        begin
            foreach statement in array statements loop
                execute statement;
            end loop;
            return created;
        exception
            when lock_not_available then
                if try = most_tries then
                    raise;
                end if;
        end;
        perform pg_sleep(0.1);
    end loop;
end;
$$;
