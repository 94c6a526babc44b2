-- postrider.leave_out_numbers(upto) → whether no number up to this one will be given to a message any more
--
-- Internal, by use_up_numbers and enter_timeline. To set a sequence could set it back: whoever draws between the look and
-- the setting has come further, and its numbers would come again. So it is set while nobody can draw: under a
-- lock that waits for the senders under way, and keeps others waiting. It is waited for one second; false where
-- somebody's transaction stays open. What sessions have put aside by CACHE they drew before, so none of it comes twice
-- either. number_gap spares readers the way through what was left out.
create or replace function postrider.leave_out_numbers(p_upto bigint)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '1s'
as $$
declare
    present bigint;
begin
    -- Written anew, the sequence is locked, and what is set is undone with us.
    alter sequence postrider.message_sequence increment by 1;
    -- A sequence that nobody has used yet says 1 although 1 is still to come.
    select s.last_value - (not s.is_called)::integer into present from postrider.message_sequence s;
    if p_upto > present then
        perform setval('postrider.message_sequence', p_upto);
        insert into postrider.number_gap (after_number, last_number)
        values (present, p_upto);
    end if;
    return true;
exception
    -- Somebody's transaction is open.
    when lock_not_available then return false;
    -- An event trigger does not allow it.
    when others then
        raise warning 'the sequence of message numbers cannot be set (%): they are drawn one by one', sqlstate;
        return false;
end;
$$;
