//! `openapi.json` says what the server does: each of its operations is asked for, by each role, well and badly.

use std::collections::{BTreeMap, BTreeSet};

use crate::shop::{
    Shop,
    asking::{Asked, Reply},
    schema::wrongs,
};
use postrider_testkit::process::Dispatcher;
use serde_json::{Value, json};

/// An operation of the document.
#[derive(Debug, Clone)]
struct Operation {
    id: String,
    method: String,
    path: String,
    said: Value,
}

impl Operation {
    fn roles(&self) -> BTreeSet<&str> {
        let roles = self.said["x-postrider-roles"].as_array().into_iter().flatten();
        roles.map(|role| role.as_str().unwrap()).collect()
    }

    fn parameters(&self, place: &str) -> impl Iterator<Item = &Value> {
        let all = self.said["parameters"].as_array().into_iter().flatten();
        all.filter(move |parameter| parameter["in"] == place)
    }

    fn body(&self) -> Option<&Value> {
        self.said.pointer("/requestBody/content/application~1json/schema")
    }

    /// Its path with these values, and what else it needs.
    fn path_with(&self, value: impl Fn(&Value) -> String) -> String {
        self.parameters("path").fold(self.path.clone(), |path, parameter| {
            let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
            path.replace(&name, &value(parameter))
        })
    }

    /// Of something that is not there.
    fn path_of_nothing(&self) -> String {
        self.path_with(|parameter| match parameter["schema"]["type"].as_str() {
            Some("string") => "nothing".to_owned(),
            _ => "999999999".to_owned(),
        })
    }

    /// A body with what is required, and nothing that there is.
    fn least_body(&self) -> Value {
        let Some(schema) = self.body() else { return json!({}) };
        let required = schema["required"].as_array().unwrap().iter();
        let fields = required.map(|name| {
            let field = &schema["properties"][name.as_str().unwrap()];
            let value = match (field["type"].as_str(), field["format"].as_str()) {
                (Some("string"), Some("date-time")) => json!("2030-05-01T09:00:00Z"),
                (Some("object"), _) => json!({}),
                (Some("array"), _) => json!([]),
                _ => json!("nothing"),
            };
            (name.as_str().unwrap().to_owned(), value)
        });
        fields.collect::<serde_json::Map<_, _>>().into()
    }

    async fn ask(&self, asked: &Asked, path: &str, body: &str) -> Reply {
        let is_versioned = self.parameters("header").any(|header| header["name"] == "If-Match");
        let asked = if is_versioned { asked.with("if-match", "*") } else { asked.clone() };
        asked.ask(&self.method, path, body).await
    }
}

/// What is said of an operation, with the schema of its body in place.
fn resolved(document: &Value, said: &Value) -> Value {
    let mut said = said.clone();
    if let Some(schema) = said.pointer_mut("/requestBody/content/application~1json/schema")
        && let Some(reference) = schema["$ref"].as_str()
    {
        *schema = document.pointer(reference.trim_start_matches('#')).unwrap().clone();
    }
    said
}

fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, said)| Operation {
            id: said["operationId"]
                .as_str()
                .unwrap_or_else(|| panic!("{path} has no id"))
                .to_owned(),
            method: method.to_uppercase(),
            path: path.clone(),
            said: resolved(document, said),
        })
    });
    each.collect()
}

async fn open() -> (Shop, Dispatcher, Asked, Value) {
    let shop = Shop::open_to_receivers().await;
    let (dispatcher, asked) = shop.serve_asked().await;
    let admin = asked.bearing(&shop.token("ada", "admin"));
    let document = admin.get("/api/v1/openapi.json").await.expect(200).json();
    (shop, dispatcher, admin, document)
}

