-- postrider.restart_number(last, margin, at) → the number behind which a log goes on that may not know what was given away
--
-- Internal, by advance_sequences and enter_timeline. Whoever restores the same backup again goes on from the same last number:
-- a margin alone would give away again what the first restore has delivered. So numbers go on where the clock says, 8,192 of
-- them for each second since the beginning of 2026: what a restore gives away is then below where any later one goes on, as
-- long as less is sent on average until then. At least the margin is left out, for more than that may have been sent for a while.
-- Numbers that are further than the clock, after restores in short order or by a clock that was wrong, go on as many whole
-- margins beyond it, so that they differ by the clock all the same, for restores within the time in which the clock
-- makes up for a margin. The clock counts for 2³⁰ seconds, to 2060-01-10: so it
-- brings no id beyond 2⁵³, up to which JavaScript reads whole numbers exactly. Outside of that, where the clock is wrong, there
-- is the margin alone.
create or replace function postrider.restart_number(p_last bigint, p_margin bigint, p_at timestamptz)
returns bigint
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select case
        when c.number between 0 and 8192::bigint * 1073741824 - 1
            then c.number + greatest((p_last - c.number + 2 * p_margin - 1) / p_margin, 0) * p_margin
        else p_last + p_margin
    end
    from (
        select floor((extract(epoch from p_at) - 1767225600) * 8192)::bigint as number
    ) c;
$$;
