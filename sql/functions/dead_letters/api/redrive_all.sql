-- postrider.redrive_all(rate) → the job's id, an estimate, whether there may be more
--
-- Operator, admin. See redrive_matching, of which it is the short form without a filter.
create or replace function postrider.redrive_all(
    p_rate integer default null,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select r.job_id, r.estimate, r.has_more
    from postrider.redrive_matching(p_rate => redrive_all.p_rate) r;
$$;
