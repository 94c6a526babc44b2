//! A filter with a name that nothing has, or a value that nothing can have, is an error and no empty answer.

use std::collections::BTreeSet;

use crate::{
    cli::all_commands,
    shop::{Shop, producing::check_refusals, run},
};
use serde_json::json;

async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    let sql = "select postrider.create_endpoint(e.name, 'discard', '{}')
        from unnest('{orders,gone,audit}'::text[]) e (name);
        select postrider.create_event_type(t.name)
        from unnest('{order.paid,order.lost}'::text[]) t (name);
        select postrider.publish('order.lost', '{}');
        select postrider.drop_event_type('order.lost');
        select postrider.drop_endpoint('gone');
        select postrider.create_consumer('totals');
        select postrider.register_worker('big-one', 'images');
        select postrider.set_action('resize')";
    shop.execute(sql).await;
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_refuses_names_that_nothing_has_or_had() {
    let shop = open().await;
    let check = |arguments: &[&str], text: &str| {
        let refused = shop.run(arguments).fail(1, text);
        assert_eq!(refused.stdout, "", "{arguments:?}");
    };
    let endpoint = "Endpoint 'ordes' does not exist (did you mean orders?)";
    check(&["queue", "--endpoint", "ordes"], endpoint);
    check(&["queue", "--endpoint", "ordes", "--json"], endpoint);
    check(&["events", "--endpoint", "ordes"], endpoint);
    check(&["subscription", "list", "--endpoint", "ordes"], endpoint);
    check(&["dlq", "list", "--endpoint", "ordes"], endpoint);
    check(&["endpoint", "keys", "list", "ordes"], endpoint);
    check(&["endpoint", "keys", "list", "ordes", "--json"], endpoint);
    check(
        &["worker", "list", "--pool", "image"],
        "Pool 'image' does not exist (did you mean images?)",
    );
    let action = "Action 'resiz' does not exist (did you mean resize?)";
    check(&["execution", "list", "--action", "resiz"], action);
    check(&["execution", "list", "--pool", "nowhere"], "Pool 'nowhere' does not exist");
    check(&["execution", "list", "--worker", "big-two"], "Worker 'big-two' does not exist");
    let consumer = "Consumer 'total' does not exist (did you mean totals?)";
    check(&["consumer", "parked", "total"], consumer);
    let event_type = "Event type 'order.payd' does not exist (did you mean order.paid?)";
    check(&["tail", "--event-type", "order.payd"], event_type);
    check(&["tail", "--event-type", "order.*", "--event-type", "order.payd"], event_type);

    let empty = |arguments: &[&str]| {
        assert_eq!(shop.run(&[arguments, &["--json"]].concat()).json(), json!([]), "{arguments:?}");
    };
    for endpoint in ["orders", "gone"] {
        empty(&["queue", "--endpoint", endpoint]);
        empty(&["subscription", "list", "--endpoint", endpoint]);
        empty(&["dlq", "list", "--endpoint", endpoint]);
        empty(&["endpoint", "keys", "list", endpoint]);
    }
    empty(&["events", "--endpoint", "gone", "--since", "0.000001s"]);
    empty(&["worker", "list", "--pool", "default"]);
    empty(&["execution", "list", "--action", "resize", "--pool", "images"]);
    empty(&["consumer", "parked", "totals"]);
    let lost = ["tail", "--event-type", "order.lost", "--start", "beginning", "--limit", "1"];
    assert!(shop.run(&lost).succeed().stdout.contains("order.lost"));
}

/// What names an endpoint that was dropped: any of these alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_dropped_endpoint_keeps_its_name_known() {
    let shop = open().await;
    let sql = "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
            priority, event_type, payload)
        values (1024, 9, 9, 'of-letters', 'rejected', 0, now(), 0, 'of.letters', '{}');
        select postrider.send('audit', '{}');
        select postrider.drop_endpoint('audit', true);
        delete from postrider.event_log;
        delete from postrider.job";
    shop.execute(sql).await;
    for name in ["of-letters", "audit"] {
        shop.execute(&format!("select postrider.check_endpoint_name('{name}')")).await;
    }
    for name in ["of.letters", "order.lost"] {
        shop.execute(&format!("select postrider.check_event_type('{name}')")).await;
    }
    let client = shop.client().await;
    check_refusals(
        &client,
        &[
            (
                "select postrider.check_endpoint_name('gone')",
                "42704",
                "Endpoint 'gone' does not exist",
            ),
            (
                "select postrider.check_event_type('gone')",
                "42704",
                "Event type 'gone' does not exist",
            ),
        ],
    )
    .await;
}

