-- Whose claims nobody has recovered yet: former owners of the shard, since somebody took it over who died before it was done.
alter table postrider.shard add column unrecovered uuid[] not null default '{}';
