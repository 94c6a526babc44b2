-- An old snapshot and a transaction id, held until the session ends.
begin isolation level repeatable read;
create table public.pin (number integer);
insert into public.pin (number)
values (1);
