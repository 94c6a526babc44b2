//! All commands with their options, and what many of them have in common: the groups of the help, `--watch` of
//! those that show, `--yes` of those that cannot be undone, and the options of protocols.

use std::{fmt::Write as _, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use postrider_transport::{self as transport, PROTOCOLS};
use serde_json::Value;

use super::{Arguments, EVERYWHERE, table};

/// The commands as the help groups them: what somebody wants to do, and what does it.
const GROUPS: &[(&str, &[&str])] = &[
    ("Set up and run", &["migrate", "serve", "setting", "token", "adopt"]),
    ("Send", &["send", "publish", "schedule", "cancel", "listen"]),
    ("Receivers", &["endpoint", "event-type", "subscription", "policy"]),
    (
        "See how it does",
        &["status", "top", "health", "doctor", "events", "queue", "message", "tail", "metrics"],
    ),
    ("Put right", &["dlq", "replay", "job", "partition"]),
    ("Consumers", &["consumer"]),
    ("Work for a fleet", &["execution", "worker", "action"]),
    ("Help", &["completions", "man", "help"]),
];

/// Commands that show how things are now, and can be told to go on showing it.
const SHOWING: &[&str] = &[
    "action list",
    "consumer list",
    "consumer parked",
    "dlq list",
    "dlq show",
    "dlq summary",
    "endpoint keys list",
    "endpoint list",
    "endpoint show",
    "event-type list",
    "events",
    "execution dead-letters",
    "execution list",
    "execution show",
    "health",
    "job list",
    "job show",
    "message",
    "metrics",
    "partition list",
    "queue",
    "replay list",
    "schedule list",
    "schedule next",
    "schedule show",
    "setting list",
    "status",
    "subscription list",
    "token list",
    "worker list",
    "worker show",
];

/// A command that cannot be undone.
struct Final {
    command: &'static str,
    /// What it does, for the question.
    consequence: &'static str,
    /// Arguments with which it concerns one thing that can be put right again, and nobody is asked.
    harmless_with: Option<&'static str>,
    /// Arguments without which it is harmless.
    harmless_without: Option<&'static str>,
}

const fn lasting(command: &'static str, consequence: &'static str) -> Final {
    Final { command, consequence, harmless_with: None, harmless_without: None }
}

const FINAL: &[Final] = &[
    lasting("consumer drop", "the consumer and its positions are gone"),
    lasting(
        "consumer reset",
        "the consumer's positions are lost, and it gets messages again or never",
    ),
    lasting("dlq cleanup", "old dead letters are gone, with their payloads"),
    Final {
        harmless_without: Some("all"),
        ..lasting("dlq redrive", "every dead letter there is goes to its endpoint again")
    },
    lasting("endpoint cancel-messages", "what waits for the endpoint is never delivered"),
    lasting("endpoint drop", "the endpoint is gone, with its secrets"),
    lasting("message erase", "what was in the messages is gone for ever"),
    Final {
        harmless_with: Some("id"),
        ..lasting("message fail", "all deliveries that match are given up")
    },
    Final {
        harmless_with: Some("id"),
        ..lasting("message skip", "all deliveries that match end without a dead letter")
    },
    lasting("partition cleanup", "old partitions are gone, with all their messages"),
    lasting("replay range", "everything in that range is sent a second time"),
];

/// What was asked for besides what a command itself knows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Show it again and again, after this pause.
    pub watch: Option<Duration>,
    /// It cannot be undone, and nobody has said yes: what would happen.
    pub question: Option<Question>,
}

/// What somebody has to say yes to.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    pub command: String,
    pub consequence: &'static str,
}

/// The command `postrider` with all that is below it.
pub fn command() -> Command {
    let mut root = Arguments::command();
    for path in SHOWING {
        root = change(root, path, &|command| command.arg(watch()));
    }
    for last in FINAL {
        root = change(root, last.command, &|command| command.arg(yes()));
    }
    let options = options_of_protocols();
    for path in ["endpoint create", "endpoint alter"] {
        root = change(root, path, &|command| command.after_long_help(options.clone()));
    }
    let groups = groups(&root);
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {EVERYWHERE}:\n{{options}}{{after-help}}"
    ))
}

