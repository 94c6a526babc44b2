-- That a server has forgotten what was delivered: what was found by each dispatcher, for health_check and metrics.

-- A row for each, and never removed: events go with their retention, and a counter must not go back.
create table postrider.rewind (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    lost_bytes numeric not null,
    lost_numbers bigint not null,
    -- The highest number that was delivered: up to it they are used up, whoever finds that they are not.
    highest_number bigint not null
);