/// An execution that has ended is in no total at first.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_execution_named_stays_known_in_every_state() {
    let shop = open().await;
    let client = shop.client().await;
    let check = async |when: &str| {
        let sql = "select postrider.check_action_name('pack'), postrider.check_pool_name('boxes')";
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    };
    let submitted = "select postrider.submit_execution('pack', p_pool => 'boxes')";
    let id: i64 = client.query_one(submitted, &[]).await.unwrap().get(0);
    check("it waits").await;
    client.query_one("select postrider.cancel_execution($1)", &[&id]).await.unwrap();
    check("it has ended").await;
    // Behind whatever transaction is open anywhere, such as a vacuum's.
    shop.until("select postrider.roll_up_executions(1000) > 0").await;
    check("it is in the totals").await;
    client
        .batch_execute("delete from postrider.execution_end; delete from postrider.execution")
        .await
        .unwrap();
    check("it is forgotten").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_refuse_what_their_filters_cannot_find() {
    let shop = open().await;
    let client = shop.client().await;
    let cause = "p_cause must be rejected, gone, retries_exhausted, stale, operator or endpoint_dropped, got 'stael'";
    let cases = [
        ("select postrider.redrive_matching('ordes')", "42704", "Endpoint 'ordes' does not exist"),
        ("select postrider.redrive_matching(p_cause => 'stael')", "22023", cause),
        (
            "select postrider.redrive_matching(p_event_type => 'order.payd')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.redrive_matching(p_event_type => 'order.*')",
            "42704",
            "Event type 'order.*' does not exist",
        ),
        (
            "select postrider.create_replay('orders', '2001-01-01', '2002-01-01', p_event_type => 'order.payd')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.create_consumer('c', '{order.payd}')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.retry_matching_deliveries(p_event_type => 'order.payd')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.erase_messages('k', p_event_type => 'order.payd')",
            "42704",
            "Event type 'order.payd' does not exist",
        ),
        (
            "select postrider.get_endpoint_health('ordes')",
            "42704",
            "Endpoint 'ordes' does not exist",
        ),
    ];
    check_refusals(&client, &cases).await;
    for known in [
        "select postrider.redrive_matching(p_cause => 'endpoint_dropped', p_event_type => 'order.lost')",
        "select postrider.create_replay('orders', '2001-01-01', '2002-01-01', p_event_type => 'order.lost')",
        "select postrider.create_consumer('c', '{order.lost,order.paid,later.*}')",
        "select postrider.retry_matching_deliveries(p_event_type => 'order.lost')",
        "select postrider.fail_matching_deliveries('it is over', p_event_type => 'order.lost')",
        "select postrider.skip_matching_deliveries('it is over', p_event_type => 'order.lost')",
        "select postrider.erase_messages('k', p_event_type => 'order.lost')",
    ] {
        shop.execute(known).await;
    }
    let redrive = |options: &[&str]| shop.run(&[&["dlq", "redrive"], options].concat());
    redrive(&["--cause", "stael"]).fail(2, cause);
    redrive(&["--event-type", "order.payd"]).fail(1, "Event type 'order.payd' does not exist");
    redrive(&["--endpoint", "ordes"]).fail(1, "Endpoint 'ordes' does not exist");
    let replay =
        ["replay", "create", "orders", "--from", "2030-05-01T00:00Z", "--to", "2030-05-02T00:00Z"];
    let typed = [&replay[..], &["--event-type", "order.payd"]].concat();
    shop.run(&typed).fail(1, "Event type 'order.payd' does not exist");
}

