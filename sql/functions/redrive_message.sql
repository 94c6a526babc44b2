-- postrider.redrive_message(dlq_id) → the message's id
--
-- Admin. Puts a dead letter back: same message id, no retries used, no expiry. The dead letter stays
-- and becomes `redriven`. Raises 42704 (no such dead letter) and 55000 (redriven before).
create or replace function postrider.redrive_message(p_dlq_id bigint)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    redriven bigint;
begin
    if postrider.redrive_letters(array[p_dlq_id]) = 0 then
        if exists (select from postrider.dead_letter l where l.id = p_dlq_id) then
            raise exception 'Dead letter % has been redriven before', p_dlq_id
                using errcode = '55000';
        end if;
        raise exception 'Dead letter % does not exist', p_dlq_id using errcode = '42704';
    end if;
    select l.message_id into redriven from postrider.dead_letter l where l.id = p_dlq_id;
    return redriven;
end;
$$;
