-- postrider.use_up_numbers(upto) → how many numbers up to this one, or that of a rewind, may still be given to messages
--
-- Internal, by a dispatcher after confirm_position, again and again until nothing is left: messages with these numbers were
-- delivered and are forgotten, and no id may come twice. Up to a million numbers are drawn one by one, as senders draw them.
-- To set a sequence would be quicker and could set it back: whoever draws between the look and the setting has come further,
-- and its numbers would come again. So it is set, for more than a million, only while nobody can draw: under a
-- lock that waits for the senders under way, and keeps others waiting. It is waited for one second; where
-- somebody's transaction stays open, a million are drawn by this call and the next one tries again. What sessions
-- have put aside by CACHE they drew before, so none of it comes twice either. number_gap spares readers the way through what
-- was left out.
create or replace function postrider.use_up_numbers(p_upto bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '1s'
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
    if upto - present > most_drawn then
        begin
            -- Written anew, the sequence is locked, and what is set is undone with us.
            alter sequence postrider.message_sequence increment by 1;
            select s.last_value - (not s.is_called)::integer into present from postrider.message_sequence s;
            if upto > present then
                perform setval('postrider.message_sequence', upto);
                insert into postrider.number_gap (after_number, last_number)
                values (present, upto);
            end if;
            return 0;
        exception
            -- Somebody's transaction is open.
            when lock_not_available then null;
            -- An event trigger does not allow it.
            when others then
                raise warning 'the sequence of message numbers cannot be set (%): they are drawn one by one', sqlstate;
        end;
    end if;
    for drawn in 1 .. greatest(least(upto - present, most_drawn), 0) loop
        perform nextval('postrider.message_sequence');
    end loop;
    return (
        select greatest(upto - s.last_value + (not s.is_called)::integer, 0) from postrider.message_sequence s
    );
end;
$$;
