-- postrider.use_up_numbers(upto) → how many numbers up to this one, or that of a rewind, may still be given to messages
--
-- Internal, by a dispatcher after confirm_position, again and again until nothing is left: messages with these numbers were
-- delivered and are forgotten, and no id may come twice. Up to a million numbers are drawn one by one, as senders draw them.
-- More are left out (leave_out_numbers); where somebody's transaction stays open, a million are drawn by this call and the
-- next one tries again.
create or replace function postrider.use_up_numbers(p_upto bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most_drawn constant bigint := 1000000;
    upto constant bigint := greatest(p_upto, (select max(r.highest_number) from postrider.rewind r));
    present bigint;
begin
    -- Numbers that are given again after a crash were not used up. No standby is waited for: it may be the server that is gone.
    perform set_config('synchronous_commit', 'local', true);
    -- A sequence that nobody has used yet says 1 although 1 is still to come.
    select s.last_value - (not s.is_called)::integer into present from postrider.message_sequence s;
    if upto - present > most_drawn and postrider.leave_out_numbers(upto) then
        return 0;
    end if;
    for drawn in 1 .. greatest(least(upto - present, most_drawn), 0) loop
        perform nextval('postrider.message_sequence');
    end loop;
    return (
        select greatest(upto - s.last_value + (not s.is_called)::integer, 0) from postrider.message_sequence s
    );
end;
$$;
