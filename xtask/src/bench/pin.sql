-- An old snapshot and a transaction id, held until the session ends.
create table public.pin (number integer);
begin isolation level repeatable read;
insert into public.pin (number)
values (1);
