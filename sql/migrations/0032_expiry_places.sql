-- What has expired is looked at a page at a time, and the next page begins behind the last row of the one before: so the
-- order of this index has to tell any two rows apart. One index, and not two: see 0006.
drop index postrider.deferred_expires_at;
create index deferred_expires_at on postrider.deferred (expires_at, message_id, target)
where expires_at is not null;
