//! docs/examples: each language's program is run, and the pages show all of them as they are.

use std::error::Error;
use std::iter::successors;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::examples;
use postrider_testkit::pgbouncer::{self, PrivatePgBouncer};
use postrider_testkit::process;
use postrider_testkit::receiver::{Behaviour, Receiver};

#[allow(dead_code)]
#[path = "../../../docs/examples/rust/send.rs"]
mod rust;

const PAGES: [&str; 4] =
    ["docs/clients.md", "docs/fleets.md", "docs/webhooks/receiving.md", "docs/webhooks/moving.md"];

/// Where an order is placed.
#[derive(Clone, Copy)]
struct Server<'a> {
    url: &'a str,
    is_pooled: bool,
}

/// `place` makes the command that places an order: where, the order, the item.
async fn check(place: impl Fn(Server<'_>, &str, &str) -> Command) {
    check_placing(async |server, order, item| {
        let output = place(server, order, item).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    })
    .await;
}

/// `place` places an order, and returns what it says and which errors. The order and its messages are
/// there together or not at all, and once however often it runs. It works directly and through
/// PgBouncer, with the rights of an application, and tells refusals apart.
async fn check_placing(place: impl AsyncFn(Server<'_>, &str, &str) -> [String; 2]) {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("warehouse", &receiver.url()).await;
    shop.execute(
        "create table orders (id bigint primary key, item text not null);
        create role app login in role postrider_application;
        grant select, insert on orders to app;
        select postrider.create_event_type('order.placed');
        select postrider.subscribe('order.placed', 'warehouse')",
    )
    .await;
    let mut options = pgbouncer::Options::default();
    options.roles.push("app".to_owned());
    let pooler = PrivatePgBouncer::start(&shop.postgres, &options).unwrap();
    let (url, pooled_url) = (shop.postgres.url_as("app", "shop"), pooler.url_as("app", "shop"));
    let direct = Server { url: &url, is_pooled: false };
    let pooled = Server { url: &pooled_url, is_pooled: true };

    check_rolled_back(&shop, async |item| place(direct, "1", item).await).await;
    let placed = check_placed(place(direct, "1", "it's a lamp").await);
    check_rows(&shop, [1, 1, 1]).await;
    let sql = "select bool_and(item = 'it''s a lamp' and m.idempotency_key = 'order 1'
            and m.payload = '{\"order\": 1, \"item\": \"it''s a lamp\"}'
            and (m.endpoint_name = 'warehouse'
                or m.priority = 5 and m.ordering_key = 'order 1'
                and m.headers = '{\"x-tenant\": \"acme\"}'
                and m.expires_at - m.created_at between '59 min' and '61 min'))
        from orders cross join postrider.message m";
    assert!(shop.ask::<bool>(sql).await);
    // While they wait, and when they have been delivered.
    assert_eq!(check_placed(place(direct, "1", "it's a lamp").await), placed);
    let dispatcher = shop.serve().await;
    shop.until("select count(ended_at) = 2 from postrider.idempotency_key").await;
    assert_eq!(check_placed(place(pooled, "1", "it's a lamp").await), placed);
    check_rows(&shop, [1, 1, 1]).await;
    // What comes after them is there, and they were delivered once each.
    shop.send("warehouse", json!("the last")).await;
    receiver.wait_for_accepted(3, LONG).await.unwrap();
    assert_eq!((receiver.request_count(), receiver.distinct_ids().len()), (3, 3));
    let delivered = "select count(*) = 3 and bool_and(s.status = 'completed')
        from postrider.message m cross join postrider.message_status(m.id) s";
    shop.until(delivered).await;
    dispatcher.stop(LONG).await.unwrap();

    check_refusal(place(pooled, "1", "chair").await, "order 1 was placed with another item");
    shop.execute("select postrider.set_setting('max_queue_size', '1')").await;
    check_refusal(place(direct, "2", "lamp").await, "too many messages wait; try again later");
    check_rows(&shop, [1, 2, 1]).await;
}

/// A commit that fails leaves nothing: neither the order nor a message.
async fn check_rolled_back(shop: &Shop, place: impl AsyncFn(&str) -> [String; 2]) {
    shop.execute(
        "create function close_the_shop() returns trigger language plpgsql as
            $$ begin raise exception 'the shop is closed'; end; $$;
        create constraint trigger closed after insert on orders deferrable initially deferred
            for each row execute function close_the_shop()",
    )
    .await;
    for item in ["it's a lamp", "chair"] {
        let [out, err] = place(item).await;
        assert!(out.is_empty() && err.contains("the shop is closed"), "{out}{err}");
        check_rows(shop, [0, 0, 0]).await;
    }
    shop.execute("drop trigger closed on orders").await;
}

/// How many orders there are, messages to one endpoint, and events.
async fn check_rows(shop: &Shop, expected: [i64; 3]) {
    let sql = "select array[(select count(*) from orders), count(endpoint_name), count(event_type)]
        from postrider.message";
    assert_eq!(shop.ask::<Vec<i64>>(sql).await, expected, "orders, to one endpoint, events");
}

/// The ids of the messages that it says it has sent.
#[track_caller]
fn check_placed([out, err]: [String; 2]) -> String {
    let ids = out.trim().strip_prefix("order 1 placed, messages ");
    ids.unwrap_or_else(|| panic!("{out}{err}")).to_owned()
}

/// The program said this and nothing more; psql prints the error itself before it.
#[track_caller]
fn check_refusal([out, err]: [String; 2], text: &str) {
    let line = err.lines().last().unwrap_or_default().trim();
    assert!(out.is_empty() && line == text && err.lines().count() <= 2, "{out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_psql_example_works() {
    check(|Server { url, .. }, order, item| {
        let mut command = Command::new("psql");
        command.args([url, "-X", "-q", "-v", &format!("order={order}")]);
        command.args(["-v", &format!("item={item}"), "-f"]);
        command.arg(examples::folder().join("psql.sql"));
        // The error itself is printed, too.
        command.args(["-v", "VERBOSITY=terse"]);
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_example_works() {
    check_placing(async |Server { url, .. }, order, item| {
        match rust::run(url, order.parse().unwrap(), item).await {
            Ok(said) => [said, String::new()],
            Err(error) => {
                let causes = successors(Some(&*error as &dyn Error), |&cause| cause.source());
                let causes = causes.map(|cause| cause.to_string()).collect::<Vec<_>>();
                [String::new(), causes.join(": ")]
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_example_works() {
    let python = examples::python().unwrap();
    check(|Server { url, .. }, order, item| {
        let mut command = Command::new(&python);
        command.arg(examples::folder().join("python/send.py")).args([order, item]);
        command.env("DATABASE_URL", url);
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_example_works() {
    let folder = examples::node().unwrap();
    // Node.js looks for libraries next to the program.
    let program = folder.join("send.mjs");
    std::fs::copy(examples::folder().join("node/send.mjs"), &program).unwrap();
    check(|Server { url, .. }, order, item| {
        let mut command = Command::new("node");
        command.arg(&program).args([order, item]).env("DATABASE_URL", url);
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_go_example_works() {
    let program = examples::go().unwrap();
    check(|Server { url, .. }, order, item| {
        let mut command = Command::new(&program);
        command.args([order, item]).env("DATABASE_URL", url).env("PGSSLMODE", "disable");
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_java_example_works() {
    let [program, arguments @ ..] = &examples::java().unwrap()[..] else { panic!("no program") };
    check(|Server { url, is_pooled }, order, item| {
        let (role, rest) = url.split_once("://").unwrap().1.split_once('@').unwrap();
        let threshold = if is_pooled { "&prepareThreshold=0" } else { "" };
        let mut command = Command::new(program);
        command.args(arguments).args([order, item]);
        command.env("JDBC_URL", format!("jdbc:postgresql://{rest}?user={role}{threshold}"));
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rails_example_works() {
    let ruby = examples::ruby().unwrap();
    check(|Server { url, is_pooled }, order, item| {
        let options =
            if is_pooled { "?prepared_statements=false&advisory_locks=false" } else { "" };
        let mut command = Command::new(&ruby);
        command.arg(process::workspace().join("crates/postrider/tests/examples/rails.rb"));
        command.arg(examples::folder().join("rails/place_order.rb")).args([order, item]);
        command.env("DATABASE_URL", format!("{url}{options}"));
        command
    })
    .await;
}

/// Each example is shown by one of the pages.
#[test]
fn the_pages_show_the_examples_as_they_are() {
    let shown: Vec<_> = PAGES.into_iter().flat_map(check_shown).collect();
    for file in files(&examples::folder()) {
        let file = file.strip_prefix(examples::folder()).unwrap().to_owned();
        assert!(shown.contains(&file), "{PAGES:?} do not show {}", file.display());
    }
}

/// Behind a line that ends with a link to an example stands its code. `UPDATE=1` writes it.
fn check_shown(page_path: &str) -> Vec<PathBuf> {
    let path = process::workspace().join(page_path);
    let page = std::fs::read_to_string(&path).unwrap();
    let (mut expected, mut shown) = (String::new(), Vec::new());
    let mut lines = page.lines();
    let mut example = None;
    while let Some(line) = lines.next() {
        expected += &format!("{line}\n");
        let link = line.strip_suffix("):").and_then(|line| line.rsplit_once("]("));
        let path =
            link.and_then(|(_, path)| path.trim_start_matches("../").strip_prefix("examples/"));
        example = path.map(str::to_owned).or(example);
        if let Some(path) = example.take_if(|_| line.starts_with("```")) {
            lines.find(|line| line.starts_with("```")).expect("the code ends");
            let code = std::fs::read_to_string(examples::folder().join(&path)).unwrap();
            expected += &format!("{}\n```\n", code.trim_end());
            shown.push(PathBuf::from(path));
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "{page_path} is behind; UPDATE=1 writes it");
    }
    shown
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
