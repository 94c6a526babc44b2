//! The resources of the API: each by its own statement, as the role of a token.

use std::collections::BTreeSet;

use crate::shop::{Shop, asking::Asked, serving::LONG};
use postrider_testkit::{
    process::Dispatcher,
    receiver::{Behaviour, Receiver},
};
use serde_json::{Value, json};

/// A shop whose dispatcher listens, and its admin.
async fn open() -> (Shop, Dispatcher, Asked) {
    let shop = Shop::open_to_receivers().await;
    let (dispatcher, asked) = shop.serve_asked().await;
    let admin = asked.bearing(&shop.token("ada", "admin"));
    (shop, dispatcher, admin)
}

fn path(rest: &str) -> String {
    format!("/api/v1/{rest}")
}

async fn make(admin: &Asked, rest: &str, body: Value) -> Value {
    admin.post(&path(rest), &body).await.expect(201).json()
}

async fn read(asked: &Asked, rest: &str) -> Value {
    asked.get(&path(rest)).await.expect(200).json()
}

async fn discard(admin: &Asked, name: &str) {
    make(admin, "endpoints", json!({ "name": name, "protocol": "discard", "config": {} })).await;
}

/// All items of a list, page by page.
async fn pages(asked: &Asked, list: &str, limit: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let mut next = String::new();
    for _ in 0..1_000 {
        let mark = if list.contains('?') { '&' } else { '?' };
        let page = read(asked, &format!("{list}{mark}limit={limit}{next}")).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit, "{page}");
        all.extend(items.iter().cloned());
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => return all,
        }
    }
    panic!("{list} has no end")
}

// Endpoints ---------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_changed_by_who_has_read_what_is_there() {
    let (_shop, _dispatcher, admin) = open().await;
    discard(&admin, "orders").await;
    let place = path("endpoints/orders");
    let reply = admin.get(&place).await.expect(200);
    let tag = reply.header("etag").unwrap().to_owned();
    assert_eq!(reply.json()["protocol"], "discard");
    let head = admin.ask("HEAD", &place, "").await.expect(200);
    assert_eq!((head.header("etag"), head.body.as_str()), (Some(tag.as_str()), ""));
    let paused = json!({ "paused": true }).to_string();

    admin.ask("PATCH", &place, &paused).await.problem(428, "precondition_required");
    let if_match = |tags: &str| admin.with("if-match", tags);
    for tags in ["\"0-0\"", "\"\"", &format!("W/{tag}")] {
        let refused = if_match(tags).ask("PATCH", &place, &paused).await;
        refused.problem(412, "precondition_failed");
    }
    for tags in ["x", "\"x", "*, \"1\"", "\"a\"b\""] {
        let refused = if_match(tags).ask("PATCH", &place, &paused).await;
        refused.problem(400, "invalid_parameter");
    }
    assert_eq!(read(&admin, "endpoints/orders").await["paused"], false, "nothing was done");
    let changed = if_match(&format!("\"0-0\", {tag}")).ask("PATCH", &place, &paused).await;
    let changed = changed.expect(200);
    let newer = changed.header("etag").unwrap().to_owned();
    assert_ne!(newer, tag);
    assert_eq!(admin.get(&place).await.header("etag"), Some(newer.as_str()));
    // Who read it before does not undo what was done since.
    let late = if_match(&tag);
    late.ask("PATCH", &place, "{\"enabled\": false}").await.problem(412, "precondition_failed");
    late.ask("DELETE", &place, "").await.problem(412, "precondition_failed");
    if_match("*").ask("PATCH", &place, "{\"paused\": false}").await.expect(200);

    let policy = json!({ "retry_policy": { "max_retries": 3 } }).to_string();
    if_match("*").ask("PATCH", &place, &policy).await.expect(200);
    assert_eq!(read(&admin, "endpoints/orders").await["retry_policy"]["max_retries"], 3);
    if_match("*").ask("PATCH", &place, "{\"retry_policy\": null}").await.expect(200);
    assert_eq!(read(&admin, "endpoints/orders").await["retry_policy"], Value::Null);
    let refused = if_match("*").ask("PATCH", &place, "{\"config\": null}").await;
    refused.problem(400, "invalid_body");
    let nobody = if_match("*").ask("PATCH", &path("endpoints/nobody"), &paused).await;
    nobody.problem(404, "undefined_object");
    // Where there are no versions none is judged.
    let refused = if_match("*").post(&path("endpoints/orders/pause"), &json!({})).await;
    refused.problem(400, "invalid_parameter");

    if_match("*").ask("DELETE", &place, "").await.expect(200);
    admin.get(&place).await.problem(404, "undefined_object");
    admin.ask("DELETE", &place, "").await.problem(404, "undefined_object");
}

