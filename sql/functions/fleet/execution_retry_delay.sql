-- postrider.execution_retry_delay(retry, dice) → seconds
--
-- Internal. How long the retry waits: 1 s before the first one, doubled with each, at most 300 s, and up
-- to 20 % more or less as the dice (0 to 1) fall.
create or replace function postrider.execution_retry_delay(p_retry integer, p_dice double precision)
returns double precision
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select least(300.0, 2.0 ^ least(p_retry - 1, 20)) * (0.8 + 0.4 * p_dice);
$$;
