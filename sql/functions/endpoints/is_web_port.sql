-- postrider.is_web_port(port) → whether an HTTP server may be expected there
--
-- Internal. Not where mail, databases and other things listen that would take a request for something
-- else: the WHATWG fetch standard's bad ports, and databases. The dispatcher has the same list.
create or replace function postrider.is_web_port(port integer)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select is_web_port.port <> all (array[
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
        103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445,
        465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
        993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432,
        6000, 6379, 6432, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017]);
$$;
