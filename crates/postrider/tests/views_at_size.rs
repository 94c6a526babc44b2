//! `queue`, `archive` and `message_status` cost the same at any size, in both directions, and the queue shows the same
//! as a definition that asks for each message by itself.
//!
//! No dispatcher runs: what one writes is written directly. With POSTRIDER_TEST_FULL there are 5,000,000 messages.

use std::fmt::Write;

use crate::shop::{Shop, serving::LONG};
use serde_json::Value;
use tokio_postgres::Client;

/// The most buffers of a question, asked for the second time in its session.
const MOST: u64 = 2_000;

/// Four stretches of a log of {total} messages, {kinds} by the last digit of their numbers: 80 % are done; 10 % wait in
/// `deferred`; 5 % were read, and those of {left} left to a lag, the others are done; 5 % nobody has read.
const SCENE: &str = "
    select postrider.create_endpoint(n, 'discard', '{}') from unnest(array['a', 'b', 'c', 'd', 'f']) n;
    select postrider.create_event_type(n) from unnest(array['e1', 'e2', 'e4']) n;
    select postrider.subscribe('e1', 'a'), postrider.subscribe('e2', 'a'), postrider.subscribe('e2', 'b');
    select postrider.subscribe('e4', n) from unnest(array['a', 'b', 'c', 'd']) n;
    create schema scene;
    create table scene.kind (digit integer, endpoint_name text, event_type text, targets integer[]);
    insert into scene.kind
    select k.digit, e.name, case when e.id is null then k.name end, case
            when e.id is not null then array[e.direct_subscription_id]
            else (select array_agg(s.id) from postrider.subscriptions s where s.event_type = k.name)
        end
    from unnest({kinds}::text[]) with ordinality k (name, digit)
    left join postrider.endpoints e on e.name = k.name;
    update scene.kind set digit = digit - 1;
    create function scene.send(p_from bigint, p_to bigint) returns pg_snapshot language plpgsql as $$
    begin
        insert into postrider.message (
            id, xid, lane, priority, targets, endpoint_name, event_type, payload)
        select
            (n << 10) | l.lane, pg_current_xact_id(), l.lane, 0, k.targets, k.endpoint_name, k.event_type,
            jsonb_build_object('n', n, 'text', repeat('x', 60))
        from generate_series(p_from, p_to) n
        join scene.kind k on k.digit = n % 10
        cross join lateral (select ((n >> 6) % postrider.shard_count() * 16)::smallint) l (lane)
        order by n;
        insert into postrider.heartbeat (slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
        values (0, gen_random_uuid(), now(), now(), pg_current_xact_id(), p_to, '{}');
        -- What sees this transaction and none behind it.
        return format('%s:%s:', x.next, x.next)::pg_snapshot
        from (select pg_current_xact_id()::text::bigint + 1 as next) x;
    end $$;
    create function scene.deliver(p_from bigint, p_to bigint, p_left text[]) returns void language sql as $$
        insert into postrider.done (bucket, run, at, offsets)
        select n >> 12, n >> 6 & 63, now(), string_agg(int2send((n & 4095)::smallint), ''::bytea)
        from generate_series(p_from, p_to) n
        join scene.kind k on k.digit = n % 10
        where coalesce(k.endpoint_name, k.event_type) <> all (p_left)
        group by 1, 2 $$;
    create table scene.snapshot (name text, top pg_snapshot);
    insert into scene.snapshot select 'done', scene.send(1, {total} / 10 * 8);
    insert into scene.snapshot select 'deferred', scene.send({total} / 10 * 8 + 1, {total} / 10 * 9);
    insert into scene.snapshot select 'left', scene.send({total} / 10 * 9 + 1, {total} / 100 * 95);
    select scene.send({total} / 100 * 95 + 1, {total});
    select setval('postrider.message_sequence', {total});
    select scene.deliver(1, {total} / 10 * 8, '{}');
    select scene.deliver({total} / 10 * 9 + 1, {total} / 100 * 95, {left});
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, retry_count, message_created_at, last_error)
    select m.id, s.id, s.endpoint_id, m.lane >> 4, now() + interval '1 hour', 1, m.created_at, '503'
    from postrider.message m
    cross join lateral unnest(m.targets) t (target)
    join postrider.subscriptions s on s.id = t.target
    where m.id > ({total}::bigint / 10 * 8 + 1) << 10
    and m.id < ({total}::bigint / 10 * 9 + 1) << 10;
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        0, gen_random_uuid(), array_agg(s.shard), pg_snapshot_xmin(min(lag.top::text)::pg_snapshot),
        array_agg(0::bigint),
        jsonb_build_array(jsonb_build_object('state', jsonb_build_object(
            'tail', jsonb_build_object('base', min(tail.top::text)),
            'lag', jsonb_build_object(
                'position', jsonb_build_object('base', min(lag.top::text)),
                'skipped', (
                    select jsonb_object_agg(
                        k.targets[1], jsonb_build_object('base', (select top from scene.snapshot where name = 'deferred')))
                    from scene.kind k
                    where coalesce(k.endpoint_name, k.event_type) = any ({left}::text[])
                ),
                'spares_expiring', true,
                'last', ({total}::bigint / 100 * 95) << 10 | 1023),
            'done', jsonb_build_array(
                jsonb_build_object('base', min(tail.top::text)),
                jsonb_build_object('base', min(lag.top::text))),
            'open', '[]'::jsonb)))
    from postrider.shard s
    join scene.snapshot tail on tail.name = 'left'
    join scene.snapshot lag on lag.name = 'deferred';";

