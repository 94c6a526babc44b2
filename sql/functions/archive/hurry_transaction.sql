-- postrider.hurry_transaction()
--
-- Internal, by maintain_archive_partitions and cleanup_old_archive_partitions. What they have locked to make or drop
-- something stops senders and dispatchers until the caller's transaction ends, and where there was nothing to do, no
-- dispatcher makes or drops anything until then. So from now on that may be idle for a second, and each statement of
-- it that begins may take five; PostgreSQL ends what takes longer, and nothing was made or dropped. Where PostgreSQL has transaction_timeout (17 and later), all that is left of
-- it may take five seconds; before, whoever keeps sending statements, or goes on in this one, is not bounded. Who has set
-- less keeps that, but for transaction_timeout: its clock begins anew.
create or replace function postrider.hurry_transaction()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform set_config(s.name, l.most_ms::text, true)
    from (
        values ('idle_in_transaction_session_timeout', 1000), ('statement_timeout', 5000)
    ) l (name, most_ms)
    join pg_settings s on s.name = l.name
    where s.setting::integer = 0
    or s.setting::integer > l.most_ms;
    if current_setting('transaction_timeout', true) is not null then
        -- One that runs already is not shortened.
        perform set_config('transaction_timeout', '0', true);
        perform set_config('transaction_timeout', '5s', true);
    end if;
end;
$$;
