-- postrider.hurry_transaction()
--
-- Internal, the last act of maintain_archive_partitions and cleanup_old_archive_partitions. Whoever makes or drops
-- partitions has the chore until the caller's transaction ends, whether there was something to do or not, and no
-- dispatcher does it until then. What was locked for it stops senders and dispatchers as well. So from now on that
-- transaction may be idle for a second, and each statement of it that begins may take five.
-- PostgreSQL ends what takes longer, and nothing was made or dropped. Where it has transaction_timeout (17 and later), all
-- that is left of the transaction may take five seconds; before, whoever keeps sending statements, or goes on in this one,
-- is not bounded. Who has set less keeps that, but for transaction_timeout: its clock begins anew.
--
-- Nothing is done where somebody else has the chore. The last act, because transaction_timeout ends the statement that
-- runs as well, and to find what may be dropped can take its time. What the call itself does is not bounded by it.
create or replace function postrider.hurry_transaction()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if not postrider.take_chore('partitions') then
        return;
    end if;
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
