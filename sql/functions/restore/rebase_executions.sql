-- postrider.rebase_executions()
--
-- Internal, by rebase_log: brings ends of executions and dead letters from another cluster into this one's
-- transaction ids, so that roll_up_executions adds each to the figures that is not in them, and none
-- twice. What is in them counts as written by a first transaction from now on, what is not by a second.
-- What a worker has ended since the restore has an id of this cluster, which may be lower than the
-- horizon: its time says that it came later. Waits for a roll-up, and for nobody else: what is in
-- progress meanwhile has an id above both. Executions that have not ended hold no transaction id and go
-- on.
create or replace function postrider.rebase_executions()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = auto
set enable_seqscan = on
set enable_bitmapscan = on
as $$
declare
    counted constant xid8 := '3';
    uncounted constant xid8 := '4';
    known postrider.execution_rollup;
begin
    perform from postrider.chore c where c.name = 'figures' for update;
    select r.* into known from postrider.execution_rollup r;
    update postrider.execution_end e
    set xid = case
            when e.xid >= known.horizon or e.ended_at > known.at then uncounted
            else counted
        end;
    update postrider.execution_dead_letter d
    set xid = case
            when d.xid >= known.horizon or d.at > known.at then uncounted
            else counted
        end;
    update postrider.execution_rollup r
    set horizon = uncounted;
    -- The sequence may be ahead of the table.
    perform setval('postrider.oldest_generation', 1);
end;
$$;
