-- postrider.note_actor()
--
-- Internal: the trigger before every event of event_log. Who logged in is in `by` where somebody did it by
-- hand; `role` is added where the session acts as another role (set role), which no function with the owner's
-- rights hides, and `token` and `request` where it was asked for over HTTP. That is believed of those only who have the owner's rights.
create or replace function postrider.note_actor()
returns trigger
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    acting text := current_setting('role');
    token text := nullif(current_setting('postrider.token', true), '');
    request text := nullif(current_setting('postrider.request', true), '');
begin
    if new.details ->> 'by' = session_user and acting not in ('none', session_user::text) then
        new.details := new.details || jsonb_build_object('role', acting);
        if token is not null and exists (
            select
            from pg_namespace n
            where n.nspname = 'postrider'
            and pg_has_role(session_user, n.nspowner, 'usage')
        ) then
            new.details := new.details
                || jsonb_strip_nulls(jsonb_build_object('token', token, 'request', request));
        end if;
    end if;
    return new;
end;
$$;

create or replace trigger note_actor
before insert on postrider.event_log
for each row execute function postrider.note_actor();