#[tokio::test(flavor = "multi_thread")]
async fn verbs_of_endpoints_say_whether_they_changed_anything() {
    let (_shop, _dispatcher, admin) = open().await;
    discard(&admin, "orders").await;
    let tell = async |verb: &str| {
        admin.ask("POST", &path(&format!("endpoints/orders/{verb}")), "").await.expect(200).json()
    };
    for (verb, field, value) in [
        ("pause", "paused", true),
        ("resume", "paused", false),
        ("disable", "enabled", false),
        ("enable", "enabled", true),
    ] {
        assert_eq!(tell(verb).await, json!({ "is_changed": true }), "{verb}");
        assert_eq!(tell(verb).await, json!({ "is_changed": false }), "{verb}");
        assert_eq!(read(&admin, "endpoints/orders").await[field], value);
    }
    tell("reset-circuit").await;
    assert_eq!(read(&admin, "endpoints/orders/health").await["circuit_state"], "closed");
    let all = admin.post(&path("pause-all"), &json!({})).await.expect(200).json();
    assert_eq!(all["paused_count"], 1);
    let all = admin.post(&path("resume-all"), &json!({})).await.expect(200).json();
    assert_eq!(all["resumed_count"], 1);
    let refused = json!({ "protocol": "http", "config": { "urll": "x" } });
    let refused = admin.post(&path("validate/endpoint"), &refused).await;
    refused.problem(400, "invalid_parameter_value");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_written_and_not_read() {
    let (shop, _dispatcher, admin) = open().await;
    const SECRET: &str = "Bearer very-secret-word";
    let config = json!({
        "url": "http://127.0.0.1:8080/hook", "headers": { "authorization": SECRET },
    });
    let body = json!({ "name": "hooks", "protocol": "http", "config": config });
    let made = admin.post(&path("endpoints"), &body).await.expect(201);
    assert!(!made.body.contains("whsec_"), "{made:?}");
    let viewer = admin.clone();
    let viewer = Asked { headers: Vec::new(), ..viewer }.bearing(&shop.token("vic", "viewer"));
    let keys = read(&admin, "endpoints/hooks/signing-keys").await;
    let id = keys["items"][0]["id"].as_str().unwrap();
    let keyed = format!("endpoints/hooks/signing-keys/{id}");
    let reveal = path(&format!("{keyed}/reveal"));
    // A kept answer would have the key in it.
    let kept = admin.with("idempotency-key", "k");
    kept.post(&reveal, &json!({})).await.problem(400, "invalid_idempotency_key");
    viewer.post(&reveal, &json!({})).await.problem(403, "insufficient_privilege");
    let revealed = admin.post(&reveal, &json!({})).await.expect(200).json();
    let mut secrets = vec![SECRET.to_owned(), revealed["key"].as_str().unwrap().to_owned()];
    assert!(secrets[1].starts_with("whsec_"), "{revealed}");
    let rotated = make(&admin, "endpoints/hooks/signing-keys/rotate", json!({})).await;
    secrets.push(rotated["key"].as_str().unwrap().to_owned());
    let after = json!({ "after": "PT1H" });
    let retired = admin.post(&path(&format!("{keyed}/retire")), &after).await.expect(200);
    assert!(retired.json()["retires_at"].is_string());
    let token = make(&admin, "tokens", json!({ "name": "tom", "role": "viewer" })).await;
    let token = token["token"].as_str().unwrap().to_owned();
    let third = Asked { headers: Vec::new(), ..admin.clone() }.bearing(&token);
    read(&third, "endpoints").await;
    secrets.push(token);

    for list in
        ["endpoints", "endpoints/hooks", "endpoints/hooks/signing-keys", "tokens", "event-log"]
    {
        for asked in [&admin, &viewer] {
            let text = asked.get(&path(list)).await.expect(200).body;
            for secret in &secrets {
                assert!(!text.contains(secret.as_str()), "{list}: {text}");
            }
        }
    }
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.api_request").await, 0);
    admin.ask("DELETE", &path("tokens/tom"), "").await.expect(200);
    third.get(&path("endpoints")).await.problem(401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_what_an_application_wrote_does_not() {
    let (shop, _dispatcher, admin) = open().await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.quick_endpoint("hooks", &format!("{}?key=word-in-url", receiver.url())).await;
    let id = shop.send("hooks", json!({ "text": "word-in-payload" })).await;
    shop.until("select exists (select from postrider.dead_letter)").await;
    let viewer = Asked { headers: Vec::new(), ..admin.clone() };
    let viewer = viewer.bearing(&shop.token("vic", "viewer"));
    let letter = read(&admin, "dead-letters").await["items"][0]["id"].clone();
    for (place, word) in [
        (format!("messages/msg_{id}"), "word-in-payload"),
        (format!("dead-letters/{letter}"), "word-in-payload"),
        ("endpoints/hooks".to_owned(), "word-in-url"),
        ("endpoints".to_owned(), "word-in-url"),
    ] {
        let whole = admin.get(&path(&place)).await.expect(200).body;
        assert!(whole.contains(word), "{place}: {whole}");
        let masked = viewer.get(&path(&place)).await.expect(200).body;
        assert!(!masked.contains(word), "{place}: {masked}");
    }
    assert_eq!(read(&viewer, &format!("messages/{id}")).await["deliveries"][0]["status"], "failed");
    let attempts = read(&viewer, &format!("messages/{id}/attempts")).await;
    assert_eq!(attempts["items"][0]["status"], 400);
    assert!(attempts["items"][0].get("response_body").is_none(), "{attempts}");

    // What other sessions run is for a role that may see it, whoever this process is.
    shop.execute(
        "create table public.t ();
        select postrider.create_consumer('t', p_ordering => 'transaction');
        grant pg_read_all_stats to postrider_admin",
    )
    .await;
    let other = shop.client().await;
    let open = "begin; insert into public.t default values /* word-in-query */";
    other.batch_execute(open).await.unwrap();
    shop.send("hooks", json!({})).await;
    shop.until(
        "select exists (
            select from postrider.consumers c where c.waits_for_query like '%word-in-query%')",
    )
    .await;
    let whole = read(&admin, "consumers/t").await["partitions"][0].clone();
    assert!(whole["waits_for_query"].as_str().unwrap().contains("word-in-query"), "{whole}");
    let masked = read(&viewer, "consumers/t").await["partitions"][0].clone();
    assert_eq!(masked["waits_for_pid"], whole["waits_for_pid"]);
    assert_eq!(masked["waits_for_query"], json!(null));
}

// Lists -------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_one_another_and_none_is_lost() {
    let shop = Shop::open_migrated().await;
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'discard', '{{}}')"))
            .await;
    }
    shop.execute(
        "select postrider.create_event_type('x.y');
        select postrider.subscribe('x.*', n) from unnest(array['a','b','c','d','e','f']) n;
        select postrider.pause_all();
        select postrider.publish('x.y', '1') from generate_series(1, 3);
        select postrider.send('b', '1') from generate_series(1, 4);
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
            priority, payload)
        select n, 1, 1, case when n % 3 = 0 then 'a' else 'b' end, 'rejected', 1, now(), 0, '{}'
        from generate_series(1, 10) n",
    )
    .await;
    let (_dispatcher, asked) = shop.serve_asked().await;
    let asked = asked.bearing(&shop.token("vic", "viewer"));
    let whole = read(&asked, "queue").await;
    assert_eq!((whole["items"].as_array().unwrap().len(), &whole["next"]), (22, &Value::Null));
    // Deliveries of one message have one id: a page may end between them.
    for limit in [1, 3, 7, 22] {
        let all = pages(&asked, "queue", limit).await;
        let ids: BTreeSet<_> =
            all.iter().map(|item| format!("{} {}", item["id"], item["endpoint_name"])).collect();
        assert_eq!((all.len(), ids.len()), (22, 22), "{limit}");
        assert_eq!(pages(&asked, "queue?endpoint_name=b", limit).await.len(), 7, "{limit}");
        assert_eq!(pages(&asked, "queue?event_type=x.y", limit).await.len(), 18, "{limit}");
        assert_eq!(pages(&asked, "endpoints", limit).await.len(), 6);
        assert_eq!(pages(&asked, "endpoint-health", limit).await.len(), 6);
        assert_eq!(pages(&asked, "dead-letters", limit).await.len(), 10);
        assert_eq!(pages(&asked, "dead-letters?endpoint_name=a", limit).await.len(), 3);
        assert_eq!(pages(&asked, "subscriptions", limit).await.len(), 6);
    }
    let admin = Asked { headers: Vec::new(), ..asked.clone() };
    let admin = admin.bearing(&shop.token("ada", "admin"));
    admin.post(&path("resume-all"), &json!({})).await.expect(200);
    shop.until("select not exists (select from postrider.queue)").await;
    for limit in [1, 5] {
        let all = pages(&asked, "archive", limit).await;
        let ids: BTreeSet<_> =
            all.iter().map(|item| format!("{} {}", item["id"], item["endpoint_name"])).collect();
        assert_eq!((all.len(), ids.len()), (22, 22), "{limit}");
        assert_eq!(pages(&asked, "archive?endpoint_name=b", limit).await.len(), 7, "{limit}");
    }
    // What nothing has or had is no empty list; what is known and has nothing is one.
    shop.execute("select postrider.create_event_type('x.z'); select postrider.drop_endpoint('f')")
        .await;
    for (list, says) in [
        ("queue?endpoint_name=nobody", "Endpoint 'nobody' does not exist"),
        ("queue?event_type=nothing", "Event type 'nothing' does not exist"),
        ("archive?endpoint_name=nobody&limit=1", "Endpoint 'nobody' does not exist"),
        ("archive?endpoint_name=a&event_type=nothing", "Event type 'nothing' does not exist"),
        ("dead-letters?endpoint_name=nobody", "Endpoint 'nobody' does not exist"),
        ("subscriptions?endpoint_name=nobody", "Endpoint 'nobody' does not exist"),
        ("subscriptions?event_type=nothing", "Event type 'nothing' does not exist"),
        ("messages/999999999/attempts", "Message 999999999 does not exist"),
    ] {
        let problem = asked.get(&path(list)).await.problem(404, "undefined_object");
        assert_eq!(problem["detail"], says, "{list}");
    }
    let quiet: i64 = shop.ask("select max(m.id) from postrider.message m").await;
    for list in [
        "queue?endpoint_name=a&event_type=x.z",
        "archive?event_type=x.z",
        "dead-letters?endpoint_name=f",
        "subscriptions?event_type=x.z",
        "subscriptions?event_type=y.*",
        &format!("messages/{quiet}/attempts"),
    ] {
        assert_eq!(read(&asked, list).await["items"], json!([]), "{list}");
    }
    let settings = pages(&asked, "settings", 7).await;
    assert_eq!(settings, pages(&asked, "settings", 1_000).await);
    // A cursor belongs to its list.
    let cursor = read(&asked, "endpoints?limit=1").await["next"].as_str().unwrap().to_owned();
    let wrong = asked.get(&path(&format!("queue?cursor={cursor}"))).await;
    wrong.problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_would_be_searched_for_is_refused_with_a_hint() {
    let (_shop, _dispatcher, admin) = open().await;
    for (list, code, says) in [
        ("endpoints?limitt=1", "unknown_field", "did you mean `limit`?"),
        ("dead-letters?status=failed", "unknown_field", "There is no parameter `status`"),
        ("event-log?endpoint_name=a", "unknown_field", "There is no parameter"),
        ("endpoints/a?limit=1", "unknown_field", "There is no parameter `limit`"),
        ("queue?correlation_id=1", "unknown_field", "There is no parameter"),
        ("queue?%63ursor=ab", "invalid_parameter", "cursor must be"),
        ("queue?limit=1&limit=2", "invalid_parameter", "there twice"),
        ("queue?limit=0", "invalid_parameter", "limit must be 1 to 1000"),
        ("queue?limit=1001", "invalid_parameter", "limit must be 1 to 1000"),
        ("queue?limit=-1", "invalid_parameter", "limit must be 1 to 1000"),
        ("queue?limit=", "invalid_parameter", "limit must be 1 to 1000"),
        ("queue?limit=99999999999999999999", "invalid_parameter", "limit must be 1 to 1000"),
        ("queue?endpoint_name=%FF", "invalid_parameter", "no UTF-8"),
        ("queue?endpoint_name=%00", "data_exception", "encoding"),
        ("messages/%FF", "invalid_parameter", "no UTF-8"),
        ("messages/msg_", "invalid_parameter", "id must be the id of a message"),
        ("messages/-1", "invalid_parameter", "id must be the id of a message"),
        ("messages/1e3", "invalid_parameter", "id must be the id of a message"),
        ("messages/9223372036854775808", "invalid_parameter", "id must be the id of a message"),
        ("jobs/1.0", "invalid_parameter", "id must be a whole number"),
    ] {
        let problem = admin.get(&path(list)).await.problem(400, code);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{list}: `{says}` is not in `{detail}`");
        if code == "unknown_field" {
            assert!(problem["hint"].as_str().unwrap().contains("takes"), "{problem}");
        }
    }
}

