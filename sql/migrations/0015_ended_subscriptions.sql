-- Those that may be forgotten (forget_subscriptions).
create index subscriptions_ended_at on postrider.subscriptions (ended_at)
where ended_at is not null;
