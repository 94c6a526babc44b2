-- When requests of a rate limit were given away: whoever asks after the clock was set back sees by how much. Null: before this
-- migration.
alter table postrider.rate_grant add column granted_at timestamptz;
