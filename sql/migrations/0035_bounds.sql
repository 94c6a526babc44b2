-- What one transaction that stays open, or one worker that is lost, makes others pay has a bound.

-- Consumers wait from here on: nothing below takes long. The index has been built on each partition (sql/beforehand/),
-- and becomes a part of this one.
lock table postrider.tick in access exclusive mode;

-- Ticks between which and the one that they build on others may lie, which do not count then. Beside a tick that is never
-- finished all others are made past it, thousands of them: all but the first say that nothing lies between.
drop index postrider.tick_passes_after;
create index tick_passes_over on postrider.tick (id) where passes_after < id - 1;
