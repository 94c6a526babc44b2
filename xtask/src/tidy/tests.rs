//! Each rule catches its violation and lets the right thing pass.

use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

/// Checks one file by one rule; returns the lines with violations.
fn lines(rule: Rule, path: &str, content: &str) -> Vec<usize> {
    lines_in(rule, &[(path, content)])
}

fn lines_in(rule: Rule, files: &[(&str, &str)]) -> Vec<usize> {
    let mut lines: Vec<_> = rule(&tree(files)).into_iter().map(|found| found.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

const NONE: [usize; 0] = [];

#[test]
fn io_in_the_core_is_caught() {
    let path = "crates/postrider-core/src/decide.rs";
    let bad = [
        "use tokio::time;",
        "let now = std::time::Instant::now();",
        "let now = SystemTime::now();",
        "use std::{fs, time::Duration};",
        "let x = rand::random();",
        "let x = fastrand::u64(..);",
        "let dice = fastrand::Rng::new();",
        "let dice = fastrand::Rng::default();",
        "let id = Uuid::new_v4();",
        "use std::net::TcpStream;",
        "println!(\"x\")",
    ];
    for code in bad {
        assert_eq!(lines(core_does_no_io, path, code), [1], "{code}");
    }
    let good = "// tokio\nfn a(dice: &mut fastrand::Rng) {}\nuse std::net::IpAddr;\nlet operand = \"rand\";\nfn at(now: Instant) {}\n\
                #[cfg(test)]\nmod tests {\n    fn a() { Instant::now() }\n}";
    assert_eq!(lines(core_does_no_io, path, good), NONE);
    assert_eq!(lines(core_does_no_io, "crates/postrider/src/a.rs", bad[0]), NONE);
    let world = "crates/postrider-core/src/tenure/simulation/proof.rs";
    assert_eq!(lines(core_does_no_io, world, bad[1]), NONE, "it is compiled for tests only");
    let other = "crates/postrider-core/src/simulation.rs";
    assert_eq!(lines(core_does_no_io, other, bad[1]), [1], "that is another one");

    let manifest = "crates/postrider-core/Cargo.toml";
    assert_eq!(lines(core_does_no_io, manifest, "[dependencies]\ntokio = \"1\""), [2]);
    assert_eq!(lines(core_does_no_io, manifest, "[dependencies]\nrand.workspace = true"), [2]);
    assert_eq!(lines(core_does_no_io, manifest, "[dev-dependencies]\nfastrand = \"2\""), NONE);
    let seedless = "[dependencies]\nfastrand = { version = \"2\", default-features = false }";
    assert_eq!(lines(core_does_no_io, manifest, seedless), NONE);
    for drawing in ["fastrand = \"2\"", "uuid = { version = \"1\", features = [\"v4\"] }"] {
        let manifest_of = format!("[dependencies]\n{drawing}");
        assert_eq!(lines(core_does_no_io, manifest, &manifest_of), [2], "{drawing}");
    }
}

#[test]
fn a_test_file_that_nothing_names_is_caught() {
    let main = ("crates/a/tests/main.rs", "mod flow;\nmod shop;\n");
    let [named, forgotten] = ["flow", "flows"].map(|name| format!("crates/a/tests/{name}.rs"));
    assert_eq!(lines_in(every_test_file_is_run, &[main, (&named, "")]), NONE);
    assert_eq!(lines_in(every_test_file_is_run, &[main, (&forgotten, "")]), [1]);
    // Without a main file cargo finds each by itself.
    assert_eq!(lines_in(every_test_file_is_run, &[(&forgotten, "")]), NONE);
    assert_eq!(lines_in(every_test_file_is_run, &[main, ("crates/a/tests/shop/b.rs", "")]), NONE);
}

#[test]
fn a_door_that_leads_back_is_caught() {
    let check = |room: &str, dependency: &str| {
        let manifest = format!("[features]\npostrider = []\n[dependencies]\n{dependency}\n");
        lines(doors_open_one_way, &format!("crates/{room}/Cargo.toml"), &manifest)
    };
    let to = |room: &str| format!("{room} = {{ path = \"../{room}\" }}");
    assert_eq!(check("postrider-transport", &to("postrider-store")), [4]);
    assert_eq!(check("postrider-transport", "tokio-postgres = \"0.7\""), [4]);
    assert_eq!(check("postrider-core", &to("postrider-engine")), [4]);
    assert_eq!(check("postrider-fleet", &to("postrider-transport")), [4]);
    assert_eq!(check("postrider-engine", &to("postrider-store")), NONE);
    assert_eq!(check("postrider-store", "tokio-postgres = \"0.7\""), NONE);
    assert_eq!(check("postrider", &to("postrider-testkit")), [4]);
    assert_eq!(check("postrider-store", "[dependencies.postrider-fleet]\npath = \"..\""), [4]);
    assert_eq!(check("postrider-testkit", &to("postrider-core")), [4]);
    assert_eq!(check("postrider-store", &to("postrider-testkit")), [4]);
    let for_tests = format!("x = \"1\"\n[dev-dependencies]\n{}", to("postrider-testkit"));
    assert_eq!(check("postrider-store", &for_tests), NONE);
    assert_eq!(check("postrider", &to("postrider-fleet")), NONE);
}

#[test]
fn sql_in_a_string_is_caught() {
    let bad = [
        "select 1",
        "SELECT * FROM t",
        "insert into t values (1)",
        "\\n    update t set a = 1",
        "delete from t",
        "with x as (select 1) select from x",
        "create table t ()",
        "create or replace function f()",
        "alter role x",
        "drop index i",
        "listen postrider",
        "copy t from stdin binary",
        "set local x = 1",
        "set statement_timeout to 0",
    ];
    let good = [
        "create an endpoint first",
        "Select an endpoint",
        "update the endpoint",
        "with this option",
        "delete",
        "drop what waits",
        "listen on this address",
        "set aside",
        "select",
        "selected 3 of 4",
        "",
    ];
    let path = "crates/postrider-engine/src/shard.rs";
    for (texts, expected) in [(&bad[..], true), (&good[..], false)] {
        for text in texts {
            let text = text.replace("\\n", "\n");
            let code = format!("f(\"{text}\");");
            let is_caught = !lines(sql_stands_in_sql_files, path, &code).is_empty();
            assert_eq!(is_caught, expected, "{text}");
        }
    }
    let code = "f(\"select 1\")";
    assert_eq!(lines(sql_stands_in_sql_files, "crates/postrider/src/a/tests.rs", code), NONE);
    assert_eq!(lines(sql_stands_in_sql_files, "crates/postrider/tests/a.rs", code), NONE);
    assert_eq!(lines(sql_stands_in_sql_files, "xtask/src/a.rs", code), NONE);
    assert_eq!(lines(sql_stands_in_sql_files, "crates/postrider-client/src/lib.rs", code), [1]);
    assert_eq!(lines(sql_stands_in_sql_files, path, "// \"select 1\""), NONE);
}

#[test]
fn a_transport_named_elsewhere_is_caught() {
    let list = (
        "crates/postrider-transport/src/protocol.rs",
        "use crate::{config, http};\n[http::PROTOCOL]; \"http\"",
    );
    let cases = [
        ("crates/postrider-transport/src/guard.rs", "use crate::http::Http;", 1),
        ("crates/postrider-transport/src/guard.rs", "use crate::{open, http};", 1),
        ("crates/postrider-engine/src/deliver.rs", "if protocol == \"http\" {}", 1),
        ("crates/postrider-core/src/classify.rs", "if protocol == \"http\" {}", 1),
        ("crates/postrider-transport/src/shared.rs", "use super::http::Pool;", 1),
        ("crates/postrider-transport/src/http.rs", "f(\"http\"); super::http::x();", 0),
        ("crates/postrider-transport/src/http/body.rs", "f(\"http\"); crate::http", 0),
        ("crates/postrider/src/api/serve.rs", "use hyper::http::Uri; f(\"http://x\")", 0),
        ("crates/postrider-engine/src/deliver.rs", "use postrider_transport::config;", 0),
        ("crates/postrider-transport/src/config.rs", "if scheme == \"http\" {}", 0),
        ("crates/postrider-transport/src/config.rs", "if protocol == \"http\" {}", 1),
        ("crates/postrider-transport/src/tests.rs", "super::http::x(\"http\")", 0),
    ];
    for (path, code, expected) in cases {
        let found = lines_in(only_its_own_file_names_a_transport, &[list, (path, code)]);
        assert_eq!(found.len(), expected, "{path}: {code}");
    }
}

#[test]
fn a_flush_outside_the_ledger_is_caught() {
    let bad = [
        "include_str!(\"../../../../sql/queries/dispatch/flush.sql\")",
        "query(\"call postrider.flush($1)\")",
    ];
    for code in bad {
        let elsewhere = "crates/postrider-engine/src/driver.rs";
        assert_eq!(lines(only_the_ledger_flushes, elsewhere, code), [1]);
        assert_eq!(lines(only_the_ledger_flushes, LEDGER, code), NONE);
    }
    let other = "include_str!(\"../../../sql/queries/dispatch/end_stale_flushes.sql\")";
    assert_eq!(lines(only_the_ledger_flushes, "crates/postrider-store/src/a.rs", other), NONE);
}

#[test]
fn the_client_of_the_broker_outside_its_folder_is_caught() {
    let code = "use lapin::Channel;";
    assert_eq!(
        lines(only_the_carrier_names_its_client, "crates/postrider-fleet/src/lib.rs", code),
        [1]
    );
    let own = "crates/postrider-fleet/src/rabbitmq/topology.rs";
    assert_eq!(lines(only_the_carrier_names_its_client, own, code), NONE);
    assert_eq!(
        lines(only_the_carrier_names_its_client, "crates/postrider/src/a.rs", "// lapin"),
        NONE
    );
}

#[test]
fn a_migration_that_calls_a_function_of_ours_is_caught() {
    let check = |migration: &str| {
        let function = ("sql/functions/produce/api/send.sql", "");
        lines_in(
            migrations_call_no_function_of_ours,
            &[function, ("sql/migrations/0002_x.sql", migration)],
        )
    };
    assert_eq!(check("select 1;\nselect postrider.send('a');"), [2]);
    assert_eq!(check("create trigger t after insert execute function postrider.send();"), [1]);
    assert_eq!(check("-- postrider.send() writes here\ncreate table postrider.send_log ();"), NONE);
    assert_eq!(check("select postrider.resend(1);"), NONE);
}

#[test]
fn a_file_with_another_or_a_second_function_is_caught() {
    let path = "sql/functions/produce/api/send.sql";
    let send = "-- comment\ncreate or replace function postrider.send(a text)\nreturns bigint;\n";
    let other = "create or replace function postrider.other()\n";
    assert_eq!(lines(one_function_per_file, path, send), NONE);
    assert_eq!(lines(one_function_per_file, path, other), [1]);
    assert_eq!(lines(one_function_per_file, path, &format!("{send}{other}")), [4]);
    assert_eq!(lines(one_function_per_file, path, "create function postrider.send()"), [1]);
}

#[test]
fn a_function_at_a_wrong_place_is_caught() {
    let grants = "
        producing constant text[] := array[
            'send', 'publish'];
        watching constant text[] := array['metrics'];
        withheld constant text[] := array['secret'];
        -- unused constant text[] := array['ring'];
        from (values
            ('producer', producing, array['secret'] || withheld),
            (
                'admin',
                producing || watching,
                array(select c.relname from pg_class c where c.relname <> all (withheld))
            )
        ) k (kind, functions, relations)
        execute format('grant execute on function %s to %I', signature, name);";
    let check = |grants: &str, path: &str| {
        let tree = tree(&[("sql/grants.sql", grants), (path, "")]);
        let found = areas::the_tree_says_what_is_public(&tree).into_iter();
        found.map(|found| found.path).collect::<Vec<_>>()
    };
    for good in [
        "sql/functions/produce/api/send.sql",
        "sql/functions/produce/api/publish.sql",
        "sql/functions/produce/ring.sql",
        "sql/functions/watch/api/metrics.sql",
        "sql/functions/settings/secret.sql",
        "sql/queries/produce/send.sql",
        "sql/views/queue.sql",
    ] {
        assert_eq!(check(grants, good), [""; 0], "{good}");
    }
    for bad in [
        "sql/functions/produce/send.sql",
        "sql/functions/watch/metrics.sql",
        "sql/functions/produce/api/ring.sql",
        "sql/functions/settings/api/secret.sql",
        "sql/functions/send.sql",
        "sql/functions/ring.sql",
        "sql/functions/produce/fast/ring.sql",
        "sql/functions/produce/api/fast/send.sql",
        "sql/queries/send.sql",
        "sql/queries/produce/api/send.sql",
    ] {
        assert_eq!(check(grants, bad), [bad]);
    }
    // What is granted is what a role gets, not what stands in a list.
    let metrics = "sql/functions/watch/api/metrics.sql";
    assert_eq!(check(&grants.replace("producing || watching", "producing"), metrics), [metrics]);
    for unread in ["producing || others", "array['send']"] {
        let grants = grants.replace("producing || watching", unread);
        assert_eq!(check(&grants, metrics), ["sql/grants.sql"], "{unread}");
    }

    let rule = areas::the_tree_says_what_is_public;
    let granted = "select 1;\ngrant execute on function postrider.ring() to public;";
    let elsewhere = ("sql/migrations/0002_x.sql", granted);
    assert_eq!(lines_in(rule, &[("sql/grants.sql", grants), elsewhere]), [2]);
    assert_eq!(check(&format!("{grants}\n{granted}"), metrics), ["sql/grants.sql"]);
    let twice = [("sql/functions/a/ring.sql", ""), ("sql/functions/b/ring.sql", "")];
    assert_eq!(lines_in(rule, &twice), [1]);
}

#[test]
fn a_module_without_a_purpose_is_caught() {
    assert_eq!(lines(modules_begin_with_their_purpose, "crates/a/src/b.rs", "use x;"), [1]);
    assert_eq!(lines(modules_begin_with_their_purpose, "xtask/src/b.rs", "// For x.\n"), [1]);
    assert_eq!(lines(modules_begin_with_their_purpose, "xtask/src/b.rs", "//! For x.\n"), NONE);
    assert_eq!(lines(modules_begin_with_their_purpose, "crates/a/src/b/tests.rs", "use x;"), NONE);
}

#[test]
fn the_name_of_a_machine_is_caught() {
    let bad = [
        concat!("cd /wo", "rk/main"),
        concat!("\"/ro", "ot/.cargo\""),
        concat!("path=/ho", "me/me/x"),
        concat!("https://index.crates", ".io/x"),
        concat!("registry.npmjs", ".org"),
    ];
    for text in bad {
        assert_eq!(lines(nothing_names_a_machine, "docs/a.md", &format!("ok\n{text}")), [2]);
        assert_eq!(lines(nothing_names_a_machine, "Cargo.lock", text), NONE);
    }
    let good = ["https://example.org/work/", "framework/work/x", "$HOME/home/", "/var/lib/x"];
    for text in good {
        assert_eq!(lines(nothing_names_a_machine, "docs/a.md", text), NONE, "{text}");
    }
}

#[test]
fn a_query_without_an_index_or_with_one_that_is_not_there_is_caught() {
    let check = |query: &str| {
        let migration = (
            "sql/migrations/0001_x.sql",
            "create table postrider.message (id bigint primary key);\n\
             create unique index message_lane_id on postrider.message (lane, id);\n\
             create index x on postrider.message (id);",
        );
        lines_in(queries_name_their_index, &[migration, ("sql/queries/dispatch/page.sql", query)])
    };
    let read = "select m.id\nfrom postrider.message m;";
    let cases = [
        (read.to_owned(), true),
        (format!("-- Index: message_lane_id.\n{read}"), false),
        (format!("-- Reads. Index: message_lane_id (for all).\n{read}"), false),
        (format!("-- Indexes: x, message_pkey.\n{read}"), false),
        (format!("-- Index: gone.\n{read}"), true),
        (format!("-- Index: message_lane.\n{read}"), true),
        (format!("-- Index: other_pkey.\n{read}"), true),
        (format!("-- Index: none, the table holds 20 rows.\n{read}"), false),
        ("select *\nfrom postrider.flush(\n    $1\n);".to_owned(), false),
        ("-- from postrider.message\nselect 1".to_owned(), false),
    ];
    for (query, is_caught) in cases {
        assert_eq!(!check(&query).is_empty(), is_caught, "{query}");
    }
}

#[test]
fn a_test_hook_that_a_release_may_have_is_caught() {
    let check = |path: &str, content: &str| lines(test_hooks_stay_out_of_releases, path, content);
    let hook = "//! x\nlet hook = var(\"POSTRIDER_TEST_X\");\n";
    assert_eq!(check("crates/postrider-engine/src/driver.rs", hook), [2]);
    assert_eq!(check("crates/postrider-client/src/worker.rs", hook), [2]);
    assert_eq!(check(HOOKS, hook), NONE);
    let path = "crates/postrider-engine/src/lib.rs";
    let both = format!(
        "{HOOKS_IN}\nmod test_hooks;\n{HOOKS_OUT}\n#[path = \"no_test_hooks.rs\"]\nmod test_hooks;\n"
    );
    assert_eq!(check(path, &both), NONE);
    assert_eq!(check(path, "mod keeper;\nmod test_hooks;\n"), [2]);
    assert_eq!(check(path, "mod test_hooks;\n"), [1]);
    assert_eq!(check(path, &both.replace("any(", "all(")), [2, 5]);
    let release = "[profile.release]\ndebug-assertions = true\n";
    assert_eq!(check("Cargo.toml", release), [2]);
    for (manifest, declared) in HOOKS_DECLARED {
        let features =
            format!("[features]\n# test-hooks\n{declared}\ndefault = [\"test-hooks\"]\n");
        assert_eq!(check(manifest, &features), [4]);
        assert_eq!(check("crates/postrider-core/Cargo.toml", &features), [3, 4]);
    }
    let engine = "engine = { path = \"../engine\", features = [\"test-hooks\"] }\n";
    assert_eq!(check("crates/postrider/Cargo.toml", engine), [1]);
    let flags = "[build]\nrustflags = [\"-Cdebug-assertions\"]\n";
    assert_eq!(check(".cargo/config.toml", flags), [2]);
}

#[test]
fn a_simulation_that_a_release_may_have_is_caught() {
    let check =
        |path: &str, content: &str| lines(the_simulation_stays_out_of_releases, path, content);
    let path = "crates/postrider-core/src/tenure.rs";
    let condition = "#[cfg(any(test, feature = \"simulation\"))]";
    assert_eq!(check(path, &format!("{condition}\npub mod simulation;\n")), NONE);
    assert_eq!(check(path, "pub mod simulation;\n"), [1]);
    let manifest = "crates/postrider/Cargo.toml";
    let core = "core = { path = \"../core\", features = [\"simulation\"] }\n";
    assert_eq!(check(manifest, &format!("[dev-dependencies]\n{core}")), NONE);
    assert_eq!(check(manifest, &format!("[dependencies]\n{core}")), [2]);
    let features = "[features]\nsimulation = []\ndefault = [\"simulation\"]\n";
    assert_eq!(check("crates/postrider-core/Cargo.toml", features), [3]);
}

#[test]
fn all_rules_are_run_and_findings_name_the_place() {
    let found = check_tree(&tree(&[("xtask/src/a.rs", "use x;\n")]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "xtask/src/a.rs:1: the first line is not a `//!` comment");
}

#[test]
fn a_lock_that_is_not_listed_and_one_that_is_not_taken_are_caught() {
    let function = |sql: &str| format!("-- for update\nbegin\n    {sql}\nend");
    let list = |lock: &str, place: &str| {
        format!("# locks\n{lock}\n    in {place}\n    held briefly\n    waits nobody\n")
    };
    for (sql, lock) in [
        ("perform pg_advisory_xact_lock(17, hashtext(x));", "advisory 17"),
        ("select pg_try_advisory_lock_shared(17, s.shard)", "advisory 17"),
        ("perform pg_advisory_unlock(17,\n 4);", "advisory 17, 4"),
        ("lock table postrider.fence in row share mode;", "table fence: row share"),
        ("'lock table only postrider.%I in\n exclusive mode'", "table %i: exclusive"),
        ("alter sequence postrider.s increment by 1;", "sequence s: share row exclusive"),
        ("execute format('truncate %s', part);", "table %s: access exclusive"),
        ("truncate table\n only postrider.a restart identity;", "table a: access exclusive"),
        ("execute format('drop table postrider.%I', part);", "table %i: access exclusive"),
        ("drop table if exists postrider.a cascade;", "table a: access exclusive"),
        ("select from postrider.a for no key update nowait", "row a: no key update"),
        (
            "select from postrider.a x join postrider.b y on f(x, y)\nfor update\nof x skip locked",
            "row a: update",
        ),
        ("select from postrider.a x, postrider.f(1) for key share", "row a: key share"),
    ] {
        let path = "sql/functions/dispatch/f.sql";
        let sql = function(sql);
        let check = |list: &str| {
            let tree = tree(&[(path, &sql), ("sql/locks.txt", list)]);
            let found = locks::every_lock_is_listed(&tree).into_iter();
            found.map(|found| (found.path, found.line)).collect::<Vec<_>>()
        };
        assert_eq!(check(&list(lock, "f")), [], "{sql}");
        let at = check("")[0].clone();
        assert!(at.0 == path && at.1 >= 3, "{sql}: {at:?}");
        let listed = |line| ("sql/locks.txt".to_owned(), line);
        assert_eq!(check(&list(lock, "f g")), [listed(2)], "{sql}");
        let both = format!("{}{}", list(lock, "f"), list("row z: share", "f"));
        assert_eq!(check(&both), [listed(7)], "{sql}");
        let unsaid = list(lock, "f").replace("    waits nobody\n", "");
        assert_eq!(check(&unsaid), [listed(2)], "{sql}");
    }
    let none =
        "-- pg_advisory_lock(1, 2)\nselect pg_advisory_unlock_all(), before_update for updates";
    assert_eq!(lines(locks::every_lock_is_listed, "sql/queries/dispatch/a.sql", none), NONE);

    let shared = "select pg_advisory_lock(17, 1), pg_advisory_lock(17, s.shard);";
    let list = format!("{}{}", list("advisory 17", "a"), list("advisory 17, 1", "a"));
    let files = [("sql/queries/dispatch/a.sql", shared), ("sql/locks.txt", list.as_str())];
    assert_eq!(lines_in(locks::every_lock_is_listed, &files), [7]);
}

#[test]
fn who_empties_drops_attaches_or_detaches_tables_locks_each() {
    let path = "sql/queries/dispatch/a.sql";
    for (sql, locks) in [
        ("truncate a,\n postrider.b;", ["table a: access exclusive", "table b: access exclusive"]),
        (
            "drop table if exists a, postrider.b cascade",
            ["table a: access exclusive", "table b: access exclusive"],
        ),
        (
            "'alter table postrider.%I\nattach partition postrider.a for values from (%L) to (%L)'",
            ["table %i: share update exclusive", "table a: access exclusive"],
        ),
        (
            "alter table postrider.a detach partition postrider.b;",
            ["table a: access exclusive", "table b: access exclusive"],
        ),
    ] {
        let field = |lock| format!("{lock}\n    in a\n    held briefly\n    waits nobody\n");
        let list = locks.map(field).concat();
        let count = |list: &str| {
            let tree = tree(&[(path, sql), ("sql/locks.txt", list)]);
            locks::every_lock_is_listed(&tree).len()
        };
        assert_eq!((count(&list), count("")), (0, 2), "{sql}");
    }
    for none in [
        "create trigger t before truncate on postrider.a",
        "create trigger t after insert or truncate or update on postrider.a",
        "grant select, truncate on postrider.a to b",
        "-- truncate a\nselect a.is_truncated, a.truncate, tg_op = 'TRUNCATE'",
    ] {
        assert_eq!(lines(locks::every_lock_is_listed, path, none), NONE, "{none}");
    }
}

#[test]
fn a_long_function_is_caught() {
    let function = |lines: usize| {
        let body = "        step();\n".repeat(lines - 2);
        format!("//! A.\nimpl A {{\n    pub async fn go(&self) {{\n{body}    }}\n}}\n")
    };
    let rule = shape::functions_are_short;
    let path = "crates/postrider/src/a.rs";
    assert_eq!(lines(rule, path, &function(70)), NONE);
    assert_eq!(lines(rule, path, &function(71)), [3]);
    assert_eq!(lines(rule, "crates/postrider/tests/a.rs", &function(71)), NONE);
    // What only declares one has no body.
    let declared = format!("trait A {{\n    fn go(&self);\n}}\n{}", "// x\n".repeat(80));
    assert_eq!(lines(rule, path, &declared), NONE);
}

#[test]
fn a_struct_with_many_fields_is_caught() {
    let with = |count: usize| {
        let fields: String = (0..count).map(|n| format!("    pub a{n}: u8,\n")).collect();
        format!("pub struct Tenure {{\n{fields}}}\n")
    };
    let rule = shape::structs_of_the_engine_are_small;
    for path in ["crates/postrider-engine/src/a.rs", "crates/postrider-core/src/tenure/b/a.rs"] {
        assert_eq!(lines(rule, path, &with(20)), NONE);
        assert_eq!(lines(rule, path, &with(21)), [1]);
    }
    assert_eq!(lines(rule, "crates/postrider/src/api/shapes.rs", &with(21)), NONE);
}

#[test]
fn a_circle_in_the_dispatcher_is_caught() {
    let file = |name: &str, calls: &str| {
        format!(
            "impl Dispatcher {{\n    fn {name}(&mut self) {{\n        self.{calls}();\n    }}\n}}\n"
        )
    };
    let folder = "crates/postrider-core/src/tenure/dispatcher";
    let [hub, a, b, c] = ["", "/a", "/b", "/c"].map(|name| format!("{folder}{name}.rs"));
    let rule = shape::the_dispatcher_has_no_circles;
    let straight = [(&*hub, file("step", "a")), (&*a, file("a", "b")), (&*b, file("b", "other"))];
    let found = |files: &[(&str, String)]| {
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        rule(&tree(&files)).into_iter().map(|found| found.path).collect::<Vec<_>>()
    };
    assert_eq!(found(&straight), Vec::<String>::new());
    let round = [
        (&*hub, file("step", "a")),
        (&*a, file("a", "b")),
        (&*b, file("b", "a")),
        (&*c, file("c", "nobody")),
    ];
    assert_eq!(found(&round), [a.clone(), b.clone()]);
}

#[test]
fn what_makes_the_engine_hard_to_reason_about_is_counted() {
    let tree = tree(&[
        (
            "crates/postrider-core/src/tenure/dispatcher.rs",
            "struct Dispatcher {\n    is_done: bool,\n    pub(super) due_at: Instant,\n    lanes: Lanes,\n}\n\
             fn f() {\n    Instant::now();\n}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn g() {\n        \
             Instant::now();\n    }\n}\n",
        ),
        (
            "crates/postrider-core/src/tenure/command.rs",
            "pub enum Event {\n    One,\n    Two(Box<dyn Any>),\n    Three {\n        x: u8,\n    },\n}\n",
        ),
        ("crates/postrider/tests/all.rs", "#[tokio::test]\nasync fn a() {}\n#[test]\nfn b() {}\n"),
        (
            "ARCHITECTURE.md",
            "It makes 21 stops in\n18 files, 13 of Rust. Four times it leaves the dispatcher for more.",
        ),
    ]);
    let counts: Vec<_> = count::count(&tree).into_iter().map(|count| count.number).collect();
    assert_eq!(counts, [3, 3, 1, 1, 1, 1, 3, 0, 21, 18, 4, 1, 1, 0, 1, 2]);
}

#[test]
fn a_module_is_tested_by_tests_of_its_own_if_it_does_anything() {
    const TENURE: &str = "crates/postrider-core/src/tenure";
    let function = "pub fn f() {\n    g();\n}\n";
    let declared = format!("{function}#[cfg(test)]\nmod tests;\n");
    let test = "#[test]\nfn t() {\n    f();\n}\n";
    let file = |name: &str| format!("{TENURE}/{name}.rs");
    let files = [
        (file("plain"), function.to_owned()),
        (file("within"), format!("{function}#[cfg(test)]\nmod tests {{\n    {test}}}\n")),
        (file("beside"), declared.clone()),
        (file("beside/tests"), test.to_owned()),
        // Its tests are helpers of others.
        (file("helpers"), declared),
        (file("helpers/tests"), "pub fn h() {\n    g();\n}\n".to_owned()),
        (
            file("data"),
            "pub struct A {\n    pub b: u8,\n}\npub trait C {\n    fn d();\n}\n".to_owned(),
        ),
        (file("simulation/world"), function.to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let counts = count::count(&tree(&files));
    let found = counts.iter().find(|count| count.what.starts_with("modules of a tenure"));
    let found = found.map(|count| (count.number, count.of.as_str()));
    assert_eq!(found, Some((2, "of 4; 1 more have no function")));
}
