-- Where this log was when a dispatcher last looked: a server that was promoted, or restored to a moment, begins a timeline
-- of its own.

-- Empty until a dispatcher has looked, and after adopt.
create table postrider.timeline (
    singleton boolean primary key default true check (singleton),
    number integer not null,
    at timestamptz not null default clock_timestamp()
);
