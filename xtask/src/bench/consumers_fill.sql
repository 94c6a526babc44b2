-- Messages straight into the log: bench.transaction_count transactions of bench.message_count, with a tick
-- behind each if bench.makes_ticks says so. Every ten-thousandth is of a rare type.
do $do$
declare
    payload jsonb := current_setting('bench.payload');
    transaction_count integer := current_setting('bench.transaction_count');
    message_count integer := current_setting('bench.message_count');
    makes_ticks boolean := current_setting('bench.makes_ticks');
begin
    for number in 1 .. transaction_count loop
        insert into postrider.message (id, xid, lane, priority, targets, event_type, payload)
        select
            (n.number << 10) | n.lane, n.xid, n.lane, 0, '{1}',
            case when n.number % 10000 = 0 then 'bench.rare' else 'bench.usual' end, payload
        from (
            select s.xid, s.number, ((s.number >> 6) % 16 * 16)::smallint as lane
            from (
                select
                    pg_current_xact_id() as xid, nextval('postrider.message_sequence') as number
                from generate_series(1, message_count)
            ) s
        ) n;
        commit;
        if makes_ticks then
            perform postrider.tick();
            commit;
        end if;
    end loop;
end;
$do$;
