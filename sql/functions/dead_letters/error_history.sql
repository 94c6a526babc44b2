-- postrider.error_history(message_id, target) → the attempts of a delivery that dies now, as a JSON array
--
-- Internal. One object per recorded attempt, in order of time: round, attempt, at, duration_ms, outcome,
-- status, error. Each redrive begins a round of its own, in which attempts count from 1 again. Earlier
-- rounds are copied from the last dead letter, because their rows of postrider.attempt may be gone with
-- their partition; of them the newest 1,000 attempts. What is in that letter is known by its time and
-- number; that something is later than the letter would say nothing, because clocks of dispatchers
-- differ. Uses attempt_message_id, dead_letter_message, without sequential scans: a plan that was made
-- while there was no dead letter would read all that a large call makes.
create or replace function postrider.error_history(p_message_id bigint, p_target integer)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
set enable_seqscan = off
set jit = off
as $$
declare
    earlier jsonb;
    earlier_from timestamptz;
    earlier_round integer;
    this_round jsonb;
begin
    select l.error_history
    into earlier
    from (
        select k.id, k.error_history
        from postrider.dead_letter k
        where k.message_id = p_message_id
        and k.target = p_target
        offset 0
    ) l
    order by l.id desc
    limit 1;
    if earlier is not null then
        -- Letters may have been cleaned up, and may have died without an attempt.
        select greatest(count(*), max((l.error_history -> -1 ->> 'round')::integer))
        into earlier_round
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = p_target;
        if jsonb_array_length(earlier) > 1000 then
            select jsonb_agg(h.entry order by h.position)
            into earlier
            from jsonb_array_elements(earlier) with ordinality h (entry, position)
            where h.position > jsonb_array_length(earlier) - 1000;
            earlier_from := (earlier -> 0 ->> 'at')::timestamptz;
        end if;
    end if;
    select jsonb_agg(
        jsonb_build_object(
            'round', coalesce(earlier_round, 0) + 1, 'attempt', a.number, 'at', a.started_at,
            'duration_ms', a.duration_ms, 'outcome', a.outcome, 'status', a.status,
            'error', a.error)
        order by a.started_at, a.number)
    into this_round
    from postrider.attempt a
    where a.message_id = p_message_id
    and a.target = p_target
    and (earlier_from is null or a.started_at >= earlier_from)
    and not exists (
        select
        from jsonb_array_elements(earlier) h (entry)
        where (h.entry ->> 'at')::timestamptz = a.started_at
        and (h.entry ->> 'attempt')::integer = a.number
    );
    return coalesce(earlier, '[]') || coalesce(this_round, '[]');
end;
$$;
