//! `postrider doctor`: things are broken for real, and the advice is looked for.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::shop::{Shop, run};

/// What is found of this.
fn found(shop: &Shop, what: &str) -> Vec<Value> {
    let run = shop.run(&["doctor", "--json"]);
    assert!(run.code < 2, "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(run.code, i32::from(!findings.is_empty()));
    findings.iter().filter(|f| f["what"].as_str().unwrap().contains(what)).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_is_found_and_what_to_type_is_said() {
    let shop = Shop::open_migrated().await;
    for (break_it, what, command) in [
        (
            "drop index postrider.dead_letter_summary",
            "index postrider.dead_letter_summary is missing",
            "postrider migrate --print",
        ),
        (
            "update pg_index set indisvalid = false
            where indexrelid = 'postrider.dead_letter_message'::regclass",
            "index postrider.dead_letter_message is invalid",
            "reindex index concurrently postrider.dead_letter_message",
        ),
        (
            "select postrider.set_setting('http_connect_timeout', '200')",
            "http_connect_timeout is 200, more than http_timeout",
            "postrider setting reset http_connect_timeout",
        ),
        (
            "select postrider.set_setting('allow_internal_destinations', 'on')",
            "allow_internal_destinations is on",
            "postrider setting set allow_internal_destinations",
        ),
        (
            "select pg_create_physical_replication_slot('forgotten', true)",
            "replication slot forgotten is not in use",
            "pg_drop_replication_slot('forgotten')",
        ),
        (
            "grant usage on schema postrider to public",
            "everybody has rights on the schema postrider",
            "revoke all on schema postrider from public",
        ),
        (
            "alter role postrider_monitor rename to somebody",
            "there is no role postrider_monitor",
            "create role \"postrider_monitor\" nologin",
        ),
        (
            "select postrider.create_endpoint('a', 'discard', '{}'); select postrider.send('a', '{}');
            select postrider.pause_endpoint('a')",
            "endpoint a is paused, and 1 messages wait for it",
            "postrider endpoint resume a",
        ),
    ] {
        assert_eq!(found(&shop, what), [Value::Null; 0], "{what}");
        shop.execute(break_it).await;
        let findings = found(&shop, what);
        assert_eq!(findings.len(), 1, "{what}");
        assert!(findings[0]["command"].as_str().unwrap().contains(command), "{findings:?}");
        assert!(!findings[0]["why"].as_str().unwrap().is_empty());
    }
    // Nobody delivers.
    assert_eq!(found(&shop, "dispatchers: ")[0]["command"], "postrider serve");
    let text = shop.run(&["doctor"]);
    assert!(
        text.stdout.contains("dispatchers: ") && text.stdout.contains("There is something to do."),
        "{text:?}"
    );
    let _dispatcher = shop.serve().await;
    assert_eq!(found(&shop, "dispatchers: "), [Value::Null; 0]);
}

/// A database that stands still ends it as one that is not there does, and what is locked spares the rest.
#[tokio::test(flavor = "multi_thread")]
async fn it_ends_whatever_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://shop@{}/shop", silent.local_addr().unwrap());
    let began = Instant::now();
    run(&url, &["doctor"], "").fail(3, "");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());

    let shop = Shop::open_migrated().await;
    let other = shop.client().await;
    other
        .batch_execute("begin; lock table postrider.setting in access exclusive mode")
        .await
        .unwrap();
    let run = shop.run(&["doctor", "--json"]);
    assert_eq!(run.code, 3, "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let status = |check: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|row| row["check"] == check).unwrap()["status"].clone()
    };
    assert_eq!(status("settings"), "not asked");
    assert_eq!(status("indexes"), "healthy");
    assert_eq!(status("roles"), "healthy");
}
