-- postrider.update_gate() → the sequence number up to which messages may be sent
--
-- Internal, by dispatchers, by a change of max_queue_size, and by a send that finds the log full. The
-- gate is the number at which as much waits as the limit says (queue_base). setval is not undone by a
-- rollback: what a change of the setting that was rolled back has set, the next call sets right (see
-- set_setting).
create or replace function postrider.update_gate()
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    size_limit bigint;
begin
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    if size_limit = 0 then
        return setval('postrider.message_gate', 9223372036854775807);
    end if;
    return setval('postrider.message_gate', greatest(postrider.queue_base() + size_limit, 0));
end;
$$;
