-- postrider.redrive_all() → how many dead letters were put back
--
-- Admin. See redrive_message. Dead letters of dropped endpoints stay.
create or replace function postrider.redrive_all()
returns integer
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.redrive_letters(array(
        select l.id
        from postrider.dead_letter l
        join postrider.endpoints e on e.id = l.endpoint_id
        where l.status = 'failed'
    ));
$$;