/// Asked of each scene. Of `{waiting}`, `{left}`, `{unread}` and `{done}` there are the ids.
const QUESTIONS: &[&str] = &[
    "queue order by id limit 3",
    "queue order by id desc limit 3",
    "queue order by id limit 50",
    "queue where id = {waiting}",
    "queue where id = {left}",
    "queue where id = {unread}",
    "queue where id = {done}",
    "queue where id > {left} order by id limit 3",
    "queue where id < {left} order by id desc limit 3",
    "archive order by id limit 3",
    "archive order by id desc limit 3",
    "archive where id = {waiting}",
    "archive where id = {done}",
    "archive where id < {done} order by id desc limit 3",
    "message_status({waiting})",
    "message_status({left})",
    "message_status({unread})",
    "message_status({done})",
];

fn total() -> i64 {
    match std::env::var_os("POSTRIDER_TEST_FULL") {
        Some(_) => 5_000_000,
        None => 60_000,
    }
}

/// Questions that walk over what waits in `deferred`, and perhaps over what is behind it in the log: of that, so many
/// messages a buffer.
struct Walking<'a> {
    questions: &'a [&'a str],
    logged_per_buffer: Option<u64>,
}

impl Walking<'_> {
    fn most(&self) -> u64 {
        let (deferred, logged) = (total() as u64 / 10, total() as u64 / 10);
        MOST + deferred / 50 + self.logged_per_buffer.map_or(0, |count| logged / count)
    }
}

/// Asks what `QUESTIONS`, `more` and `walking` say, twice in a session, and returns what took too much.
async fn ask(client: &Client, more: &[&str], walking: &Walking<'_>, case: &str) -> String {
    let total = total();
    let id = |number: i64| {
        let sql = format!(
            "select id from postrider.message where id > {number}::bigint << 10 order by id limit 1"
        );
        async move { client.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0).to_string() }
    };
    let ids = [
        ("{done}", id(total / 2 - 1).await),
        ("{waiting}", id(total / 20 * 17 - 1).await),
        ("{left}", id(total / 100 * 92 - 1).await),
        ("{unread}", id(total / 100 * 97 - 1).await),
    ];
    client.batch_execute("set role postrider_application").await.unwrap();
    let mut wrong = String::new();
    let bounded = QUESTIONS.iter().chain(more).map(|question| (question, MOST));
    let walking = walking.questions.iter().map(|question| (question, walking.most()));
    for (question, most) in bounded.chain(walking) {
        let asked =
            ids.iter().fold((*question).to_owned(), |text, (name, id)| text.replace(name, id));
        let sql =
            format!("explain (analyze, buffers, format json) select * from postrider.{asked}");
        let mut buffers = [0, 0];
        let mut plan = Value::Null;
        for buffers in &mut buffers {
            plan = client.query_one(&sql, &[]).await.unwrap().get(0);
            let count = |field: &str| plan[0]["Plan"][field].as_u64().unwrap();
            *buffers = count("Shared Hit Blocks") + count("Shared Read Blocks");
        }
        let [first, second] = buffers;
        println!(
            "{case}: {question}: {second} buffers, at first {first}, {} ms",
            plan[0]["Execution Time"]
        );
        if second > most {
            println!("{:#}", plan[0]["Plan"]);
            writeln!(wrong, "{case}: {question}: {second}, not {most}").unwrap();
        }
    }
    client.batch_execute("reset role").await.unwrap();
    wrong
}