/// What takes a name that nothing may have yet, or need not have.
const MAKING: &[&str] = &[
    "action set <NAME>",
    "consumer create <NAME>",
    "endpoint create <NAME>",
    "endpoint preview --event-type",
    "endpoint test --event-type",
    "event-type create <NAME>",
    // An action need not be set, a pool is there when somebody names it, and an execution waits for its worker.
    "execution submit <ACTION>",
    "execution submit --pool",
    "execution submit --worker",
    "schedule create <NAME>",
    "token create <NAME>",
];

/// What else a command needs beside the name, and what is read as one.
const BESIDE: &[(&str, &str)] = &[
    ("consumer create", "NAME"),
    ("consumer reset", "--start now"),
    ("endpoint alter", "--set url=http://a.test/"),
    ("endpoint keys retire", "KEY"),
    ("endpoint keys reveal", "KEY"),
    ("event-type alter", "--description d"),
    ("execution submit", "resize"),
    ("message erase", "--ordering-key k"),
    ("message fail", "--reason r"),
    ("message skip", "--reason r"),
    ("publish", "{}"),
    ("replay create", "--from 2030-05-01T00:00Z --to 2030-05-02T00:00Z"),
    ("replay range", "--from 2030-05-01T00:00Z --to 2030-05-02T00:00Z"),
    ("schedule alter", "--missed skip"),
    ("schedule create", "NAME @daily"),
    ("send", "{}"),
    ("setting set", "5"),
    ("subscription create", "orders"),
];

/// The names that a command takes, by its help: `<NAME>` or `--endpoint`.
fn names_of(command: &str) -> BTreeSet<String> {
    let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
    let help = run("", &arguments, "").succeed().stdout;
    let own = help.split("Options of every command").next().unwrap();
    let usage = own.lines().find(|line| line.starts_with("Usage: ")).unwrap();
    let words = |text: &str| {
        let split = text.split(|at: char| !(at.is_alphanumeric() || "-_".contains(at)));
        split.map(str::to_owned).collect::<Vec<_>>()
    };
    // The value of an option is no name of its own.
    let placed =
        usage.split('[').flat_map(|part| part.split(' ')).filter(|word| !word.contains("--"));
    let placed = placed.flat_map(words).filter(|word| {
        ["NAME", "ENDPOINT", "EVENT_TYPE", "ACTION", "CONSUMER"].contains(&word.as_str())
    });
    let options = own.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(words);
    let options = options.filter(|word| {
        ["--endpoint", "--event-type", "--action", "--pool", "--worker"].contains(&word.as_str())
    });
    placed.map(|name| format!("<{name}>")).chain(options).collect()
}

/// What is said to a question that the command asks.
fn yes(path: &str) -> &'static str {
    let root = postrider::cli::command();
    let command = path.split(' ').try_fold(&root, |command, name| command.find_subcommand(name));
    let asks = command.unwrap().get_arguments().any(|argument| argument.get_id() == "yes");
    if asks { "--yes" } else { "" }
}

/// Walks all commands: a new one cannot forget it.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_takes_a_name_that_nothing_has() {
    let shop = open().await;
    let mut making = BTreeSet::new();
    for command in all_commands() {
        for name in names_of(&command) {
            let what = format!("{command} {name}");
            if MAKING.contains(&what.as_str()) {
                making.insert(what);
                continue;
            }
            let beside = BESIDE.iter().find(|(other, _)| *other == command);
            // A replay has an endpoint besides the type.
            let endpoint = if what == "replay create --event-type" { "orders" } else { "" };
            let beside = beside.map_or("", |(_, beside)| beside).split(' ').chain([endpoint]);
            let named = match name.starts_with("--") {
                true => vec![name.as_str(), "nobody"],
                false => vec!["nobody"],
            };
            let words = command.split(' ').chain(named).chain(beside).chain([yes(&command)]);
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            let refused = shop.run(&words);
            let text = &refused.stderr;
            let is_said = ["does not exist", "has nothing set", "unknown", "no such"]
                .iter()
                .any(|said| text.contains(said));
            assert!(refused.code == 1 && is_said && text.contains("nobody"), "{what}: {refused:?}");
            assert_eq!(refused.stdout, "", "{what}");
        }
    }
    assert_eq!(making, MAKING.iter().map(|what| (*what).to_owned()).collect(), "nothing takes it");
}
