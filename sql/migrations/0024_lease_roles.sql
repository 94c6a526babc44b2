-- Who has taken a member's lease: while it runs, nobody without that role's rights renews or ends it. Null: anybody may,
-- until it is taken again.
alter table postrider.consumer_lease add column leased_by text;
