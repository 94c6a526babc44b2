-- postrider.take_out_of_letters(dead letter ids) → how many
--
-- Internal: what was in dead letters that the caller has locked. Of the history that is left which is no text of
-- anybody. Uses dead_letter_pkey.
create or replace function postrider.take_out_of_letters(p_ids bigint[])
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    changed bigint;
begin
    update postrider.dead_letter l
    set payload = 'null',
        body = null,
        content_type = null,
        headers = null,
        metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
        last_error = case when l.last_error is not null then '(erased)' end,
        error_history = (
            select
                coalesce(
                    jsonb_agg(
                        case
                            when h.entry ->> 'error' is null then h.entry
                            else h.entry || '{"error": "(erased)"}'
                        end
                        order by h.number),
                    '[]')
            from jsonb_array_elements(l.error_history) with ordinality h (entry, number)
        ),
        erased_at = clock_timestamp()
    where l.id = any (p_ids);
    get diagnostics changed = row_count;
    return changed;
end;
$$;
