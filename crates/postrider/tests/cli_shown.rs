//! What the command line shows to people: widths, colours, ages, questions, help for shells and manuals.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;

use crate::shop::{Run, Shop, serving::LONG};

const PROGRAM: &str = env!("CARGO_BIN_EXE_postrider");

/// Runs the program with these variables.
fn with(shop: &Shop, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("DATABASE_URL", shop.url()).envs(variables.iter().copied());
    finish(command, "")
}

/// Runs the program on a terminal of its own, wherever the tests run: where `CI` is set, a dumb terminal has
/// colours.
fn on_a_terminal(shop: &Shop, variables: &[(&str, &str)], arguments: &str, typed: &str) -> Run {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("stty cols 70; {PROGRAM} {arguments}"), "/dev/null"]);
    command.env("DATABASE_URL", shop.url()).env("TERM", "xterm");
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied());
    finish(command, typed)
}

fn finish(mut command: Command, input: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

async fn with_dead_letters() -> Shop {
    let shop = Shop::open_migrated().await;
    let create = ["endpoint", "create", "orders", "--protocol", "http", "--set"];
    shop.run(&[&create[..], &["url=http://a.test/"]].concat()).succeed();
    shop.run(&["send", "orders", "{\"n\": 1}"]).succeed();
    shop.execute(
        "select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1],
            array['HTTP 503: the service is not available for the time being, please come back later'])
        from postrider.message m",
    )
    .await;
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_fit_and_have_ages() {
    let shop = with_dead_letters().await;
    for (columns, width) in [("60", 60), ("80", 80), ("140", 140)] {
        let run = with(&shop, &[("COLUMNS", columns)], &["dlq", "list"]).succeed();
        let widest = run.stdout.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} > {width}: {}", run.stdout);
        assert!(run.stdout.contains("LAST ERROR") && run.stdout.contains("available"), "{run:?}");
        assert!(!run.stdout.contains('\u{1b}'), "{run:?}");
    }
    // Nobody gave it an event type; a wide line has room for its age.
    let run = with(&shop, &[("COLUMNS", "180")], &["dlq", "list"]).succeed();
    assert!(!run.stdout.contains("EVENT TYPE"), "{run:?}");
    assert!(run.stdout.contains(" ago") || run.stdout.contains("now"), "{run:?}");
    let narrow = with(&shop, &[("COLUMNS", "50")], &["dlq", "list"]).succeed();
    assert!(narrow.stdout.contains("\nWithout message_id"), "{narrow:?}");
    let exact = shop.run(&["dlq", "list", "--json"]).json();
    assert!(exact[0]["failed_at"].as_str().unwrap().contains('T'), "{exact}");
    let lines = shop.run(&["dlq", "list", "--output", "jsonl"]).succeed();
    assert_eq!(lines.stdout.lines().count(), 1);
    assert!(lines.stdout.starts_with('{'), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_for_terminals() {
    let shop = with_dead_letters().await;
    let red = "\u{1b}[31mfailed\u{1b}[0m";
    let run = on_a_terminal(&shop, &[], "dlq list", "").succeed();
    assert!(run.stdout.contains(red), "{run:?}");
    for (variables, arguments) in [
        (&[("NO_COLOR", "1")][..], "dlq list"),
        (&[], "dlq list --color never"),
        (&[("TERM", "dumb")], "dlq list"),
    ] {
        let run = on_a_terminal(&shop, variables, arguments, "").succeed();
        assert!(run.stdout.contains("failed") && !run.stdout.contains("[31m"), "{run:?}");
    }
    let run = with(&shop, &[("NO_COLOR", "1")], &["dlq", "list", "--color", "always"]).succeed();
    assert!(run.stdout.contains(red), "{run:?}");
    shop.run(&["dlq", "list", "--color", "blue"]).fail(2, "auto, always, never");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_decides() {
    let shop = with_dead_letters().await;
    let asked = on_a_terminal(&shop, &[], "endpoint drop orders", "n\n").fail(1, "");
    assert!(asked.stdout.contains("This cannot be undone"), "{asked:?}");
    assert!(asked.stdout.contains("nothing was changed"), "{asked:?}");
    shop.run(&["endpoint", "show", "orders"]).succeed();
    let asked = on_a_terminal(&shop, &[], "endpoint drop orders", "y\n").succeed();
    assert!(asked.stdout.contains("Endpoint orders is dropped."), "{asked:?}");
    shop.run(&["endpoint", "show", "orders"]).fail(1, "does not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_are_in_the_words_of_the_command_line() {
    let shop = Shop::open_migrated().await;
    let create = ["endpoint", "create", "orders", "--protocol", "discard"];
    shop.run(&create).succeed();
    shop.run(&["send", "orders", "{}"]).succeed();
    let run = shop.run(&["endpoint", "drop", "orders", "--yes"]);
    let run = run.fail(1, "hint: --force moves them to the dead letter queue");
    assert!(!run.stderr.contains("p_force"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_address_is_warned_of_where_it_is_not_allowed() {
    let shop = Shop::open_migrated().await;
    let create = |name: &str, url: &str| {
        shop.run(&[
            "endpoint",
            "create",
            name,
            "--protocol",
            "http",
            "--set",
            &format!("url={url}"),
        ])
        .succeed()
    };
    let run = create("a", "http://127.0.0.1:8099/");
    assert!(run.stderr.contains("127.0.0.1 is 127.0.0.1, an internal address"), "{run:?}");
    let command = "postrider setting set allow_internal_destinations 127.0.0.1/32";
    assert!(run.stderr.contains(command), "{run:?}");
    assert!(create("b", "http://localhost:8099/").stderr.contains("an internal address"));
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    shop.run(&arguments).succeed();
    assert_eq!(create("c", "http://127.0.0.1:8099/").stderr, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_shows_is_shown_again_until_it_is_interrupted() {
    let shop = with_dead_letters().await;
    for (arguments, what) in [
        ("dlq list --watch 1 --output jsonl", "\"endpoint_name\":"),
        ("status --watch 1", "Database \"shop\""),
    ] {
        let mut command = Command::new(PROGRAM);
        command.args(arguments.split(' ')).env("DATABASE_URL", shop.url()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.filter(|line| line.contains(what)).take(2).count(), 2, "{arguments}");
        let interrupt = format!("kill -INT {}", child.id());
        assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}");
    }
    shop.run(&["top", "--count", "2"]).succeed();
    let top = on_a_terminal(&shop, &[], "top --count 2", "").succeed();
    assert_eq!(top.stdout.matches("Ctrl-C ends this").count(), 2, "{top:?}");
    assert!(top.stdout.contains("No dispatcher is running."), "{top:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_shown_with_all_that_became_of_it() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let send = ["send", "hooks", "{\"order\": 7}", "--header", "x-a=b", "--json"];
    let id = shop.run(&send).json()["id"].to_string();
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    let ended = "select exists (select from postrider.archive where status = 'completed')";
    shop.until(ended).await;
    let story = shop.run(&["message", &format!("msg_{id}"), "--json"]).json();
    assert_eq!(
        (&story["payload"], &story["headers"]),
        (&json!({"order": 7}), &json!({"x-a": "b"}))
    );
    assert_eq!(story["attempts"][0]["status"], 503);
    assert_eq!(story["deliveries"][0]["status"], "completed");
    let events: Vec<&str> = story["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .collect();
    assert_eq!((events[0], events.last().unwrap()), ("sent", &"completed"), "{events:?}");
    assert!(events[1].starts_with("attempt 1: unavailable (status 503)"), "{events:?}");
    let text = shop.run(&["message", &id]).succeed().stdout;
    for part in ["\"order\": 7", "Headers\n", "Deliveries\n", "Attempts\n", "Time line\n", "503"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let complete = |words: &str| {
        let script = format!(
            "source <({PROGRAM} completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _postrider postrider \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", &script]);
        finish(command, "").succeed().stdout.trim().to_owned()
    };
    assert_eq!(complete("postrider endp"), "endpoint");
    assert_eq!(complete("postrider endpoint cancel"), "cancel-messages");
    assert_eq!(complete("postrider endpoint create --proto"), "--protocol");
    assert_eq!(complete("postrider dlq redrive --ye"), "--yes");
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let mut command = Command::new(PROGRAM);
        command.args(["completions", shell]);
        let run = finish(command, "").succeed();
        assert!(run.stdout.contains("cancel-messages"), "{shell}");
    }
}

#[test]
fn manual_pages_are_well_formed() {
    let folder = std::env::temp_dir().join(format!("postrider-man-{}", std::process::id()));
    let mut command = Command::new(PROGRAM);
    command.arg("man").arg(&folder);
    finish(command, "").succeed();
    let pages: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.iter().any(|page| page.ends_with("postrider-endpoint-create.1")), "{pages:?}");
    let mut command = Command::new("man");
    command.args(["--warnings", "-E", "UTF-8", "-l", "-P", "cat"]).args(&pages);
    let run = finish(command, "").succeed();
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("cancel-messages"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_stop_hears_how_far_it_is() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url(), "timeout_seconds": 300 }), json!({}))
        .await;
    let dispatcher = shop.serve().await;
    shop.send("hooks", json!({})).await;
    shop.until("select sum(in_flight) = 1 from postrider.get_worker_status()").await;
    assert!(dispatcher.sigterm());
    let line = dispatcher.wait_for_log("draining", LONG).await.unwrap();
    assert!(line.contains("in_flight=1") && line.contains("grace_left_seconds="), "{line}");
}
