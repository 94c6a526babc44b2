use std::collections::BTreeSet;

use super::*;

/// Every command that does something, with its path.
fn leaves() -> Vec<(String, Command)> {
    fn walk(path: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        let below: Vec<_> =
            command.get_subcommands().filter(|below| below.get_name() != "help").collect();
        for command in &below {
            walk(format!("{path} {}", command.get_name()).trim(), command, found);
        }
        if below.is_empty() || command.is_args_conflicts_with_subcommands_set() {
            found.push((path.to_owned(), command.clone()));
        }
    }
    let mut root = command();
    root.build();
    let mut found = Vec::new();
    walk("", &root, &mut found);
    found
}

fn parse(arguments: &[&str]) -> Result<Manner, clap::Error> {
    let all = [&["postrider"], arguments].concat();
    command().try_get_matches_from(all).map(|matches| manner(&matches))
}

#[test]
fn the_commands_hold_together() {
    command().debug_assert();
}

#[test]
fn every_command_is_in_one_group() {
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut root = command();
    root.build();
    let known: BTreeSet<&str> = root.get_subcommands().map(Command::get_name).collect();
    assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), known);
    assert_eq!(grouped.len(), known.len(), "a command is in two groups");
}

#[test]
fn every_command_can_be_told_how_to_show() {
    for (path, command) in leaves() {
        for option in ["output", "json", "color"] {
            let has = command.get_arguments().any(|argument| argument.get_id() == option);
            assert!(has, "`{path}` has no --{option}");
        }
    }
}

/// Whatever lists or shows can be watched.
#[test]
fn what_shows_can_be_watched() {
    for (path, command) in leaves() {
        let last = path.rsplit(' ').next().unwrap();
        let shows = ["list", "show", "summary", "parked", "dead-letters"].contains(&last);
        let has = command.get_arguments().any(|argument| argument.get_id() == "watch");
        assert_eq!(has, SHOWING.contains(&path.as_str()), "{path}");
        assert!(has || !shows, "`{path}` shows something and has no --watch");
    }
    let of = |arguments: &[&str]| parse(arguments).unwrap().watch.map(|pause| pause.as_secs());
    assert_eq!(of(&["status"]), None);
    assert_eq!(of(&["status", "--watch"]), Some(2));
    assert_eq!(of(&["status", "--watch", "5"]), Some(5));
    assert_eq!(of(&["message", "--watch", "5", "1024"]), Some(5));
    for wrong in [
        &["status", "--watch", "0"][..],
        &["status", "--watch", "3601"],
        &["send", "a", "{}", "--watch"],
    ] {
        assert!(parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn who_cannot_undo_has_to_say_yes() {
    for (arguments, is_asked) in [
        (&["endpoint", "drop", "a"][..], true),
        (&["endpoint", "drop", "a", "--yes"], false),
        (&["endpoint", "drop", "-y", "a"], false),
        (&["endpoint", "show", "a"], false),
        (&["endpoint", "cancel-messages", "a"], true),
        (&["message", "1024"], false),
        (&["message", "fail", "1024", "--reason", "r"], false),
        (&["message", "fail", "--all", "--reason", "r"], true),
        (&["message", "skip", "--endpoint", "a", "--reason", "r"], true),
        (&["message", "retry", "--all"], false),
        (&["message", "erase", "--ordering-key", "k"], true),
        (&["dlq", "redrive", "7"], false),
        (&["dlq", "redrive", "--endpoint", "a"], false),
        (&["dlq", "redrive", "--all"], true),
        (&["dead-letter", "redrive", "--all"], true),
        (&["consumer", "reset", "c", "--start", "now"], true),
        (&["consumer", "drop", "c"], true),
        (&["partition", "cleanup"], true),
        (&["dlq", "cleanup"], true),
        (&["replay", "range", "a", "--from", "2h", "--to", "now"], true),
        (&["replay", "create", "a", "--from", "2h", "--to", "now"], false),
    ] {
        assert_eq!(parse(arguments).unwrap().question.is_some(), is_asked, "{arguments:?}");
    }
    let question = parse(&["endpoint", "drop", "a"]).unwrap().question.unwrap();
    assert_eq!(question.command, "endpoint drop");
}

#[test]
fn the_help_shows_all_groups_and_options_of_protocols() {
    let help = command().render_long_help().to_string();
    for (heading, names) in GROUPS {
        assert!(help.contains(&format!("\n{heading}:\n")), "{heading}: {help}");
        for name in *names {
            assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
        }
    }
    assert!(help.contains("--database-url") && help.contains("First steps:"), "{help}");
    let mut root = command();
    root.build();
    let create =
        root.find_subcommand_mut("endpoint").unwrap().find_subcommand_mut("create").unwrap();
    let help = create.render_long_help().to_string();
    for protocol in PROTOCOLS {
        for option in protocol.options {
            assert!(help.contains(&format!("\n  {}  (", option.name)), "{}: {help}", option.name);
        }
    }
    assert!(help.contains("  url  (url, required)"), "{help}");
    let options = options_of_protocols();
    let longest = options.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "{longest}: {options}");
}
