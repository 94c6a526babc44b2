//! Configs of endpoints: judged in the database as in the dispatcher, with the same words.

use std::sync::Arc;

use fastrand::Rng;
use postrider_transport::{self as transport, Settings, Shared};
use serde_json::{Map, Value, json};
use tokio_postgres::Client;

use crate::shop::Shop;

/// What the database says of each config; null: it takes it.
const JUDGE: &str = "
    create function pg_temp.judge(protocol text, config jsonb) returns text language plpgsql as $$
    begin
        perform postrider.validate_endpoint_config(protocol, config);
        return null;
    exception when sqlstate '22023' then
        return sqlerrm;
    end;
    $$";

async fn judge(client: &Client, cases: &[(String, Value)]) -> Vec<Option<String>> {
    let (protocols, configs): (Vec<&str>, Vec<&Value>) =
        cases.iter().map(|(protocol, config)| (protocol.as_str(), config)).unzip();
    let sql = "select pg_temp.judge(c.protocol, c.config)
        from unnest($1::text[], $2::jsonb[]) with ordinality c (protocol, config, place)
        order by c.place";
    let rows = client.query(sql, &[&protocols, &configs]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_is_judged_in_sql_as_it_is_by_a_dispatcher() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(JUDGE).await.unwrap();
    let testdata: Value =
        serde_json::from_str(include_str!("../testdata/endpoint_config.json")).unwrap();
    let sql = "insert into postrider.transport_option (
            protocol, name, kind, required, minimum, maximum, choices, default_value, secret, description)
        select o.protocol, o.name, o.kind, o.required, o.minimum, o.maximum, nullif(o.choices, 'null'),
            nullif(o.\"default\", 'null'), o.secret, o.description
        from jsonb_to_recordset($1) o (
            protocol text, name text, kind text, required boolean, minimum bigint, maximum bigint,
            choices jsonb, \"default\" jsonb, secret boolean, description text)";
    client.execute(sql, &[&testdata["sample_options"]]).await.unwrap();

    let expected = testdata["cases"].as_array().unwrap();
    let cases: Vec<(String, Value)> = expected
        .iter()
        .map(|case| (case["protocol"].as_str().unwrap().to_owned(), case["config"].clone()))
        .collect();
    for (found, case) in judge(&client, &cases).await.iter().zip(expected) {
        assert_eq!(found.as_deref(), case["error"].as_str(), "{case}");
    }
}

/// Configs that nobody thought of.
#[tokio::test(flavor = "multi_thread")]
async fn random_configs_are_judged_alike() {
    const CONFIGS: usize = 4_000;
    let seed = std::env::var("POSTRIDER_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("POSTRIDER_TEST_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(JUDGE).await.unwrap();

    let options = transport::options_as_json();
    let options: Vec<&Value> =
        options.as_array().unwrap().iter().filter(|option| option["protocol"] == "http").collect();
    let cases: Vec<(String, Value)> = (0..CONFIGS)
        .map(|_| {
            let mut config = object(&mut rng, &options, "");
            config.entry("url").or_insert_with(|| json!("https://a.test/"));
            ("http".to_owned(), Value::Object(config))
        })
        .collect();
    let shared = Shared::new(Settings::default());
    let mut good = 0;
    for (found, (_, config)) in judge(&client, &cases).await.iter().zip(&cases) {
        let expected = transport::open("http", config, &Arc::clone(&shared));
        good += usize::from(expected.is_ok());
        let expected = expected.err().map(|error| error.to_string());
        // Whether a certificate is one only the dispatcher can say, and it says so before the rest.
        let is_of_dispatcher =
            |error: &String| error.ends_with("in PEM") || error.ends_with("and its key");
        if expected.as_ref().is_some_and(is_of_dispatcher) {
            continue;
        }
        assert_eq!(*found, expected, "{config}");
    }
    // It is worth something only if it makes configs of both kinds.
    assert!((CONFIGS / 50..CONFIGS * 9 / 10).contains(&good), "{good} are good");
}

/// An object that stands at `path`, most of it right.
fn object(rng: &mut Rng, options: &[&Value], path: &str) -> Map<String, Value> {
    let members: Vec<&&Value> = options
        .iter()
        .filter(|option| {
            let key = option["name"].as_str().unwrap().strip_prefix(path);
            key.is_some_and(|key| !key.contains('.'))
        })
        .collect();
    let mut values = Map::new();
    for option in &members {
        let is_wanted = option["required"] == true && rng.u8(..40) != 0;
        if is_wanted || rng.usize(..members.len()) < 2 {
            let name = option["name"].as_str().unwrap();
            values.insert(name[path.len()..].to_owned(), value(rng, options, option));
        }
    }
    if rng.u8(..40) == 0 {
        values.insert(text(rng), json!(1));
    }
    values
}

fn value(rng: &mut Rng, options: &[&Value], option: &Value) -> Value {
    if rng.u8(..12) == 0 {
        let others = [json!(null), json!(1), json!([1]), json!({ "a": 1 }), json!(""), json!(true)];
        return others[rng.usize(..others.len())].clone();
    }
    let name = option["name"].as_str().unwrap();
    let words = option["choices"].as_array();
    match option["kind"].as_str().unwrap() {
        "integer" => {
            let (minimum, maximum) = (option["minimum"].as_i64(), option["maximum"].as_i64());
            json!(rng.i64(minimum.unwrap() - 1..=maximum.unwrap().min(1_000) + 1))
        }
        "boolean" => json!(rng.bool()),
        "one_of" => words.unwrap()[rng.usize(..words.unwrap().len())].clone(),
        "object" => match words {
            Some(words) if rng.bool() => words[rng.usize(..words.len())].clone(),
            _ => Value::Object(object(rng, options, &format!("{name}."))),
        },
        "url" => json!(["https://a.test/x", "http://a.test", "https://a.test:0/"][rng.usize(..3)]),
        "signing_keys" => {
            let count = rng.usize(..3);
            (0..count).map(|_| key(rng)).collect()
        }
        "texts" => (0..rng.usize(..3)).map(|_| text(rng)).collect(),
        "map" | "headers" | "header_templates" => (0..rng.usize(..3))
            .map(|_| (format!("x-{}", rng.lowercase()), json!(text(rng))))
            .collect(),
        _ => json!(text(rng)),
    }
}

fn key(rng: &mut Rng) -> String {
    let keys =
        ["whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB", "raw:secret", "raw:", "raw:a b", "whsec_", "x"];
    match rng.u8(..4) {
        0 => keys[rng.usize(..keys.len())].to_owned(),
        _ => keys[rng.usize(..2)].to_owned(),
    }
}

/// A text of the pieces that parsers look at.
fn text(rng: &mut Rng) -> String {
    const PIECES: &[&str] = &[
        "{event_type}",
        "{ordering_key}",
        "{id}",
        "{timestamp}",
        "{body}",
        "{header:x-a}",
        "{metadata:a b}",
        "{payload:/a/0/~1~0}",
        "{payload:}",
        "{payload:/~2}",
        "{header:a b}",
        "{unknown}",
        "{{",
        "}}",
        "{",
        "}",
        "/",
        "//",
        "?",
        "&",
        "=",
        "a",
        "b-c",
        "é",
        "%2F",
        "%",
        "%zz",
        ":",
        ".",
        "..",
        "#",
        " ",
        "\t",
        "\n",
        "\u{7f}",
        "\u{85}",
        "\\",
        "\"",
        "~",
        "@",
    ];
    let count = rng.usize(..5);
    let start = if rng.bool() { "/" } else { "" };
    let pieces = (0..count).map(|_| PIECES[rng.usize(..PIECES.len())]);
    start.chars().chain(pieces.flat_map(str::chars)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_events_is_a_uri_reference() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let set = "select postrider.set_setting('cloudevents_source', $1)";
    let long = format!("/{}", "x".repeat(254));
    for good in [
        "/",
        "shop",
        "/shop/a%20b",
        "//shop.test/",
        "https://shop.test:8443/a?b#c",
        "urn:shop:1",
        &long,
    ] {
        client.execute(set, &[&good]).await.unwrap();
        assert_eq!(
            shop.ask::<String>("select postrider.get_setting('cloudevents_source')").await,
            good
        );
    }
    let longer = format!("{long}x");
    for bad in ["", "a b", "é", "1a:b", "/%2", "a#b#c", "/<", "/a\nb", &longer] {
        let error = client.execute(set, &[&bad]).await.expect_err(bad);
        assert_eq!(error.code().unwrap().code(), "22023", "{bad}");
    }
}