/// What the arguments say beside the command's own.
pub fn manner(matches: &ArgMatches) -> Manner {
    let mut path = String::new();
    let mut last = matches;
    while let Some((name, below)) = last.subcommand() {
        path = format!("{path} {name}").trim().to_owned();
        last = below;
    }
    let watch = SHOWING.contains(&path.as_str()).then(|| last.get_one::<u64>("watch")).flatten();
    let question = FINAL.iter().find(|known| known.command == path).and_then(|known| {
        let has = |name: Option<&str>| name.map(|name| is_given(last, name));
        let is_harmless = has(known.harmless_with) == Some(true)
            || has(known.harmless_without) == Some(false)
            || last.get_flag("yes");
        let question = || Question { command: path.clone(), consequence: known.consequence };
        (!is_harmless).then(question)
    });
    Manner { watch: watch.copied().map(Duration::from_secs), question }
}

fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine)
}

/// Changes the command with this path.
fn change(root: Command, path: &str, with: &dyn Fn(Command) -> Command) -> Command {
    match path.split_once(' ') {
        Some((name, rest)) => root.mut_subcommand(name, |below| change(below, rest, with)),
        None => root.mut_subcommand(path, with),
    }
}

fn watch() -> Arg {
    Arg::new("watch")
        .long("watch")
        .value_name("SECONDS")
        .num_args(0..=1)
        .default_missing_value("2")
        .value_parser(clap::value_parser!(u64).range(1..=3_600))
        .help("Show it again every 2 seconds, or so many, until Ctrl-C: 1 to 3600")
}

fn yes() -> Arg {
    Arg::new("yes")
        .long("yes")
        .short('y')
        .action(ArgAction::SetTrue)
        .help("Do not ask; needed where nobody can be asked, because this cannot be undone")
}

/// All commands by what they are for.
fn groups(root: &Command) -> String {
    let width = root.get_subcommands().map(|command| command.get_name().len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in *names {
            let about = root.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(
                || "Print this, or the help of a command".to_owned(),
                ToString::to_string,
            );
            // Braces are the template's own.
            let about = about.replace('{', "(").replace('}', ")");
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
        text.push('\n');
    }
    text
}

/// What `--set` takes, of all protocols.
fn options_of_protocols() -> String {
    const WIDTH: usize = 98;
    let Value::Array(options) = transport::options_as_json() else { return String::new() };
    let mut text = String::from("An option is given as --set NAME=VALUE.\n");
    for protocol in PROTOCOLS {
        let heading = format!("Options of protocol {}: {}", protocol.name, protocol.description);
        let _ = write!(text, "\n{}\n", table::fold(&heading, WIDTH).join("\n"));
        for option in options.iter().filter(|option| option["protocol"] == protocol.name) {
            let name = option["name"].as_str().unwrap_or_default();
            let shape = table::fold(&format!("({})", describe(option)), WIDTH - name.len() - 4);
            let indent = format!("\n{:1$}", "", name.len() + 4);
            let _ = writeln!(text, "  {name}  {}", shape.join(&indent));
            let description = option["description"].as_str().unwrap_or_default();
            for line in table::fold(description, WIDTH - 6) {
                let _ = writeln!(text, "      {line}");
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// What the value of an option may be.
fn describe(option: &Value) -> String {
    let kind = option["kind"].as_str().unwrap_or_default().replace('_', " ");
    let mut parts = vec![kind];
    if let Some(choices) = option["choices"].as_array() {
        let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
        parts.push(choices.join(" | "));
    }
    if option["kind"] == "integer" {
        parts.push(format!("{} to {}", option["minimum"], option["maximum"]));
    }
    match &option["default"] {
        Value::Null if option["required"] == true => parts.push("required".to_owned()),
        Value::Null => {}
        Value::String(text) => parts.push(format!("by default {text}")),
        other => parts.push(format!("by default {other}")),
    }
    if option["secret"] == true {
        parts.push("secret".to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
