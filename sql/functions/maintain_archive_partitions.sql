-- postrider.maintain_archive_partitions(months_ahead) → how many partitions were created
--
-- Admin, and the dispatcher once an hour. Makes sure that the partitions of this month (UTC) and of
-- the coming ones exist. A partition is made aside and attached, which does not stop writers.
create or replace function postrider.maintain_archive_partitions(p_months_ahead integer default 3)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '2s'
set timezone = 'UTC'
as $$
declare
    parent text;
    month timestamptz;
    partition text;
    created integer := 0;
begin
    if p_months_ahead is null or p_months_ahead not between 0 and 120 then
        raise exception 'p_months_ahead must be between 0 and 120, got %',
            coalesce(p_months_ahead::text, 'null') using errcode = '22023';
    end if;
    perform pg_advisory_xact_lock(1886352244, 1002);
    foreach parent in array array['message', 'done', 'partly_done', 'ended', 'attempt'] loop
        for month in
            select generate_series(
                date_trunc('month', now()),
                date_trunc('month', now()) + make_interval(months => p_months_ahead),
                interval '1 month')
        loop
            partition := format('%s_%s', parent, to_char(month, 'YYYY_MM'));
            continue when to_regclass('postrider.' || partition) is not null;
            execute format(
                'create table postrider.%I (like postrider.%I including all)', partition, parent);
            execute format(
                'alter table postrider.%I attach partition postrider.%I for values from (%L) to (%L)',
                parent, partition, month, month + interval '1 month');
            created := created + 1;
        end loop;
    end loop;
    return created;
end;
$$;