/// An answer is as the document says.
fn check(document: &Value, operation: &Operation, reply: &Reply) {
    let responses = &operation.said["responses"];
    let response = responses.get(reply.status.to_string());
    if response.is_none() {
        assert!(reply.status >= 400, "{} is not said to answer so: {reply:?}", operation.id);
    }
    let response = response.unwrap_or(&responses["default"]);
    let kind = reply.header("content-type").unwrap_or_default();
    let Some(content) = response["content"].get(kind) else {
        panic!("{} is not said to answer with {kind}: {reply:?}", operation.id);
    };
    let wrong = wrongs(document, &content["schema"], &reply.json(), &operation.id);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn document_and_router_have_the_same_routes_as_the_page() {
    let (_shop, _dispatcher, admin, document) = open().await;
    let operations = operations(&document);
    assert!(operations.len() > 90, "{}", operations.len());
    let ids: BTreeSet<&String> = operations.iter().map(|operation| &operation.id).collect();
    assert_eq!(ids.len(), operations.len(), "ids are unique");
    let mut methods: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
    for operation in &operations {
        methods.entry(&operation.path).or_default().insert(&operation.method);
    }
    for (path, said) in methods {
        let example = operations.iter().find(|operation| operation.path == *path).unwrap();
        let reply = admin.ask("OPTIONS", &example.path_of_nothing(), "").await.expect(204);
        let allowed = reply.header("allow").unwrap_or_else(|| panic!("{path}: {reply:?}"));
        let allowed: BTreeSet<&str> = allowed.split(',').map(str::trim).collect();
        let allowed: BTreeSet<&str> =
            allowed.into_iter().filter(|other| *other != "HEAD").collect();
        assert_eq!(allowed, said, "{path}");
        let other = admin.ask("TRACE", &example.path_of_nothing(), "").await;
        assert!(other.header("allow").is_some(), "{other:?}");
        other.problem(405, "method_not_allowed");
    }
    // References lead somewhere.
    let text = document.to_string();
    for piece in text.split("#/components/schemas/").skip(1) {
        let name = piece.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
    }

    let page = include_str!("../../../docs/reference/api.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter_map(|row| row.split_once('`'));
    let written: BTreeSet<String> =
        rows.map(|(route, _)| route.to_owned()).filter(|route| route.contains(" /")).collect();
    let routed: BTreeSet<String> = operations
        .iter()
        .map(|operation| format!("{} {}", operation.method, operation.path))
        .filter(|route| route.contains("/api/"))
        .collect();
    assert_eq!(
        routed.difference(&written).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "not on the page"
    );
    assert_eq!(
        written.difference(&routed).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "only there"
    );
    for operation in operations.iter().filter(|operation| !operation.roles().is_empty()) {
        let row = format!("| `{} {}` |", operation.method, operation.path);
        let row = page.lines().rev().find(|line| line.starts_with(&row)).unwrap();
        let roles = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
        let roles: BTreeSet<&str> = roles.split(", ").collect();
        assert_eq!(roles, operation.roles(), "{row}");
    }
    let codes = &document["components"]["schemas"]["Code"]["enum"];
    for code in codes.as_array().unwrap() {
        let code = code.as_str().unwrap();
        assert!(page.contains(&format!("`{code}`")), "{code} is not on the page");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_operation_is_for_the_roles_that_it_names_and_no_others() {
    let (shop, _dispatcher, admin, document) = open().await;
    let bare = Asked { headers: Vec::new(), ..admin };
    let mut wrong = Vec::new();
    for role in ["viewer", "operator", "admin", "producer"] {
        let asked = bare.bearing(&shop.token(&format!("the-{role}"), role));
        for operation in operations(&document) {
            if operation.roles().is_empty() || operation.path.ends_with("/openapi.json") {
                continue;
            }
            let body = operation.least_body().to_string();
            let body = if operation.method == "GET" { "" } else { &body };
            let reply = operation.ask(&asked, &operation.path_of_nothing(), body).await;
            let is_refused = reply.status == 403;
            let Operation { id, .. } = &operation;
            if is_refused == operation.roles().contains(role) || reply.status >= 500 {
                wrong.push(format!("{role} {id}: {} {}", reply.status, reply.body));
            }
            check(&document, &operation, &reply);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for operation in operations(&document).iter().filter(|it| !it.roles().is_empty()) {
        let reply = bare.ask(&operation.method, &operation.path_of_nothing(), "").await;
        reply.problem(401, "unauthorized");
    }
}

/// Values that no field is meant for.
fn hostile() -> Vec<String> {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let deep_object = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    let long = format!("\"{}\"", "x".repeat(70_000));
    let plain = [
        "null",
        "true",
        "-1",
        "1.5",
        "1e999999",
        "99999999999999999999",
        "\"\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "[]",
        "[null]",
        "{\"a\":\"\\u0000\"}",
        "\"infinity\"",
        "\"-178000000 years\"",
    ];
    plain.iter().map(|value| (*value).to_owned()).chain([deep, deep_object, long]).collect()
}

/// Requests that are wrong in a path, a parameter, a body or a field: what is asked, and with which body.
fn wrong_requests(operation: &Operation) -> Vec<(String, String)> {
    let (path, least) = (operation.path_of_nothing(), operation.least_body().to_string());
    let mut requests = vec![
        (format!("{path}?nonsense=1"), least.clone()),
        (format!("{path}?a=%FF&%zz=%00"), String::new()),
    ];
    if operation.parameters("path").next().is_some() {
        for value in [
            "%00",
            "%FF",
            "%2F..%2F",
            "%zz",
            "-1",
            "99999999999999999999",
            "'%3B--",
            "%F0%9F%98%80",
        ] {
            requests.push((operation.path_with(|_| value.to_owned()), least.clone()));
        }
    }
    for parameter in operation.parameters("query") {
        let name = parameter["name"].as_str().unwrap();
        for value in ["%00", "%FF", "", "-1", "99999999999999999999", "%F0%9F%98%80"] {
            requests.push((format!("{path}?{name}={value}"), least.clone()));
        }
    }
    for body in ["[]", "1", "{", "{\"a\":1,\"a\":2}", "\"", "{}x"] {
        requests.push((path.clone(), body.to_owned()));
    }
    let fields = operation.body().and_then(|body| body["properties"].as_object()).cloned();
    for name in fields.iter().flat_map(|fields| fields.keys()) {
        let mut least = operation.least_body();
        least.as_object_mut().unwrap().remove(name);
        let rest = least.to_string();
        let rest = &rest[1..rest.len() - 1];
        let comma = if rest.is_empty() { "" } else { "," };
        for value in hostile() {
            requests.push((path.clone(), format!("{{\"{name}\":{value}{comma}{rest}}}")));
        }
    }
    requests
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_asked_for_is_a_fault_of_ours() {
    let (_shop, _dispatcher, admin, document) = open().await;
    let mut wrong = Vec::new();
    for operation in operations(&document) {
        if operation.id == "metrics" || operation.path.ends_with("/openapi.json") {
            continue;
        }
        for (path, body) in wrong_requests(&operation) {
            let body = if operation.method == "GET" { "" } else { body.as_str() };
            let reply = operation.ask(&admin, &path, body).await;
            if reply.status >= 500 {
                let shown: String = body.chars().take(100).collect();
                let Operation { id, .. } = &operation;
                wrong.push(format!("{id} {path} {shown}: {} {}", reply.status, reply.body));
            }
            if operation.path.starts_with("/api/") && reply.status != 404 {
                check(&document, &operation, &reply);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
