-- Jobs: what verbs over many rows leave to dispatchers, which act in batches after the commit.

create table postrider.job (
    id bigint generated always as identity primary key,
    -- drop: buries what waits for an endpoint that was dropped. redrive: puts dead letters back.
    kind text not null check (kind in ('drop', 'redrive')),
    endpoint_id integer,
    endpoint_name text,
    filter jsonb not null default '{}' check (jsonb_typeof(filter) = 'object'),
    -- Deliveries per second; null: all at once.
    rate integer check (rate between 1 and 100000),
    state text not null default 'running'
        check (state in ('running', 'completed', 'cancelled', 'failed')),
    -- Everything up to here has been looked at, in the order of the kind's index; null: nothing yet.
    position jsonb,
    -- Before the first row of this round that somebody else had locked: where the next round begins.
    held_from jsonb,
    -- How many of those there were.
    held_count bigint not null default 0,
    -- redrive: letters with higher ids were not there when the job was made.
    last_id bigint,
    -- When the last delivery that was put back is due.
    paced_to timestamptz not null default '-infinity',
    -- Not to be gone on with before.
    next_at timestamptz not null default clock_timestamp(),
    done_count bigint not null default 0,
    -- How many there were at first, and whether there may be more than were counted.
    estimate bigint not null,
    has_more boolean not null,
    last_error text,
    created_by text not null default session_user,
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    check ((state = 'running') = (finished_at is null)),
    check ((kind = 'drop') = (last_id is null)),
    check (kind <> 'drop' or endpoint_id is not null)
) with (fillfactor = 50);
create index job_running on postrider.job (id)
where state = 'running';
-- One at a time for what waits for an endpoint that is gone.
create unique index job_drop_running on postrider.job (endpoint_id)
where kind = 'drop' and state = 'running';
-- What an endpoint was called.
create index job_drop on postrider.job (endpoint_id, id)
where kind = 'drop';
create index job_finished on postrider.job (finished_at)
where finished_at is not null;
create index replay_finished on postrider.replay (finished_at)
where finished_at is not null;

-- They return a job now, or are not used any more. None of them is there when this is installed for the
-- first time.
do $do$
declare
    old regprocedure;
begin
    for old in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = any (array[
            'drop_endpoint', 'redrive_all', 'redrive_endpoint', 'redrive_matching',
            'redrive_letters', 'bury_deferred'])
    loop
        execute format('drop function %s', old);
    end loop;
end;
$do$;
