-- What dispatchers lock among themselves. Everybody who may connect may take advisory locks, so no
-- correctness and no progress rests on them: these tables nobody but the owner may lock.

-- Locked as a whole: see "The fence" in ARCHITECTURE.md. Always empty.
create table postrider.fence ();
-- What dispatchers are writing under the former fence has ended by now. What begins later waits for the end of this
-- migration, and then takes the new fence, too: they call lost_shards, which does.
select pg_advisory_xact_lock(1886352244, 1000);

-- What one dispatcher does at a time: who has locked the row. Never changed.
create table postrider.chore (
    name text primary key
);
insert into postrider.chore (name) values ('partitions'), ('slots'), ('figures');

-- Who hands out tokens of an endpoint has locked its row (take_tokens). Written by dispatchers alone, and
-- no foreign key: an administrator's transaction must not touch these rows.
create table postrider.rate_turn (
    endpoint_id integer primary key
);

-- Which cancellations are under way: who cancels locks the row of the message's bucket (cancel_bucket), and
-- the message's own. Row locks, which take no room in the table of locks. Never changed.
create table postrider.cancel_bucket (
    bucket smallint primary key
);
insert into postrider.cancel_bucket (bucket) select g.bucket from generate_series(0, 1023) g (bucket);

do $do$
begin
    if to_regprocedure('postrider.cancel_lock(bigint)') is not null then
        drop function postrider.cancel_lock(bigint);
    end if;
end;
$do$;