// The rest ----------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_is_looked_at_and_sent_again() {
    let (shop, _dispatcher, admin) = open().await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut ids = Vec::new();
    for number in 1..=2 {
        ids.push(shop.send("hooks", json!(number)).await);
        shop.until(&format!("select count(*) = {number} from postrider.dead_letter")).await;
    }
    let summary = read(&admin, "dead-letters/summary").await;
    assert_eq!(summary["items"][0]["failed_count"], 2);
    let letters = read(&admin, "dead-letters").await;
    let newest = &letters["items"][0];
    assert_eq!(newest["message_id"], ids[1]);
    receiver.set_behaviour(Behaviour::Status(200));
    let redrive = path(&format!("dead-letters/{}/redrive", newest["id"]));
    let once = admin.with("idempotency-key", "again");
    let first = once.post(&redrive, &json!({})).await.expect(200);
    assert_eq!(first.json(), json!({ "id": ids[1] }));
    let second = once.post(&redrive, &json!({})).await.expect(200);
    assert_eq!((second.header("idempotency-replayed"), &second.body), (Some("true"), &first.body));
    let job = json!({ "endpoint_name": "hooks" });
    let job = admin.post(&path("dead-letters/redrive"), &job).await.expect(200).json();
    shop.until("select count(*) = 0 from postrider.dead_letter l where l.status = 'failed'").await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    let job = read(&admin, &format!("jobs/{}", job["job_id"])).await;
    assert_eq!((&job["kind"], &job["done_count"]), (&json!("redrive"), &json!(1)));
    // By the role of the token, whoever this process is.
    assert_eq!(job["created_by"], "postrider_admin");
    let letters = read(&admin, "dead-letters").await;
    for letter in letters["items"].as_array().unwrap() {
        assert_eq!(letter["redriven_by"], "postrider_admin", "{letter}");
    }
    let message = read(&admin, &format!("messages/msg_{}", ids[0])).await;
    assert_eq!((&message["id"], &message["payload"]), (&json!(ids[0]), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_have_bounds_and_their_defaults_come_back() {
    let (_shop, _dispatcher, admin) = open().await;
    let place = path("settings/max_queue_size");
    let known = read(&admin, "settings/max_queue_size").await;
    let set = admin.ask("PUT", &place, "{\"value\": 12345}").await.expect(200);
    assert_eq!(set.json(), json!({ "value": "12345" }));
    admin
        .ask("PUT", &place, "{\"value\": \"a few\"}")
        .await
        .problem(400, "invalid_parameter_value");
    admin.ask("PUT", &place, "{\"value\": -7}").await.problem(400, "invalid_parameter_value");
    admin.ask("PUT", &place, "{\"value\": [1]}").await.problem(400, "invalid_body");
    admin.ask("PUT", &place, "{\"value\": null}").await.problem(400, "invalid_body");
    admin.ask("PUT", &place, "{}").await.problem(400, "invalid_body");
    assert_eq!(read(&admin, "settings/max_queue_size").await["value"], "12345");
    admin.ask("DELETE", &place, "").await.expect(200);
    assert_eq!(read(&admin, "settings/max_queue_size").await["value"], known["default"]);
    let nothing = admin.ask("PUT", &path("settings/nothing"), "{\"value\": 1}").await;
    nothing.problem(404, "undefined_object");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_in_the_log_with_the_token_and_the_request() {
    let (shop, _dispatcher, admin) = open().await;
    let named = admin.with("x-request-id", "deploy-7/step:3");
    let body = json!({ "name": "orders", "protocol": "discard", "config": {} });
    let reply = named.post(&path("endpoints"), &body).await.expect(201);
    assert_eq!(reply.header("x-request-id"), Some("deploy-7/step:3"));
    let event = |name: &str| {
        format!(
            "select details from postrider.event_log where event = '{name}' order by id desc limit 1"
        )
    };
    let details: Value = shop.ask(&event("endpoint.created")).await;
    assert_eq!(details["token"], "ada", "{details}");
    assert_eq!(details["request"], "deploy-7/step:3", "{details}");
    // One that is no name, and none: they get one of ours.
    for asked in
        [&admin.with("x-request-id", "a b"), &admin.with("x-request-id", &"x".repeat(129)), &admin]
    {
        let reply = asked.post(&path("endpoints/orders/pause"), &json!({})).await.expect(200);
        let id = reply.header("x-request-id").unwrap().to_owned();
        assert_eq!(id.len(), 36, "{id}");
        let details: Value = shop.ask(&event("endpoint.paused")).await;
        assert_eq!(details["request"], id.as_str(), "{details}");
        admin.post(&path("endpoints/orders/resume"), &json!({})).await.expect(200);
    }
    make(&admin, "tokens", json!({ "name": "tom", "role": "viewer" })).await;
    let details: Value = shop.ask(&event("token.created")).await;
    assert_eq!((&details["name"], &details["token"]), (&json!("tom"), &json!("ada")), "{details}");
    // Whoever is not a dispatcher cannot say so of itself.
    let client = shop.client().await;
    client
        .batch_execute(
            "create role clerk login; grant postrider_operator to clerk;
            set session authorization clerk;
            select set_config('postrider.request', 'forged', false);
            select postrider.pause_endpoint('orders')",
        )
        .await
        .unwrap();
    let details: Value = shop.ask(&event("endpoint.paused")).await;
    assert_eq!(details.get("request"), None, "{details}");
    let log = read(&admin, "event-log?limit=1").await;
    assert_eq!(log["items"][0]["event"], "endpoint.paused");
}
