//! Installing and upgrading the schema, through the program.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::shop::{Run, Shop, pulse::Pulse, run, serving::LONG};
use postrider_store::{
    connect::{Connector, DatabaseUrl},
    migrate::{self, SchemaError},
};
use postrider_testkit::receiver::{Behaviour, Receiver};
use postrider_transport::options_as_json;
use tokio::task::JoinHandle;

/// What the names of the roles end with.
const KINDS: [&str; 7] =
    ["admin", "application", "consumer", "monitor", "operator", "producer", "worker"];
/// Whoever is held up by a migration, which waits for a lock for much less at a time, is not held up for so long while
/// nothing stands still.
const LONGEST_WAIT: Duration = Duration::from_secs(4);

async fn check(url: &str) -> Result<(), SchemaError> {
    let connector = Connector::new(&DatabaseUrl::new(url), None, "test").unwrap();
    migrate::check(&connector.connect().await.unwrap().client, &options_as_json()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn installing_twice_and_eight_at_once_is_installing_once() {
    let shop = Shop::open().await;
    let first = shop.run(&["migrate", "--shards", "8", "--json"]).json();
    assert_eq!(first["shards"], 8);
    assert_ne!(first["applied"].as_array().unwrap().len(), 0);
    let dump = shop.dump("shop");
    shop.run(&["migrate"]).succeed();
    let again = shop.run(&["migrate", "--shards", "8", "--json"]).json();
    assert_eq!((&again["shards"], again["applied"].as_array().unwrap().len()), (&8.into(), 0));
    assert_eq!(dump, shop.dump("shop"));
    check(&shop.url()).await.unwrap();

    shop.postgres.create_database("busy").await.unwrap();
    let url = shop.postgres.url_for("busy");
    let runs = std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| run(&url, &["migrate", "--shards", "8", "--json"], ""));
        let threads: Vec<_> = (0..8).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().json()).collect::<Vec<_>>()
    });
    let applied = runs.iter().filter(|run| !run["applied"].as_array().unwrap().is_empty()).count();
    assert_eq!(applied, 1, "{runs:?}");
    assert_eq!(dump, shop.dump("busy"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_tests_begin_with_is_what_migrate_makes() {
    let (copied, made) = (Shop::open_migrated().await, Shop::open().await);
    made.run(&["migrate"]).succeed();
    assert_eq!(copied.dump("shop"), made.dump("shop"));
    let again = copied.run(&["migrate", "--json"]).json();
    assert_eq!(again["applied"].as_array().unwrap().len(), 0, "{again}");
    check(&copied.url()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_script_does_what_migrate_does() {
    let shop = Shop::open().await;
    shop.run(&["migrate", "--shards", "3"]).succeed();
    let script = shop.run(&["migrate", "--print", "--shards", "3"]).succeed().stdout;
    shop.postgres.create_database("printed").await.unwrap();
    for _ in 0..2 {
        let psql = shop.psql("printed", &["-1", "-f", "-"], &script).succeed();
        assert_eq!((psql.stdout.as_str(), psql.stderr.as_str()), ("", ""));
    }
    assert_eq!(shop.dump("shop"), shop.dump("printed"));
    check(&shop.postgres.url_for("printed")).await.unwrap();
    shop.run(&["migrate"]).succeed();

    shop.postgres.create_database("piecemeal").await.unwrap();
    let psql = shop.psql("piecemeal", &["-f", "-"], &script);
    psql.fail(3, "this script has to run in one transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_owns_the_database_is_enough() {
    let shop = Shop::open().await;
    let sql = "create role keeper login; alter database shop owner to keeper";
    shop.postgres.execute("postgres", sql).await.unwrap();
    let url = shop.postgres.url_as("keeper", "shop");

    let first = run(&url, &["migrate"], "").succeed();
    assert!(first.stderr.contains("may not create roles"), "{first:?}");
    assert!(first.stderr.contains("create role postrider_admin nologin"), "{first:?}");
    check(&url).await.unwrap();
    let endpoint = ["endpoint", "create", "a", "--protocol", "http", "--set", "url=http://a.test/"];
    run(&url, &endpoint, "").succeed();
    run(&url, &["send", "a", "{}"], "").succeed();
    run(&url, &["status"], "").succeed();

    // Said once: it is the same with every migrate.
    assert_eq!(run(&url, &["migrate"], "").succeed().stderr, "");

    // What the notice says helps, and a superuser who migrates leaves the owner in place.
    for kind in KINDS {
        let sql = format!("create role postrider_{kind} nologin");
        shop.postgres.execute("postgres", &sql).await.unwrap();
    }
    let second = run(&url, &["migrate"], "").succeed();
    assert_eq!(second.stderr, "");
    shop.run(&["migrate"]).succeed();
    let sql = "select count(*) from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace and p.proowner <> 'keeper'::regrole";
    let foreign: i64 = shop.client().await.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(foreign, 0);
    // Nobody loses anything for roles that cannot be made.
    let change = run(&url, &["migrate", "--role-prefix", "books"], "");
    change.fail(1, "role \"keeper\" may not create the roles of the prefix \"books\"");
    let sql = "select has_schema_privilege('postrider_admin', 'postrider', 'usage')";
    assert!(shop.ask::<bool>(sql).await);

    let sql = "create role stranger login; create role guest login;
        grant create on database shop to guest";
    shop.postgres.execute("postgres", sql).await.unwrap();
    let stranger = shop.postgres.url_as("stranger", "shop");
    run(&stranger, &["migrate"], "").fail(1, "belongs to role \"keeper\", not to \"stranger\"");
    let refused = check(&stranger).await.unwrap_err();
    assert!(matches!(refused, SchemaError::NotOwner { .. }), "{refused}");
    shop.postgres.create_database("other").await.unwrap();
    let stranger = shop.postgres.url_as("stranger", "other");
    run(&stranger, &["migrate"], "").fail(1, "grant create on database other to stranger");
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_a_cluster_may_have_roles_of_their_own() {
    let shop = Shop::open_migrated().await;
    shop.postgres.create_database("books").await.unwrap();
    let books = shop.postgres.url_for("books");
    let client = shop.postgres.connect_to("books").await.unwrap();
    // Who may anything in books, by the schema and what is in it.
    let entitled = async || -> Vec<String> {
        let sql = "select distinct r.rolname::text from pg_roles r
            where r.rolname ~ '^(postrider|books|tomes)_'
            and (has_schema_privilege(r.oid, 'postrider', 'usage')
                or exists (select from pg_proc p where p.pronamespace = 'postrider'::regnamespace
                    and has_function_privilege(r.oid, p.oid, 'execute'))
                or exists (select from pg_class c where c.relnamespace = 'postrider'::regnamespace
                    and c.relkind in ('r', 'p', 'v')
                    and has_any_column_privilege(r.oid, c.oid, 'select, insert, update')))
            order by 1";
        client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    };
    let roles_of = |prefix: &str| KINDS.map(|kind| format!("{prefix}_{kind}"));

    run(&books, &["migrate", "--role-prefix", "books"], "").succeed();
    assert_eq!(entitled().await, roles_of("books"));
    // It is remembered, also by the printed script, and roles of a former prefix lose what they had.
    run(&books, &["migrate"], "").succeed();
    let script = shop.run(&["migrate", "--print"]).succeed().stdout;
    shop.psql("books", &["-1", "-f", "-"], &script).succeed();
    assert_eq!(entitled().await, roles_of("books"));
    run(&books, &["migrate", "--role-prefix", "tomes"], "").succeed();
    assert_eq!(entitled().await, roles_of("tomes"));

    // Who may everything here may nothing there.
    shop.execute("create role ours login in role postrider_admin").await;
    shop.execute("create role theirs login in role tomes_admin").await;
    let url = |role: &str, database: &str| shop.postgres.url_as(role, database);
    for (role, own, other) in [("ours", "shop", "books"), ("theirs", "books", "shop")] {
        run(&url(role, own), &["endpoint", "list"], "").succeed();
        let refused = run(&url(role, other), &["endpoint", "list"], "");
        refused.fail(1, "permission denied for schema postrider");
    }
    for prefix in ["", "Shop", "1a", "pg_shop", "a-b", "a\"b", &"a".repeat(49)] {
        run(&books, &["migrate", "--role-prefix", prefix], "").fail(2, "--role-prefix");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_migrated_is_refused_and_left_as_it_was() {
    let shop = Shop::open().await;
    shop.run(&["migrate", "--shards", "65"]).fail(2, "65 is not in 1..=64");
    let script = shop.run(&["migrate", "--print"]).succeed().stdout;
    let wrong = script.replace("postrider.shard_count = ''", "postrider.shard_count = '65'");
    let psql = shop.psql("shop", &["-1", "-f", "-"], &wrong);
    psql.fail(3, "the number of shards must be between 1 and 64, got 65");

    shop.run(&["migrate"]).succeed();
    let dump = shop.dump("shop");
    let other = shop.run(&["migrate", "--shards", "4"]);
    other.fail(1, "database \"shop\" was installed with 16 shards");

    shop.execute("update postrider.migration set checksum = 'other' where version = 1").await;
    shop.run(&["migrate"]).fail(1, "migration 0001_log was changed after it was applied");
    let sql = "delete from postrider.migration;
        insert into postrider.migration (version, name, checksum) values (999, '0999_next', '')";
    shop.execute(sql).await;
    shop.run(&["migrate"]).fail(1, "has the migration 0999_next");
    shop.execute("delete from postrider.migration").await;
    shop.execute("update postrider.installation set product_version = '99.0.0-rc.1'").await;
    shop.run(&["migrate"]).fail(1, "was migrated by Postrider 99.0.0-rc.1, this is");
    assert_eq!(dump, shop.dump("shop"));

    let sql = "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'
        template template0";
    shop.postgres.execute("postgres", sql).await.unwrap();
    run(&shop.postgres.url_for("latin"), &["migrate"], "").fail(1, "Postrider needs UTF8");

    let standby = shop.postgres.standby().unwrap();
    let refused = run(&standby.url_for("shop"), &["migrate"], "");
    refused.fail(1, "database \"shop\" is a standby; run this on the primary");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_says_which_side_has_to_be_upgraded() {
    let shop = Shop::open().await;
    let missing = check(&shop.url()).await.unwrap_err().to_string();
    let expected =
        "the schema \"postrider\" is missing in database \"shop\"; run `postrider migrate`";
    assert_eq!(missing, expected);
    shop.execute("create schema postrider").await;
    assert_eq!(check(&shop.url()).await.unwrap_err().to_string(), expected);
    shop.run(&["send", "a", "{}"]).fail(3, "run `postrider migrate`");

    shop.run(&["migrate"]).succeed();
    check(&shop.url()).await.unwrap();
    shop.execute("update postrider.installation set fingerprint = 'another'").await;
    let outdated = check(&shop.url()).await.unwrap_err();
    assert!(matches!(outdated, SchemaError::Outdated { .. }), "{outdated}");
    let sql = "update postrider.installation set product_version = '99.0.0'";
    shop.execute(sql).await;
    check(&shop.url()).await.unwrap();
    let sql = "insert into postrider.migration (version, name, checksum) values (999, '0999', '')";
    shop.execute(sql).await;
    let newer = check(&shop.url()).await.unwrap_err();
    assert!(newer.to_string().ends_with("; upgrade this program"), "{newer}");
}

/// Whoever asks, with whatever rights, and whatever for.
#[tokio::test(flavor = "multi_thread")]
async fn every_command_says_the_same_of_a_wrong_schema() {
    const COMMANDS: [&str; 9] = [
        "serve",
        "status",
        "health",
        "metrics",
        "send a {}",
        "queue",
        "setting list",
        "tail",
        "worker --exec /bin/true",
    ];
    let shop = Shop::open().await;
    let check_all = async |state: &str| {
        let text = check(&shop.url()).await.unwrap_err().to_string();
        for command in COMMANDS {
            let arguments: Vec<&str> = command.split(' ').collect();
            let refused = shop.run(&arguments).fail(3, &text);
            assert_eq!(refused.stdout, "", "{state}: {command}");
        }
        text
    };
    check_all("nothing is installed").await;
    shop.run(&["migrate"]).succeed();
    let users = "create role producer login in role postrider_producer;
        create role consumer login in role postrider_consumer;
        create role worker login in role postrider_worker;
        create role app login in role postrider_application;
        create role monitor login in role postrider_monitor";
    shop.execute(users).await;
    for (state, change) in [
        ("another build", "update postrider.installation set fingerprint = 'another'"),
        (
            "a newer one",
            "insert into postrider.migration (version, name, checksum) values (999, '0999', '')",
        ),
    ] {
        shop.execute(change).await;
        let text = check_all(state).await;
        for (role, command) in [
            ("producer", "send a {}"),
            ("consumer", "consumer list"),
            ("worker", "worker --exec /bin/true"),
            ("app", "queue"),
            ("monitor", "health"),
        ] {
            let arguments: Vec<&str> = command.split(' ').collect();
            run(&shop.postgres.url_as(role, "shop"), &arguments, "").fail(3, &text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_setting_survives_and_an_unchanged_one_follows_the_default() {
    let shop = Shop::open_migrated().await;
    let sql = "update postrider.setting set value = '7', default_value = '7'
            where name = 'http_timeout';
        update postrider.setting set value = '8', default_value = '7', maximum = 9
            where name = 'http_connect_timeout'";
    shop.execute(sql).await;
    shop.run(&["migrate"]).succeed();
    let settings = shop.run(&["setting", "list", "--json"]).json();
    let setting = |name: &str| {
        let settings = settings.as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap().clone()
    };
    assert_eq!(setting("http_timeout")["value"], "10");
    assert_eq!(setting("http_connect_timeout")["value"], "8");
    assert_eq!(setting("http_connect_timeout")["default"], "5");
    assert_eq!(setting("http_connect_timeout")["maximum"], 300);
}

/// What others do in transactions that stay open, each in a session of its own.
const OPEN: [&str; 4] = [
    "select from postrider.queue; select from postrider.migration; select from postrider.installation",
    "update postrider.endpoints set config = config",
    "select postrider.set_setting('http_timeout', '11')",
    "select pg_advisory_lock(1886352244, k) from generate_series(1000, 1005) k",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_changes_nothing_waits_for_nobody() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    let mut sessions = Vec::new();
    for sql in OPEN {
        let session = shop.client().await;
        session.batch_execute(&format!("begin; {sql}")).await.unwrap();
        sessions.push(session);
    }
    let script = shop.run(&["migrate", "--print"]).succeed().stdout;
    shop.run(&["migrate"]).succeed();
    shop.psql("shop", &["-1", "-f", "-"], &script).succeed();
}

#[track_caller]
fn check_longest(longest: Duration, pulse: &Pulse) {
    let still = pulse.still();
    assert!(longest < LONGEST_WAIT + still, "{longest:?}, of which {still:?} may have been still");
}

/// Sends a message whenever the migration waits for that session, and waits until it is delivered. How many were
/// delivered before the migration has ended.
async fn deliver_beside(
    shop: &Shop,
    receiver: &Receiver,
    migration: &JoinHandle<Run>,
    holder: i32,
) -> usize {
    const LOOK: Duration = Duration::from_millis(10);
    let (sender, looker) = (shop.client().await, shop.client().await);
    sender.batch_execute("set lock_timeout = '1min'").await.unwrap();
    let waits = "select exists (
        select from pg_stat_activity a where $1 = any (pg_blocking_pids(a.pid)))";
    let before = receiver.accepted_count();
    let pulse = Pulse::of(shop).await;
    let (mut sent, mut delivered, mut longest) = (0, 0, Duration::ZERO);
    while !migration.is_finished() {
        if !looker.query_one(waits, &[&holder]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        let began = Instant::now();
        sender.batch_execute("select postrider.send('good', '{}')").await.unwrap();
        longest = longest.max(began.elapsed());
        sent += 1;
        receiver.wait_for_accepted(before + sent, LONG).await.unwrap();
        delivered += usize::from(!migration.is_finished());
    }
    check_longest(longest, &pulse);
    assert_eq!(receiver.request_count(), before + sent, "nothing comes twice");
    delivered
}

/// Migrates while that session holds something, and others read and send. How it ended.
async fn migrate_beside(shop: &Shop, receiver: &Receiver, holder: i32) -> Run {
    let pulse = Pulse::of(shop).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let (other, is_migrated) = (shop.client().await, Arc::clone(&is_over));
    // A migration goes on for ten seconds, and the others read all the time.
    let reading = tokio::spawn(async move {
        other.batch_execute("set lock_timeout = '1min'").await.unwrap();
        let (mut count, mut longest) = (0, Duration::ZERO);
        while !is_migrated.load(Ordering::Relaxed) {
            let began = Instant::now();
            other
                .batch_execute("select from postrider.queue; select from postrider.archive")
                .await
                .unwrap();
            longest = longest.max(began.elapsed());
            count += 1;
        }
        (count, longest)
    });
    let url = shop.url();
    let migration = tokio::task::spawn_blocking(move || run(&url, &["migrate"], ""));
    let delivered = deliver_beside(shop, receiver, &migration, holder).await;
    let run = migration.await.unwrap();
    is_over.store(true, Ordering::Relaxed);
    let (read, longest) = reading.await.unwrap();
    assert!(read > 0);
    check_longest(longest, &pulse);
    // It tries five times at least. Not each time is seen on a busy machine.
    assert!(delivered > 0, "none were delivered while it waited");
    run
}

/// As in a database that has not seen the migration 0020 yet, which locks the log, nor this build, whose views are others.
const PENDING: &str = "drop index postrider.message_direct_id;
    delete from postrider.migration where version = 20;
    update postrider.installation set fingerprint = 'another'";

/// Nothing of it has been done.
const IS_PENDING: &str = "select i.fingerprint = 'another'
        and to_regclass('postrider.message_direct_id') is null
        and not exists (select from postrider.migration m where m.version = 20)
    from postrider.installation i";

/// Who keeps a transaction open, what was done in it, and what a migration waits for there.
const HOLDS: [(&str, &str, &str); 3] = [
    ("report", "set role watcher; begin; select from postrider.queue", "postrider.queue"),
    ("sender", "begin; select postrider.send('good', '{}')", "postrider.message"),
    ("reader", "begin; select from postrider.fetch_messages('c', 1)", "postrider.message"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_held_up_names_the_holder_and_holds_up_nobody() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("good", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let owners = "select array_agg(distinct owner::text || epoch) from postrider.shard";
    let before: Vec<String> = shop.ask(owners).await;
    shop.execute("create role watcher login in role postrider_monitor").await;
    shop.execute("select postrider.create_consumer('c')").await;
    shop.send_many("good", 1).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select exists (select from postrider.peek_messages('c', 1))").await;
    shop.execute(PENDING).await;

    for (application, sql, held) in HOLDS {
        let session = shop.client().await;
        let open = format!("set application_name = '{application}'; {sql}");
        session.batch_execute(&open).await.unwrap();
        let pid: i32 = session.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
        let run = migrate_beside(&shop, &receiver, pid).await;
        let holder = format!(
            "pid {pid} (role \"postgres\", application \"{application}\", its transaction open since "
        );
        let run = run.fail(1, &holder).fail(1, &format!("holds {held}: nothing was changed"));
        println!("{}", run.stderr);
        assert!(shop.ask::<bool>(IS_PENDING).await, "{application}");
        assert_eq!(shop.ask::<Vec<String>>(owners).await, before, "the tenure is the same");
        session.batch_execute("rollback").await.unwrap();
    }
    shop.run(&["migrate"]).succeed();
    check(&shop.url()).await.unwrap();
    assert!(!shop.ask::<bool>(IS_PENDING).await);
    let delivered = receiver.accepted_count();
    shop.send_many("good", 1).await;
    receiver.wait_for_accepted(delivered + 1, LONG).await.unwrap();
}

/// What a dispatcher of the version before is writing has ended before the new fence counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_an_older_dispatcher_is_waited_for() {
    let shop = Shop::open().await;
    // As of the commit before the fence was a table.
    let script = migrate::script(&migrate::Choices::default(), &options_as_json());
    let end = script.find("-- sql/migrations/0003").unwrap();
    shop.psql("shop", &["-1", "-f", "-"], &script[..end]).succeed();
    let older = shop.client().await;
    older.batch_execute("set application_name = 'older'; begin").await.unwrap();
    older.batch_execute("select pg_advisory_xact_lock_shared(1886352244, 1000)").await.unwrap();
    let url = shop.url();
    let run = tokio::task::spawn_blocking(move || run(&url, &["migrate"], "")).await.unwrap();
    let run = run.fail(1, "(role \"postgres\", application \"older\", its transaction open since ");
    run.fail(1, "holds the fence of an older dispatcher: nothing was changed");
    let latest = "select max(m.version) from postrider.migration m";
    assert_eq!(shop.ask::<i32>(latest).await, 2);
    // What has begun to write by the end of it is behind the new fence as well.
    older.batch_execute("commit").await.unwrap();
    shop.run(&["migrate"]).succeed();
    check(&shop.url()).await.unwrap();
    older.batch_execute("begin").await.unwrap();
    let call = "select postrider.lost_shards(gen_random_uuid(), '{}', '{}')";
    older.batch_execute(call).await.unwrap();
    let holds = "select exists (select from pg_locks l
        where l.relation = 'postrider.fence'::regclass and l.mode = 'RowShareLock')";
    assert!(shop.ask::<bool>(holds).await);
}

/// The schema as it was before a migration, with functions, and without views that may need what is not there yet. A
/// setting of a kind that the migration 0026 makes known is of another kind until then.
async fn install_before(shop: &Shop, migration: u32) {
    let script = migrate::script(&migrate::Choices::default(), &options_as_json());
    let is_wanted = |step: &&str| match step.split_once("migrations/") {
        Some(("", rest)) => rest[..4].parse::<u32>().unwrap() < migration,
        _ if step.starts_with("views/") => step.starts_with("views/partitions"),
        // They take what a table holds that is not there yet.
        _ if step.starts_with("functions/") && step.contains("postrider.schedule") => false,
        _ => !step.starts_with("grants"),
    };
    let mut steps = script.split("\n-- sql/");
    let heading = steps.next().unwrap().to_owned();
    let steps = steps.filter(is_wanted).map(|step| format!("\n-- sql/{step}"));
    let mut script = heading + &steps.collect::<String>();
    if migration <= 34 {
        script = script.replace("e.has_limit", "e.config ? 'max_queue_size'");
        let none = "from (select 0, 0::bigint where false) f (endpoint_id, size_limit)";
        script = script.replace("from postrider.full_endpoint f", none);
    }
    if migration <= 26 {
        script = script.replace("'uri', null", "'name', null");
    }
    if migration <= 22 {
        let none = "from (select 0::bigint, 0::bigint) g (after_number, last_number)";
        script = script.replace("from postrider.number_gap g", none);
    }
    shop.psql("shop", &["-1", "-f", "-"], &script).succeed();
    shop.execute("update postrider.installation set fingerprint = 'another'").await;
}

/// The indexes of partitions that the migration 0020 makes a part of its own.
const BUILT: &str = "select coalesce(jsonb_agg(i.indexrelid::bigint order by i.indexrelid), '[]')
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where c.relname ~ '^message_.*_(direct_id|published_kinds)$'
    and i.indisvalid";

/// Beside a sender who never waits for long, and a transaction that has read the log and stays open.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_of_the_log_are_built_beside_senders() {
    let shop = Shop::open().await;
    install_before(&shop, 20).await;
    let reference = Shop::open_migrated().await;
    let columns: String = reference
        .ask(
            "select string_agg(format('null::%s as %I', format_type(a.atttypid, a.atttypmod), a.attname),
                ', ' order by a.attnum)
            from pg_attribute a where a.attrelid = 'postrider.queue'::regclass and a.attnum > 0",
        )
        .await;
    // What was there and is not any more, and others' things that hang on the view.
    shop.execute(&format!(
        "create function postrider.done_map() returns text language sql as $$ select 'x' $$;
        create view postrider.queue as select {columns} where postrider.done_map() = 'x';
        create role reporter;
        grant select on postrider.queue to reporter;
        create view public.report as select q.id, q.status from postrider.queue q;
        select postrider.create_endpoint('a', 'discard', '{{}}')"
    ))
    .await;
    let stranger = shop.client().await;
    stranger.batch_execute("begin; select from postrider.message").await.unwrap();

    let pulse = Pulse::of(&shop).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let (sender, is_migrated) = (shop.client().await, Arc::clone(&is_over));
    let sending = tokio::spawn(async move {
        sender.batch_execute("set lock_timeout = '1min'").await.unwrap();
        let mut count: i64 = 0;
        let mut longest = Duration::ZERO;
        while !is_migrated.load(Ordering::Relaxed) {
            let began = Instant::now();
            sender.batch_execute("select postrider.send('a', '{}')").await.unwrap();
            longest = longest.max(began.elapsed());
            count += 1;
        }
        println!("{count} were sent, the longest send took {longest:?}");
        (count, longest)
    });
    let migrating = |url: String| {
        tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            (run(&url, &["migrate"], ""), began.elapsed())
        })
    };
    let runs = [shop.url(), shop.url()].map(migrating);
    // What is installed while senders wait takes as long as this machine needs: somewhere else, beside it.
    shop.postgres.create_database("control").await.unwrap();
    let control = migrating(shop.postgres.url_for("control"));
    let partitions: i64 = shop
        .ask("select count(*) from pg_partition_tree('postrider.message') t where t.isleaf")
        .await;
    shop.until(&format!("select jsonb_array_length(({BUILT})) = 2 * {partitions}")).await;
    let built: serde_json::Value = shop.ask(BUILT).await;
    let latest = "select max(m.version) from postrider.migration m";
    assert_eq!(shop.ask::<i32>(latest).await, 19, "the stranger is in the way");
    stranger.batch_execute("commit").await.unwrap();
    for run in runs {
        run.await.unwrap().0.succeed();
    }
    is_over.store(true, Ordering::Relaxed);
    let (sent, longest) = sending.await.unwrap();
    assert!(sent > 0);
    let (control, installed) = control.await.unwrap();
    control.succeed();
    check_longest(longest.saturating_sub(installed), &pulse);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, sent);
    check(&shop.url()).await.unwrap();
    // They are those that the migration has, and no others were built.
    let parts: serde_json::Value = shop
        .ask(
            "select jsonb_agg(t.relid::oid::bigint order by t.relid::oid)
            from unnest('{postrider.message_direct_id,postrider.message_published_id}'::regclass[]) i (id)
            cross join pg_partition_tree(i.id) t
            where t.isleaf",
        )
        .await;
    assert_eq!(parts, built);
    assert!(
        shop.ask::<bool>("select has_table_privilege('reporter', 'postrider.queue', 'select')")
            .await
    );
    assert_eq!(shop.ask::<i64>("select count(*) from public.report").await, sent);
}

/// As when `postrider migrate` was stopped while it built.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_not_finished_is_built_anew() {
    let shop = Shop::open().await;
    install_before(&shop, 20).await;
    shop.execute(
        "create index message_default_direct_id on postrider.message_default (created_at);
        update pg_index set indisvalid = false
        where indexrelid = 'postrider.message_default_direct_id'::regclass",
    )
    .await;
    shop.run(&["migrate"]).succeed();
    let invalid = "select count(*) from pg_index i where not i.indisvalid";
    assert_eq!(shop.ask::<i64>(invalid).await, 0);
    let definition: String =
        shop.ask("select pg_get_indexdef('postrider.message_default_direct_id'::regclass)").await;
    assert!(definition.contains("(id) WHERE (endpoint_name IS NOT NULL)"), "{definition}");
}
