//! The command line: what waits, and what became of a message.

use crate::shop::Shop;
use serde_json::{Value, json};

async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    for name in ["orders", "audit"] {
        shop.run(&["endpoint", "create", name, "--protocol", "discard"]).succeed();
    }
    shop
}

fn ids(rows: &Value) -> Vec<i64> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_shown_from_the_oldest() {
    let shop = open().await;
    assert_eq!(shop.run(&["queue"]).succeed().stdout, "Nothing waits to be delivered.\n");
    let send = |arguments: &[&str]| {
        let sent = shop.run(&[&["send"], arguments, &["--json"]].concat()).json();
        sent["id"].as_i64().unwrap()
    };
    let first = send(&["orders", "1", "--priority", "3", "--key", "k", "--delay", "1h"]);
    let other = send(&["audit", "2"]);
    let last = send(&["orders", "3"]);
    let queue = |options: &[&str]| shop.run(&[&["queue", "--json"], options].concat()).json();
    let rows = queue(&["--endpoint", "orders"]);
    assert_eq!(ids(&rows), [first, last]);
    let row = &rows[0];
    assert_eq!((&row["priority"], &row["ordering_key"]), (&json!(3), &json!("k")));
    assert_eq!((&row["endpoint_name"], &row["retry_count"]), (&json!("orders"), &json!(0)));
    assert!(row["scheduled_at"].is_string() && row["created_at"].is_string(), "{row}");
    assert_eq!(ids(&queue(&["--limit", "2"])), [first, other]);
    let table = shop.run(&["queue"]).succeed().stdout;
    assert!(table.starts_with("ID "), "{table}");
    assert_eq!(table.lines().count(), 4);
    shop.run(&["queue", "--limit", "0"]).fail(2, "0 is not in 1..=10000");
    shop.run(&["queue", "--limit", "10001"]).fail(2, "10001 is not in 1..=10000");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_a_status_for_each_endpoint() {
    let shop = open().await;
    shop.run(&["event-type", "create", "order.paid"]).succeed();
    for endpoint in ["orders", "audit"] {
        shop.run(&["subscription", "create", "order.*", endpoint]).succeed();
    }
    let id = shop.run(&["publish", "order.paid", "1", "--json"]).json()["id"].to_string();
    let rows = shop.run(&["message", &id, "--json"]).json()["deliveries"].clone();
    let endpoints: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["endpoint_name"].as_str().unwrap()).collect();
    assert_eq!(endpoints, ["audit", "orders"]);
    assert_eq!((&rows[0]["retry_count"], &rows[0]["completed_at"]), (&json!(0), &Value::Null));
    let table = shop.run(&["message", &id]).succeed().stdout;
    assert!(table.contains("Deliveries\nENDPOINT NAME  STATUS"), "{table}");
    let by_name = shop.run(&["message", &format!("msg_{id}"), "--json"]).json();
    assert_eq!(by_name["id"].to_string(), id);
    shop.run(&["cancel", &id]).succeed();
    let rows = shop.run(&["message", &id, "--json"]).json()["deliveries"].clone();
    assert_eq!(
        (&rows[0]["status"], &rows[1]["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    shop.run(&["message", "4096"]).fail(1, "Message 4096 does not exist");
    shop.run(&["message", "0"]).fail(2, "from 1 to 9223372036854775807");
}
