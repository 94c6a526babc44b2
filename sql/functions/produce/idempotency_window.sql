-- postrider.idempotency_window() → how long an idempotency key is held at least
--
-- Internal. The setting as an interval. In plpgsql, which keeps its plan for the session: planning it
-- in each transaction anew costs a send 50 µs.
create or replace function postrider.idempotency_window()
returns interval
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return make_interval(secs => s.value::double precision)
    from postrider.setting s
    where s.name = 'idempotency_window';
end;
$$;
