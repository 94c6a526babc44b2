-- Who has registered a worker: nobody else acts for it. Null: anybody may, until it is registered again.
alter table postrider.worker add column registered_by text;
