//! The command line: results, texts and exit codes.

use std::collections::BTreeSet;

use crate::shop::{Shop, run};
use serde_json::{Value, json};

const CREATE: [&str; 7] =
    ["endpoint", "create", "orders", "--protocol", "http", "--set", "url=http://a.test/"];

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_what_went_wrong() {
    let shop = Shop::open().await;
    shop.run(&["nonsense"]).fail(2, "unrecognized subcommand");
    shop.run(&["send", "a"]).fail(2, "PAYLOAD");
    shop.run(&["dlq", "redrive"]).fail(2, "required");
    shop.run(&["dlq", "redrive", "1", "--all"]).fail(2, "cannot be used with");
    shop.run(&["status", "--log-format", "xml"])
        .fail(2, "log_format must be text or json, got xml");
    shop.run(&["serve", "--max-in-flight", "0"])
        .fail(2, "max_in_flight must be between 1 and 65536");
    shop.run(&["status", "--database-url", "nonsense"]).fail(2, "database_url is neither");
    run("", &["status"], "").fail(2, "database_url is required");
    shop.run(&["status"]).fail(3, "run `postrider migrate`");
    run("postgres://postgres:s3cret@127.0.0.1:1/shop", &["status"], "")
        .fail(3, "could not connect to database \"shop\" on 127.0.0.1:1 as role \"postgres\"");
    run(&shop.postgres.url_for("nowhere"), &["migrate"], "").fail(3, "does not exist");
    shop.run(&["serve"]).fail(3, "the schema \"postrider\" is missing in database \"shop\"");
    shop.run(&["migrate"]).succeed();
    shop.run(&["send", "a", "1"]).fail(1, "Endpoint 'a' does not exist");
    let failure = shop.run(&["send", "a", "1", "--json"]).fail(1, "");
    let failure: Value = serde_json::from_str(&failure.stderr).unwrap();
    assert_eq!(failure, json!({"error": "Endpoint 'a' does not exist"}));
    shop.run(&["--help"]).succeed();
    shop.run(&["endpoint", "--help"]).succeed();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_sent_with_their_options() {
    let shop = Shop::open_migrated().await;
    shop.run(&CREATE).succeed();
    let id = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
    let options = ["--header", "x-a=b=c", "--correlation-id", id, "--expires-in", "10m", "--json"];
    let arguments = [&["send", "orders", "{\"n\": 1}"][..], &options].concat();
    let first = shop.run(&arguments).json()["id"].as_i64().unwrap();
    shop.run_with_input(&["send", "orders", "-"], "{\"n\": 2}\n").succeed();
    let batch = "{\"n\": 3}\n\n{\"n\": 4}\n";
    let batch = shop.run_with_input(&["send", "orders", "--batch", "-", "--json"], batch).json();
    assert_eq!((batch["count"].as_i64(), batch["ids"].as_array().unwrap().len()), (Some(2), 2));

    let client = shop.client().await;
    let sql = "select headers, correlation_id::text, expires_at - created_at = '10 min', payload
        from postrider.message where id = $1";
    let row = client.query_one(sql, &[&first]).await.unwrap();
    assert_eq!(row.get::<_, Value>(0), json!({"x-a": "b=c"}));
    assert_eq!((row.get::<_, &str>(1), row.get::<_, bool>(2)), (id, true));
    assert_eq!(row.get::<_, Value>(3), json!({"n": 1}));

    let broken = shop.run_with_input(&["send", "orders", "--batch", "-"], "{}\n{\"n\"\n");
    broken.fail(2, "-, line 2: ");
    shop.run(&["send", "orders", "{"]).fail(2, "the payload: ");
    shop.run(&["send", "orders", "{}", "--header", "x"]).fail(2, "expected NAME=VALUE");
    shop.run(&["send", "orders", "{}", "--expires-in", "soon"]).fail(2, "30s, 10m");
    let sql = "select string_agg(payload ->> 'n', ' ' order by id) from postrider.message";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, &str>(0), "1 2 3 4");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_all_or_nothing() {
    let shop = Shop::open_migrated().await;
    shop.run(&CREATE).succeed();
    let lines: String = (0..2_500).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let file = shop.postgres.socket_dir().join("batch.jsonl");
    let arguments = ["send", "orders", "--batch", file.to_str().unwrap(), "--json"];
    std::fs::write(&file, format!("{lines}nonsense\n")).unwrap();
    shop.run(&arguments).fail(2, "line 2501");
    std::fs::write(&file, &lines).unwrap();
    assert_eq!(shop.run(&arguments).json()["count"], 2_500);
    let sql = "select count(*), count(distinct id) from postrider.message";
    let row = shop.client().await.query_one(sql, &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (2_500, 2_500));
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_are_managed() {
    let shop = Shop::open_migrated().await;
    let none = shop.run(&["endpoint", "list"]).succeed();
    assert_eq!(none.stdout, "There are no endpoints.\n");
    let options = [
        "--set",
        "concurrency=7",
        "--set",
        "headers.x-a=s3cret",
        "--retry-policy",
        "{\"max_retries\": 2}",
    ];
    let created = shop.run(&[&CREATE[..], &options, &["--json"]].concat()).json();
    assert_eq!(created["name"], "orders");
    shop.run(&CREATE).fail(1, "Endpoint 'orders' already exists");
    let list = shop.run(&["endpoint", "list", "--json"]).json();
    assert_eq!(list[0]["config"], json!({"url": "http://a.test/", "concurrency": 7}));
    assert_eq!(list[0]["retry_policy"], json!({"max_retries": 2}));

    let alter = |options: &[&str]| shop.run(&[&["endpoint", "alter", "orders"], options].concat());
    alter(&["--set", "timeout_seconds=5", "--unset", "concurrency"]).succeed();
    let show = shop.run(&["endpoint", "show", "orders", "--json"]).json();
    assert_eq!(show["config"], json!({"url": "http://a.test/", "timeout_seconds": 5}));
    let template = "header_templates.x-type={event_type}";
    alter(&["--set", template]).succeed();
    let show = shop.run(&["endpoint", "show", "orders", "--json"]).json();
    assert_eq!(show["config"]["header_templates"], json!({"x-type": "{event_type}"}));
    alter(&["--unset", "header_templates"]).succeed();
    alter(&["--set", "timeout_seconds=soon"]).fail(2, "config.timeout_seconds must be an integer");
    alter(&["--set", "headers.x-b=c"]).fail(2, "headers is secret");
    alter(&[]).fail(2, "nothing to change");
    alter(&["--config-json", "{"]).fail(2, "--config-json: ");
    alter(&["--unset", "headers", "--retry-policy", "null"]).succeed();
    let sql =
        "select (select count(*) from postrider.endpoint_secret s where s.config ? 'headers'),
            retry_policy is null
        from postrider.endpoints";
    let row = shop.client().await.query_one(sql, &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1)), (0, true));
    alter(&["--config-json", "{\"url\": \"http://b.test/\"}"]).succeed();

    let disabled = shop.run(&["endpoint", "disable", "orders", "--json"]).json();
    assert_eq!(disabled, json!({"name": "orders", "enabled": false, "changed": true}));
    let list = shop.run(&["endpoint", "list"]).succeed().stdout;
    let lines: Vec<_> = list.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(lines, ["NAME", "orders"]);
    assert!(!list.contains("s3cret"));
    shop.run(&["endpoint", "enable", "orders"]).succeed();
    shop.run(&["endpoint", "drop", "orders"]).fail(2, "There is no terminal on which to ask");
    shop.run(&["endpoint", "show", "orders"]).succeed();
    shop.run(&["endpoint", "drop", "orders", "--yes"]).succeed();
    shop.run(&["endpoint", "show", "orders"]).fail(1, "Endpoint 'orders' does not exist");
    let wrong = ["endpoint", "create", "x", "--protocol", "htp", "--set", "url=http://a.test/"];
    shop.run(&wrong).fail(2, "unknown protocol `htp`");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_managed() {
    let shop = Shop::open_migrated().await;
    shop.run(&["setting", "set", "http_timeout", "20"]).succeed();
    assert_eq!(shop.run(&["setting", "get", "http_timeout"]).succeed().stdout, "20\n");
    shop.run(&["setting", "set", "http_timeout", "-1"]).fail(2, "between 1 and 300 s, got '-1'");
    shop.run(&["setting", "reset", "http_timeout"]).succeed();
    let list = shop.run(&["setting", "list"]).succeed().stdout;
    assert!(
        list.lines().any(|line| line.starts_with("http_timeout ") && line.contains("1 to 300"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_dead_letters_are_shown_and_put_back() {
    let shop = Shop::open_migrated().await;
    shop.run(&CREATE).succeed();
    let status = shop.run(&["status"]).succeed().stdout;
    assert!(status.contains("no dispatcher is running"), "{status}");
    assert!(status.contains("0 of 16 shards have a live dispatcher"), "{status}");
    assert!(status.contains("Nothing is pending"), "{status}");

    let sql = "select postrider.send_batch('orders', array['{\"n\": 1}', '{\"n\": 2}', '{\"n\": 3}']::jsonb[]);
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, m.targets[1], 1, 0, now(), m.created_at
        from postrider.message m;
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
            message_created_at, priority, payload)
        select d.message_id, d.target, 1, 'orders', 'rejected', 0, E'[PERMANENT] \\x1b[2J 400', now(),
            0, '{\"n\": 1}'
        from postrider.deferred d
        where d.message_id > (select min(message_id) from postrider.deferred);
        delete from postrider.deferred d
        where d.message_id > (select min(message_id) from postrider.deferred)";
    shop.execute(sql).await;
    let other = shop.client().await;
    other.batch_execute("begin; select postrider.send('orders', '{}')").await.unwrap();
    let status = shop.run(&["status", "--json"]).json();
    let endpoint = &status["endpoints"][0];
    assert_eq!(
        (&endpoint["endpoint_name"], &endpoint["pending_messages"], &status["dead_letter_count"]),
        (&json!("orders"), &json!(3), &json!(2))
    );
    let health = status["health"].as_array().unwrap();
    assert_eq!(health.len(), 11);
    let is_named = |component: &Value| {
        component["details"].as_str().is_some_and(|details| details.contains("idle in transaction"))
    };
    assert!(health.iter().any(is_named), "{status}");
    let status = shop.run(&["status"]).succeed().stdout;
    assert!(status.contains("ENDPOINT NAME  ENABLED"), "{status}");

    let list = shop.run(&["dlq", "list", "--endpoint", "orders"]).succeed().stdout;
    assert!(list.contains("\\u{1b}[2J 400"), "{list}");
    assert_eq!(list.lines().count(), 3);
    let newest = shop.run(&["dlq", "list", "--limit", "1", "--json"]).json();
    let id = newest[0]["id"].to_string();
    assert_eq!(shop.run(&["dlq", "show", &id, "--json"]).json()["payload"], json!({"n": 1}));
    shop.run(&["dlq", "redrive", &id]).succeed();
    shop.run(&["dlq", "redrive", &id]).fail(1, "has been redriven before");
    shop.run(&["dlq", "redrive", "99"]).fail(1, "Dead letter 99 does not exist");
    shop.run(&["dlq", "show", "99"]).fail(1, "Dead letter 99 does not exist");
    let redrive = ["dlq", "redrive", "--endpoint", "orders", "--no-wait", "--json"];
    let made = shop.run(&redrive).json();
    assert_eq!(made, json!({"job_id": 1, "estimate": 1, "has_more": false}));
    shop.finish_jobs().await;
    let none = json!({"redriven": 0, "job_id": 2});
    assert_eq!(shop.run(&["dlq", "redrive", "--all", "--yes", "--json"]).json(), none);
    assert_eq!(shop.run(&["dlq", "list", "--json"]).json(), json!([]));
    let all = shop.run(&["dlq", "list", "--redriven", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_that_is_none_is_refused_by_every_command() {
    for command in one_of_each(&[SHOWING, DENIED, OWNERS, LOCAL]) {
        let nowhere = "postgres://nobody@127.0.0.1:1/none";
        let arguments: Vec<_> = command.split(' ').chain(["--log-level", "verbose"]).collect();
        run(nowhere, &arguments, "").fail(2, "log_level must be error, warn, info, debug, trace");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_with_an_at_sign_is_refused_without_being_shown() {
    for command in one_of_each(&[SHOWING, DENIED, OWNERS]) {
        let arguments: Vec<_> = command.split(' ').collect();
        let run = run("postgres://shop:pa@s3cret@127.0.0.1:1/shop", &arguments, "");
        assert!(!format!("{run:?}").contains("s3cret"), "{run:?}");
        run.fail(2, "an @ in a user's name or a password has to be written as %40");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_names_the_role_that_may() {
    let shop = Shop::open_migrated().await;
    shop.run(&CREATE).succeed();
    shop.execute(
        "create role producer login in role postrider_producer;
        create role monitor login in role postrider_monitor;
        create role stranger login",
    )
    .await;
    let check = |role: &str, arguments: &[&str], hint: &str| {
        let run = run(&shop.postgres.url_as(role, "shop"), arguments, "");
        run.fail(1, "permission denied").fail(1, &format!("hint: grant {hint}"));
    };
    check("monitor", &["send", "orders", "{}"], "postrider_producer to \"monitor\"");
    check("producer", &["cancel", "1"], "postrider_application to \"producer\"");
    check("producer", &["queue"], "postrider_application to \"producer\"");
    check("producer", &["endpoint", "list"], "postrider_monitor to \"producer\"");
    check("monitor", &["endpoint", "pause", "orders"], "postrider_operator to \"monitor\"");
    check("monitor", &["setting", "set", "http_timeout", "5"], "postrider_admin to \"monitor\"");
    check(
        "monitor",
        &["endpoint", "alter", "orders", "--retry-policy", "{}"],
        "postrider_admin to \"monitor\"",
    );
    check("stranger", &["send", "orders", "{}"], "\"stranger\" one of postrider_producer, ");
}

/// Every command that there is: those without commands of their own.
pub fn all_commands() -> BTreeSet<String> {
    fn walk(path: &str, command: &clap::Command, found: &mut BTreeSet<String>) {
        let below: Vec<_> = command.get_subcommands().collect();
        if below.is_empty() {
            found.insert(path.to_owned());
        }
        for command in below {
            walk(format!("{path} {}", command.get_name()).trim(), command, found);
        }
    }
    let mut found = BTreeSet::new();
    walk("", &postrider::cli::command(), &mut found);
    found
}

/// What the monitor may use: commands that only show, with arguments.
const SHOWING: &[&str] = &[
    "status",
    "top --count 1",
    "health",
    "doctor",
    "metrics",
    "events",
    "queue",
    "endpoint list",
    "endpoint show orders",
    "endpoint keys list orders",
    "endpoint preview orders",
    "event-type list",
    "subscription list",
    "setting list",
    "setting get http_timeout",
    "message 1024",
    "policy explain --message 1024",
    "dlq list",
    "dlq show 1",
    "dlq summary",
    "replay list",
    "schedule list",
    "schedule show s",
    "schedule next s",
    "job list",
    "job show 1",
    "consumer list",
    "consumer parked",
    "execution list",
    "execution show 1",
    "execution dead-letters",
    "worker list",
    "worker show w",
    "action list",
    "partition list",
    "token list",
];

/// What the monitor may not, because it changes something, or because it shows payloads.
const DENIED: &[&str] = &[
    "adopt",
    "tail",
    "consumer tail c",
    "send orders {}",
    "publish order.paid {}",
    "cancel 1024",
    "endpoint create x --protocol discard",
    "endpoint alter orders --retry-policy {}",
    "endpoint drop orders --yes",
    "endpoint keys add orders",
    "endpoint keys rotate orders",
    "endpoint keys retire orders 0",
    "endpoint keys reveal orders 0",
    "endpoint enable orders",
    "endpoint disable orders",
    "endpoint pause orders",
    "endpoint resume orders",
    "endpoint reset orders",
    "endpoint cancel-messages orders --yes",
    "message retry 1024",
    "message fail 1024 --reason r",
    "message skip 1024 --reason r",
    "message erase --ordering-key customer-7 --yes",
    "event-type create x",
    "event-type alter order.paid --description x",
    "event-type drop order.paid",
    "subscription create order.paid orders",
    "subscription alter 2 --filter {}",
    "subscription end 2",
    "subscription enable 2",
    "subscription disable 2",
    "setting set http_timeout 5",
    "setting reset http_timeout",
    "dlq redrive 1",
    "dlq cleanup --yes",
    "replay message 1024",
    "replay range orders --yes --from 2026-01-01T00:00Z --to 2026-01-02T00:00Z",
    "replay create orders --from 2026-01-01T00:00Z --to 2026-01-02T00:00Z",
    "replay cancel 1",
    "schedule create t @daily --endpoint orders",
    "schedule alter s --timing @hourly",
    "schedule pause s",
    "schedule resume s",
    "schedule drop s",
    "job cancel 1",
    "consumer create d",
    "consumer reset c --start now --yes",
    "consumer drop c --yes",
    "consumer resolve 1",
    "execution submit resize",
    "execution cancel 1",
    "execution retry 1",
    "worker cordon w",
    "worker uncordon w",
    "worker drop w",
    "action set a",
    "action drop resize",
    "partition maintain",
    "partition cleanup --yes",
    "token create t --role viewer",
    "token revoke t",
];

/// Those that need the owner of the schema.
const OWNERS: &[&str] = &["migrate", "serve", "endpoint test orders"];

/// What needs no database.
const LOCAL: &[&str] = &["listen 1", "completions bash", "man target/man"];

/// A line of these lists for every command that there is, with arguments.
fn one_of_each(lists: &[&[&'static str]]) -> Vec<&'static str> {
    for command in all_commands() {
        let lines = [SHOWING, DENIED, OWNERS, LOCAL].concat();
        let is_of = |line: &&&str| {
            **line == command
                || line.strip_prefix(&command).is_some_and(|rest| rest.starts_with(' '))
        };
        let count = lines.iter().filter(is_of).count();
        assert_eq!(count, 1, "`postrider {command}` has to be in one of the lists");
    }
    // Has commands below it, and is one itself.
    lists.concat().into_iter().chain(["worker --exec cat"]).collect()
}

/// What a command shows that the monitor may read, it gets; of everything else it hears which role may. Who has no
/// role at all hears it of every command.
#[tokio::test(flavor = "multi_thread")]
async fn the_monitor_can_use_every_command_that_only_shows() {
    one_of_each(&[]);
    let shop = Shop::open_migrated().await;
    shop.run(&CREATE).succeed();
    let id = shop.run(&["send", "orders", "{}", "--json"]).json()["id"].to_string();
    shop.execute(
        "create role monitor login in role postrider_monitor;
        create role stranger login;
        select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['503'])
        from postrider.message m;
        select postrider.redrive_all();
        select postrider.create_event_type('order.paid');
        select postrider.subscribe('order.paid', 'orders');
        select postrider.create_consumer('c');
        select postrider.create_schedule('s', '@yearly', p_endpoint_name => 'orders');
        select postrider.register_worker('w', 'p');
        select postrider.set_action('resize');
        select postrider.submit_execution('resize')",
    )
    .await;
    let as_role = |role: &str, command: &str| {
        let command = command.replace("1024", &id);
        let arguments: Vec<_> = command.split(' ').collect();
        run(&shop.postgres.url_as(role, "shop"), &arguments, "")
    };
    for command in SHOWING {
        let run = as_role("monitor", command);
        let is_shown = run.code == 0 || ["health", "doctor"].contains(command) && run.code < 3;
        assert!(is_shown, "{command}: {run:?}");
    }
    for command in SHOWING {
        for format in ["json", "jsonl"] {
            let run = as_role("monitor", &format!("{command} --output {format}"));
            let values: Result<Vec<Value>, _> =
                serde_json::Deserializer::from_str(&run.stdout).into_iter().collect();
            assert!(values.is_ok(), "{command} --output {format}: {run:?}");
            let count = values.unwrap().len();
            let lines = run.stdout.lines().count();
            assert_eq!(lines, count, "{command} --output {format}: {run:?}");
            assert!(format == "jsonl" || count == 1, "{command}: {run:?}");
            assert_eq!(as_role("monitor", &format!("{command} --json --output table")).code, 2);
        }
        let run = as_role("monitor", command);
        assert!(!run.stdout.contains('\u{1b}'), "{command}: {run:?}");
    }
    let shown = as_role("monitor", "dlq show 1 --json").json();
    assert_eq!((&shown["last_error"], shown.get("payload")), (&json!("503"), None));
    for (role, commands) in [("monitor", DENIED), ("stranger", DENIED), ("stranger", SHOWING)] {
        for command in commands {
            let run = as_role(role, command);
            // It asks many things, and says of each whether it could.
            if *command == "doctor" {
                assert!(run.code == 3 && run.stdout.contains("permission denied"), "{run:?}");
                continue;
            }
            // With 1 it says that something is degraded.
            let code = if *command == "health" { 3 } else { 1 };
            assert!(
                run.code == code && run.stderr.contains("permission denied"),
                "{command}: {run:?}"
            );
            assert!(run.stderr.contains("hint: grant "), "{role}: {command}: {run:?}");
        }
    }
}

/// Each command that the page names is one, with the options that it has there; and none is missing.
#[test]
fn the_page_names_every_command() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut root = postrider::cli::command();
    root.build();
    let mut named = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| `postrider ")) {
        let cell = line.trim_start_matches("| ").split(" | ").next().unwrap();
        let mut parent: Vec<&str> = Vec::new();
        for span in cell.split('`').skip(1).step_by(2) {
            let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            let words: Vec<&str> = span.split(' ').take_while(is_word).collect();
            let path = match words.as_slice() {
                ["postrider", path @ ..] => path.to_vec(),
                words => [&parent[..parent.len() - usize::from(!words.is_empty())], words].concat(),
            };
            let mut command = &root;
            for name in &path {
                let found = command.find_subcommand(name);
                command =
                    found.unwrap_or_else(|| panic!("{line}: there is no `{}`", path.join(" ")));
            }
            for word in
                span.split([' ', '[', ']', '=', ',']).filter_map(|word| word.strip_prefix("--"))
            {
                let has = command.get_arguments().any(|argument| argument.get_long() == Some(word));
                assert!(word.is_empty() || has, "{line}: `{}` has no --{word}", path.join(" "));
            }
            named.insert(path.join(" "));
            parent = path;
        }
    }
    let missing: Vec<_> = all_commands().into_iter().filter(|name| !named.contains(name)).collect();
    assert_eq!(missing, [""; 0], "docs/reference/cli.md");
}
