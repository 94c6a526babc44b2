-- When each secret option of an endpoint was set; what was set before this is known without a time.
alter table postrider.endpoint_secret add column set_at jsonb not null default '{}';
