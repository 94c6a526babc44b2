//! docs/examples: those that can be run here are run, and the page shows all of them as they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shop::{Shop, producing::delivered};
use xtask::examples;
use xtask::pgbouncer::{self, PrivatePgBouncer};

const PAGES: [&str; 2] = ["docs/clients.md", "docs/fleets.md"];

/// `place` makes the command that places an order in a database: its address, the order, the item. It
/// works directly and through PgBouncer, and tells refusals apart.
async fn check(place: impl Fn(&str, &str, &str) -> Command) {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create table orders (id bigint primary key, item text not null);
        select postrider.create_endpoint('warehouse', 'discard', '{}');
        select postrider.create_event_type('order.placed');
        select postrider.subscribe('order.placed', 'warehouse')",
    )
    .await;
    let client = shop.client().await;
    let pooler = PrivatePgBouncer::start(&shop.postgres, &pgbouncer::Options::default()).unwrap();
    let pooled_url = pooler.url_as("postgres", "shop");
    let run = |url: &str, order: &str, item: &str| {
        let output = place(url, order, item).output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (out, err)
    };
    let state = async || {
        let sql = "select (select count(*) from orders), count(endpoint_name), count(event_type)
            from postrider.message";
        let row = client.query_one(sql, &[]).await.unwrap();
        [0, 1, 2].map(|at| row.get::<_, i64>(at))
    };

    let (out, err) = run(&shop.url(), "1", "it's a lamp");
    assert!(out.starts_with("order 1 placed, messages "), "{out}{err}");
    assert_eq!(state().await, [1, 1, 1]);
    let sql =
        "select item = 'it''s a lamp' and m.payload = '{\"order\": 1, \"item\": \"it''s a lamp\"}'
            and (m.endpoint_name = 'warehouse'
                or m.priority = 5 and m.idempotency_key = 'order 1' and m.ordering_key = 'order 1'
                and m.headers = '{\"x-tenant\": \"acme\"}'
                and m.expires_at - m.created_at between '59 min' and '61 min')
        from orders cross join postrider.message m";
    for row in client.query(sql, &[]).await.unwrap() {
        assert!(row.get::<_, bool>(0));
    }
    // It is delivered by the time it runs again.
    let published = "select m.id from postrider.message m where m.event_type is not null";
    let published: i64 = shop.ask(published).await;
    shop.execute(&delivered(published)).await;
    shop.execute(&format!("select postrider.free_idempotency_keys(array[{published}])")).await;
    let (out, err) = run(&pooled_url, "1", "it's a lamp");
    assert!(out.starts_with("order 1 placed, messages "), "{out}{err}");
    assert_eq!(state().await, [1, 2, 1], "published once");
    let (out, err) = run(&pooled_url, "1", "chair");
    check_refusal(&out, &err, "order 1 was placed with another item");
    shop.execute("select postrider.set_setting('max_queue_size', '1')").await;
    let (out, err) = run(&shop.url(), "2", "lamp");
    check_refusal(&out, &err, "too many messages wait; try again later");
    assert_eq!(state().await, [1, 2, 1], "nothing of what was refused is left");
}

/// The program said this and nothing more; psql prints the error itself before it.
#[track_caller]
fn check_refusal(out: &str, err: &str, text: &str) {
    let line = err.lines().last().unwrap_or_default().trim();
    assert!(out.is_empty() && line == text && err.lines().count() <= 2, "{out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_psql_example_works() {
    check(|url, order, item| {
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
async fn the_python_example_works() {
    let python = examples::python().unwrap();
    check(|url, order, item| {
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
    check(|url, order, item| {
        let mut command = Command::new("node");
        command.arg(&program).args([order, item]).env("DATABASE_URL", url);
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
    let path = xtask::process::workspace().join(page_path);
    let page = std::fs::read_to_string(&path).unwrap();
    let (mut expected, mut shown) = (String::new(), Vec::new());
    let mut lines = page.lines();
    let mut example = None;
    while let Some(line) = lines.next() {
        expected += &format!("{line}\n");
        let link = line.strip_suffix("):").and_then(|line| line.rsplit_once("](examples/"));
        example = link.map(|(_, path)| path.to_owned()).or(example);
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