async fn check(kinds: &str, left: &str, more: &[&str], walking: Walking<'_>) {
    let shop = Shop::open_migrated().await;
    let scene = SCENE
        .replace("{total}", &total().to_string())
        .replace("{kinds}", kinds)
        .replace("{left}", left);
    shop.psql("shop", &[], &scene).succeed();
    // Autovacuum of a test's server is off: these tables were never analysed.
    let mut wrong = ask(&shop.client().await, more, &walking, "never analysed").await;
    shop.psql("shop", &[], "vacuum analyze").succeed();
    wrong += &ask(&shop.client().await, more, &walking, "analysed").await;
    assert!(wrong.is_empty(), "too many buffers:\n{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_cost_the_same_at_any_size_of_what_was_sent() {
    check(
        "array['a', 'a', 'a', 'a', 'a', 'a', 'd', 'd', 'd', 'b']",
        "array['a']",
        &[
            "queue where endpoint_name = 'a' order by id limit 3",
            "queue where endpoint_name = 'a' order by id desc limit 3",
            "archive where endpoint_name = 'a' order by id limit 3",
            "archive where endpoint_name = 'd' order by id limit 3",
            "archive where endpoint_name = 'd' order by id desc limit 3",
        ],
        // One that keeps up, one with little, and one with nothing.
        Walking {
            questions: &[
                "queue where endpoint_name = 'd' order by id limit 3",
                "queue where endpoint_name = 'd' order by id desc limit 3",
                "queue where endpoint_name = 'b' order by id limit 3",
                "queue where endpoint_name = 'f' order by id limit 3",
                "queue where endpoint_name = 'f' order by id desc limit 3",
            ],
            logged_per_buffer: None,
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_cost_the_same_at_any_size_of_what_was_published() {
    check(
        "array['e1', 'e1', 'e1', 'e1', 'e1', 'e2', 'e2', 'e2', 'e4', 'd']",
        "array['e1']",
        &[
            "archive where endpoint_name = 'd' and event_type is null order by id limit 3",
            "archive where endpoint_name = 'd' and event_type is null order by id desc limit 3",
        ],
        Walking {
            questions: &[
                "queue where endpoint_name = 'd' order by id limit 3",
                "queue where endpoint_name = 'f' order by id limit 3",
                "queue where endpoint_name = 'f' order by id desc limit 3",
            ],
            logged_per_buffer: Some(8),
        },
    )
    .await;
}

/// How often this transaction has asked whether a message of the log may wait.
const ASKED: &str = "select coalesce(sum(calls), 0)::bigint
    from pg_stat_xact_user_functions
    where schemaname = 'postrider' and funcname = 'may_wait'";

/// As if anything might be left to every endpoint.
const ALL_NAMES: &str = "create or replace function postrider.left_names() returns text[]
    language sql stable security definer
    as 'select array_agg(e.name) from postrider.endpoints e'";

/// The most of them for three rows: of each part of the view it is asked until one waits.
const MOST_ASKED: i64 = 60;

/// `a` has messages that are left, `d` keeps up: who asks for `d` looks through none of what it was sent beside those.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_an_endpoint_that_keeps_up_does_not_look_through_what_it_was_sent() {
    let shop = Shop::open_migrated().await;
    let scene = SCENE
        .replace("{total}", &total().to_string())
        .replace("{kinds}", "array['a', 'a', 'a', 'a', 'a', 'a', 'd', 'd', 'd', 'b']")
        .replace("{left}", "array['a']");
    shop.psql("shop", &[], &scene).succeed();
    shop.psql("shop", &[], "vacuum analyze").succeed();
    let client = shop.client().await;
    client.batch_execute("set track_functions = 'all'").await.unwrap();
    let asked = async |direction: &str| {
        client.batch_execute("begin").await.unwrap();
        let sql = format!(
            "select id from postrider.queue where endpoint_name = 'd' order by id {direction} limit 3"
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        let asked: i64 = client.query_one(ASKED, &[]).await.unwrap().get(0);
        client.batch_execute("commit").await.unwrap();
        (ids, asked)
    };
    let (first, last) = (asked("").await, asked("desc").await);
    println!("asked {} and {} times", first.1, last.1);
    assert!(first.1.max(last.1) <= MOST_ASKED, "asked {} and {} times", first.1, last.1);
    // That is what the names are for: without them it finds the same, and takes long.
    client.batch_execute(ALL_NAMES).await.unwrap();
    for (direction, (ids, _)) in [("", first), ("desc", last)] {
        let (found, count) = asked(direction).await;
        assert_eq!((ids.len(), &found), (3, &ids));
        assert!(count > 5 * MOST_ASKED, "{direction}: asked {count} times");
    }
}

/// What became of 4,096 messages that were delivered one by one: a row of `done` each, in any order.
const TRICKLE: &str = "
    select postrider.create_endpoint('a', 'discard', '{}');
    select postrider.create_event_type('e'), postrider.subscribe('e', 'a');
    create table public.sent as
        select (n << 10) | ((n >> 6) % postrider.shard_count() * 16) as id, n, n % 2 = 0 as is_published
        from generate_series(4096::bigint, 8191) n;
    insert into postrider.message (id, xid, lane, priority, targets, endpoint_name, event_type, payload)
    select s.id, pg_current_xact_id(), s.id & 1023, 0,
        (select array_agg(p.id) from postrider.subscriptions p where (p.event_type is not null) = s.is_published),
        case when not s.is_published then 'a' end, case when s.is_published then 'e' end, to_jsonb(s.n)
    from public.sent s
    order by s.id;
    select setval('postrider.message_sequence', 8191);
    insert into postrider.done (bucket, run, at, offsets)
    select s.n >> 12, s.n >> 6 & 63, now(), int2send((s.n & 4095)::smallint)
    from public.sent s
    order by md5(s.n::text);";

/// So many messages are one after the other in a run, and have at most as many rows of `done`.
const RUN: i64 = 64;

/// How many rows of `done` this transaction has read.
const DONE_READ: &str = "select sum(seq_tup_read + idx_tup_fetch)::bigint
    from pg_stat_xact_user_tables
    where schemaname = 'postrider' and relname like 'done%'";

/// Who asks what became of a message reads the rows of the messages beside it, and not those of its whole bucket.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_delivered_one_by_one_is_found_as_cheaply() {
    let shop = Shop::open_migrated().await;
    shop.psql("shop", &[], TRICKLE).succeed();
    shop.psql("shop", &[], "vacuum analyze").succeed();
    let client = shop.client().await;
    let published = (4_096 + 2_048) << 10;
    let id: i64 = client
        .query_one(&format!("select min(id) from postrider.message where id > {published}"), &[])
        .await
        .unwrap()
        .get(0);
    client.batch_execute("set role postrider_application").await.unwrap();
    let mut wrong = String::new();
    // With how many rows each has, and the most buffers and rows of `done` that are read for it.
    for (question, rows, most_buffers, most_done) in [
        (format!("message_status({id})"), 1, 150, 2 * RUN),
        (format!("queue where id = {id}"), 0, 500, 4 * RUN),
        ("ended_ceiling()".to_owned(), 1, 150, 2 * RUN),
        // 36,600 buffers and 64,064 rows: of each message by itself, as many as a run has.
        ("archive order by id limit 500".to_owned(), 500, 500 * 80, 501 * 2 * RUN),
        ("archive order by id desc limit 500".to_owned(), 500, 500 * 80, 501 * 2 * RUN),
    ] {
        let sql =
            format!("explain (analyze, buffers, format json) select * from postrider.{question}");
        client.query_one(&sql, &[]).await.unwrap();
        client.batch_execute("begin").await.unwrap();
        let before: i64 = client.query_one(DONE_READ, &[]).await.unwrap().get(0);
        let plan: Value = client.query_one(&sql, &[]).await.unwrap().get(0);
        let done = client.query_one(DONE_READ, &[]).await.unwrap().get::<_, i64>(0) - before;
        client.batch_execute("commit").await.unwrap();
        let count = |field: &str| plan[0]["Plan"][field].as_u64().unwrap();
        let buffers = count("Shared Hit Blocks") + count("Shared Read Blocks");
        println!("{question}: {buffers} buffers, {done} rows of done");
        assert_eq!(count("Actual Rows"), rows, "{question}");
        if buffers > most_buffers || done > most_done {
            writeln!(wrong, "{question}: {buffers} buffers, {done} rows of done").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// 600 messages to 0 to 6 targets, three in ten of them sent to one endpoint, in four transactions, three of which were read,
/// with everything that can be on record of them, and the
/// first {recorded} parts all on record but for what was left; what is taken and not on record lies in the ranges that a checkpoint names.
const RANDOM: &str = "
    select setseed({seed});
    select postrider.create_endpoint('n' || n, 'discard', '{}') from generate_series(1, 6) n;
    select postrider.create_event_type('e');
    select postrider.subscribe('e', 'n' || n) from generate_series(1, 6) n;
    create table public.sent (
        id bigint, part integer, targets integer[], fate float, is_expiring boolean, endpoint_name text);
    insert into public.sent
    select (n << 10) | ((n >> 6) % postrider.shard_count() * 16), (n - 1) / 150,
        case
            when e.id is not null then array[e.direct_subscription_id]
            else (
                select array_agg(s.id order by s.id)
                from postrider.subscriptions s
                where s.event_type = 'e' and s.endpoint_id <= k.fan_out)
        end,
        random(), random() < 0.1, e.name
    from generate_series(1::bigint, 600) n
    cross join lateral (
        select floor(random() * 7 + n * 0)::integer, floor(random() * 20 + n * 0)::integer) k (fan_out, direct)
    left join postrider.endpoints e on e.name = 'n' || k.direct;
    do $do$
    begin
        for turn in 0..3 loop
            insert into postrider.message (
                id, xid, lane, priority, targets, endpoint_name, event_type, payload, expires_at)
            select s.id, pg_current_xact_id(), s.id & 1023, 0, coalesce(s.targets, '{}'),
                s.endpoint_name, case when s.endpoint_name is null then 'e' end, to_jsonb(s.id),
                case when s.is_expiring then now() + interval '1 day' end
            from public.sent s where s.part = turn;
            insert into postrider.heartbeat (
                slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
            values (0, gen_random_uuid(), now(), now(), pg_current_xact_id(), (turn + 1) * 150, '{}');
            commit;
        end loop;
    end $do$;
    select setval('postrider.message_sequence', 600);
    create table public.xid as
        select s.part, min(m.xid::text::bigint) as xid
        from public.sent s join postrider.message m using (id) group by 1;
    -- Of one target and in the third part: left to the lag. Of the fourth, only what was cancelled has ended.
    create table public.delivery as
        select s.id, t.target, s.part, s.fate,
            s.part = 3 or s.part = 2 and cardinality(s.targets) = 1 and not s.is_expiring as is_untouched
        from public.sent s cross join lateral unnest(s.targets) t (target);
    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select d.id, d.target, 1, 'cancelled' from public.delivery d where d.fate < 0.1;
    insert into postrider.deferred (message_id, target, endpoint_id, shard, run_at, message_created_at)
    select d.id, d.target, s.endpoint_id, (d.id & 1023) >> 4, now() + interval '1 hour', now()
    from public.delivery d join postrider.subscriptions s on s.id = d.target
    where not d.is_untouched and d.fate between 0.1 and 0.4 and (d.target + d.id) % 2 = 0;
    insert into postrider.partly_done (message_id, at, targets)
    select d.id, now(), array[d.target] from public.delivery d
    where not d.is_untouched and d.fate between 0.4 and 0.6 and d.target % 2 = 0;
    insert into postrider.done (bucket, run, at, offsets)
    select distinct d.id >> 22, d.id >> 16 & 63, now(), int2send((d.id >> 10 & 4095)::smallint)
    from public.delivery d where not d.is_untouched and (d.fate > 0.6 or d.part < {recorded});
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select 0, gen_random_uuid(), array_agg(s.shard), '3', array_agg(0::bigint),
        jsonb_build_array(jsonb_build_object('state', jsonb_build_object(
            'tail', jsonb_build_object('base', (select format('%s:%s:', x.xid, x.xid) from public.xid x where x.part = 3)),
            'lag', jsonb_build_object(
                'position', jsonb_build_object('base', (select format('%s:%s:', x.xid, x.xid) from public.xid x where x.part = 2)),
                'skipped', (
                    select jsonb_object_agg(d.target, jsonb_build_object(
                        'base', (select format('%s:%s:', x.xid, x.xid) from public.xid x where x.part = 2)))
                    from public.delivery d where d.part = 2 and d.is_untouched),
                'spares_expiring', true,
                'last', (select max(d.id) from public.delivery d where d.part = 2 and d.is_untouched)),
            'done', '[{\"base\": \"3:3:\"}]'::jsonb,
            'open', (
                select coalesce(jsonb_agg(jsonb_build_array(r.first, r.last) order by r.first), '[]')
                from (
                    select min(d.id) as first, max(d.id) as last
                    from public.delivery d
                    where not d.is_untouched and d.fate <= 0.6 and d.part >= {recorded}
                    group by d.id >> 17
                ) r))))
    from postrider.shard s;";

/// What the queue shows, asked for each message by itself.
const MODEL: &str = "
    select d.message_id as id, d.target, e.name, true as waits
    from postrider.deferred d join postrider.endpoints e on e.id = d.endpoint_id
    union all
    select m.id, t.target, e.name, false
    from postrider.message m
    cross join lateral unnest(m.targets) t (target)
    join postrider.subscriptions s on s.id = t.target
    join postrider.endpoints e on e.id = s.endpoint_id
    where not postrider.is_deferred(m.id, t.target)
    and not postrider.has_ended(m.id, t.target)";

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_shows_what_a_look_at_each_message_shows() {
    check_random(1).await;
}

/// Then what was left lies before all of that, and is looked for by itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_shows_what_was_left_long_ago() {
    check_random(3).await;
}

async fn check_random(recorded: i32) {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::f64(), |s| s.parse().unwrap());
    println!("SEED={seed}");
    let shop = Shop::open_migrated().await;
    let scene = RANDOM.replace("{seed}", &seed.to_string());
    shop.psql("shop", &[], &scene.replace("{recorded}", &recorded.to_string())).succeed();
    let client = shop.client().await;
    let text = "select coalesce(string_agg(q::text, E'\\n' order by q.id, q.target), '')";
    let model: String = client
        .query_one(&format!("{text} from ({MODEL}) q (id, target, name, waits)"), &[])
        .await
        .unwrap()
        .get(0);
    let shown = "select q.id, q.target, q.endpoint_name, q.next_retry_at is not null from postrider.queue q";
    let queue: String = client
        .query_one(&format!("{text} from ({shown}) q (id, target, name, waits)"), &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(queue, model);
    assert!(model.lines().count() > 200, "{model}");
    let is_left_apart = "select (postrider.log_ranges())[2] < (postrider.log_ranges())[3]";
    assert_eq!(shop.ask::<bool>(is_left_apart).await, recorded == 3);
    let direct_and_left = "select count(*) from public.delivery d join public.sent s using (id)
        where s.endpoint_name is not null and d.part = 2 and d.is_untouched";
    assert!(shop.ask::<i64>(direct_and_left).await > 0, "none that was sent is left to the lag");
    for direction in ["", "desc"] {
        let sql = format!("select id from postrider.queue order by id {direction} limit 200");
        let read: Vec<i64> =
            client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        let sql = format!("select id from ({MODEL}) m order by id {direction} limit 200");
        let expected: Vec<i64> =
            client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        assert_eq!(read, expected);
    }
    // What is neither waits nor has ended is lost to both.
    let sql =
        "select (select count(*) from postrider.queue) + (select count(*) from postrider.archive),
        (select sum(cardinality(m.targets)) from postrider.message m)";
    let row = client.query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1));
}

/// No target of theirs has a name any more, and no dispatcher has read them.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_for_an_endpoint_that_is_gone_is_shown_until_it_ends() {
    let shop = Shop::open_to_receivers().await;
    for name in ["gone", "kept"] {
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'discard', '{{}}')"))
            .await;
        shop.execute(&format!("select postrider.pause_endpoint('{name}')")).await;
    }
    let dispatcher = shop.serve().await;
    for name in ["gone", "kept"] {
        shop.send_many(name, 50).await;
    }
    let is_left = "select count(distinct t.target) = 2
        from postrider.checkpoint c
        cross join lateral jsonb_path_query(c.state, '$[*].state.lag.skipped') s (targets)
        cross join lateral jsonb_object_keys(s.targets) t (target)";
    shop.until(is_left).await;
    dispatcher.stop(LONG).await.unwrap();
    let waiting = "select count(*) from postrider.queue";
    assert_eq!(shop.ask::<i64>(waiting).await, 100);
    shop.execute("select postrider.drop_endpoint('gone', p_force => true)").await;
    assert_eq!(shop.ask::<i64>(waiting).await, 100);
    let of_gone = "select count(*) from postrider.queue where endpoint_name = 'gone'";
    assert_eq!(shop.ask::<i64>(of_gone).await, 50);
    let _dispatcher = shop.serve().await;
    shop.until("select count(*) = 50 from postrider.dead_letter").await;
    assert_eq!(shop.ask::<i64>(of_gone).await, 0);
    shop.execute("select postrider.resume_endpoint('kept')").await;
    shop.until("select not exists (select from postrider.queue)").await;
}

/// Who asks for ids reads no payload, however large.
#[tokio::test(flavor = "multi_thread")]
async fn payloads_that_nobody_asks_for_are_not_read() {
    let shop = Shop::open_migrated().await;
    // Text that does not get shorter, so that it lies outside of its row.
    let large =
        "(select string_agg(md5(random()::text || k || n), '') from generate_series(1, 3200) k)";
    shop.psql(
        "shop",
        &[],
        &format!(
            "select postrider.create_endpoint(n, 'discard', '{{}}') from unnest(array['small', 'large']) n;
            select postrider.create_event_type(n) from unnest(array['small', 'large']) n;
            select postrider.subscribe(n, n) from unnest(array['small', 'large']) n;
            select count(postrider.send('small', to_jsonb(n::text))) from generate_series(1, 60) n;
            select count(postrider.publish('small', to_jsonb(n::text))) from generate_series(1, 60) n;
            select count(postrider.send('large', to_jsonb({large}))) from generate_series(1, 60) n;
            select count(postrider.publish('large', to_jsonb({large}))) from generate_series(1, 60) n;
            insert into postrider.deferred (
                message_id, target, endpoint_id, shard, run_at, retry_count, message_created_at)
            select m.id, m.targets[1], s.endpoint_id, m.lane >> 4, now() + interval '1 hour', 1, m.created_at
            from postrider.message m
            join postrider.subscriptions s on s.id = m.targets[1]
            where (m.id >> 10) % 6 = 0;
            insert into postrider.done (bucket, at, offsets)
            select m.id >> 22, now(), string_agg(int2send((m.id >> 10 & 4095)::smallint), ''::bytea)
            from postrider.message m
            where (m.id >> 10) % 6 in (1, 2, 3)
            group by 1;
            vacuum analyze"
        ),
    )
    .succeed();
    let client = shop.client().await;
    for view in ["queue", "archive"] {
        let mut buffers = Vec::new();
        for endpoint in ["small", "large"] {
            let sql = format!(
                "explain (analyze, buffers, format json)
                select id, status, target from postrider.{view}
                where endpoint_name = '{endpoint}' order by id limit 50"
            );
            // The second time, when the session knows its catalogs.
            client.query_one(&sql, &[]).await.unwrap();
            let plan: Value = client.query_one(&sql, &[]).await.unwrap().get(0);
            let count = |field: &str| plan[0]["Plan"][field].as_u64().unwrap();
            assert_eq!(count("Actual Rows"), 50, "{view} {endpoint}");
            buffers.push(count("Shared Hit Blocks") + count("Shared Read Blocks"));
        }
        println!("{view}: {buffers:?} buffers for small and for large payloads");
        // A payload of 100 kB has 13 pages of its own, and an index that leads to them.
        assert!(buffers[1] < buffers[0] + 50 * 13, "{view}: {buffers:?}");
    }
}
