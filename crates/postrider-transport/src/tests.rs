use std::time::Duration;

use bytes::Bytes;
use postrider_core::outcome::Outcome;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

/// A message in its first attempt, with nothing that need not be there.
pub fn envelope(message_id: i64) -> Envelope {
    Envelope {
        message_id,
        attempt: 1,
        correlation_id: None,
        event_type: None,
        created_at: 0,
        expires_at: None,
        ordering_key: None,
        metadata: None,
        replay_of: None,
        headers: None,
        payload: Bytes::from_static(b"{}"),
        content_type: None,
    }
}

/// Holds the kinds of options that no transport uses yet.
const SAMPLE: &[ConfigOption] = &[
    sample("name", OptionKind::Text { max: 8 }, true, DefaultValue::None, false),
    sample("map", OptionKind::Map { max: 2 }, false, DefaultValue::None, true),
    sample("object", OBJECT, false, DefaultValue::None, true),
    sample("pem", OptionKind::Lines { max: 8 }, false, DefaultValue::None, false),
    sample("texts", OptionKind::Texts { max: 2 }, false, DefaultValue::None, false),
    sample("union", UNION, false, DefaultValue::None, false),
    sample("zeta", OptionKind::Integer { min: -5, max: 5 }, false, DefaultValue::Integer(3), false),
];

const OBJECT: OptionKind = OptionKind::Object {
    members: &[
        sample("object.inner", INNER, false, DefaultValue::None, true),
        sample("object.kind", OptionKind::OneOf(&["a", "b"]), true, DefaultValue::None, true),
        sample(
            "object.size",
            OptionKind::Integer { min: 1, max: 9 },
            false,
            DefaultValue::Integer(4),
            true,
        ),
    ],
    words: &[],
};
const INNER: OptionKind = OptionKind::Object {
    members: &[sample(
        "object.inner.map",
        OptionKind::Map { max: 1 },
        true,
        DefaultValue::None,
        true,
    )],
    words: &[],
};
const UNION: OptionKind = OptionKind::Object {
    members: &[sample(
        "union.name",
        OptionKind::Text { max: 4 },
        false,
        DefaultValue::Text("z"),
        false,
    )],
    words: &["one", "two"],
};

const fn sample(
    name: &'static str,
    kind: OptionKind,
    required: bool,
    default: DefaultValue,
    secret: bool,
) -> ConfigOption {
    ConfigOption { name, kind, required, default, description: "A sample.", secret }
}

fn testdata() -> Value {
    serde_json::from_str(include_str!("../../postrider/testdata/endpoint_config.json")).unwrap()
}

#[test]
fn a_config_is_valid_or_its_error_says_what_to_change() {
    let shared = Shared::new(Settings::default());
    for case in testdata()["cases"].as_array().unwrap() {
        let config = &case["config"];
        let result = match case["protocol"].as_str().unwrap() {
            "sample" => config::check("sample", SAMPLE, config).map(drop),
            protocol => open(protocol, config, &shared).map(drop),
        };
        let error = result.err().map(|error| match error {
            // The database of the tests knows the sample as well.
            ConfigError::UnknownProtocol { .. } => format!("{error}, sample"),
            _ => error.to_string(),
        });
        assert_eq!(error.as_deref(), case["error"].as_str(), "{case}");
    }
}

/// What is stored apart is a whole option: SQL knows of no secret inside of an object.
#[test]
fn members_are_as_secret_as_their_object() {
    fn check(object: &ConfigOption) {
        let OptionKind::Object { members, .. } = object.kind else { return };
        for member in members {
            assert_eq!(member.secret, object.secret, "{}", member.name);
            let path = member.name.strip_prefix(object.name).and_then(|key| key.strip_prefix('.'));
            assert!(path.is_some_and(|key| !key.contains('.')), "{}", member.name);
            check(member);
        }
    }
    SAMPLE.iter().for_each(check);
    for protocol in PROTOCOLS {
        protocol.options.iter().for_each(check);
        assert!(protocol.options.iter().all(|option| !option.name.contains('.')));
    }
}

#[test]
fn options_are_written_as_rows() {
    let sample: Value = SAMPLE.iter().flat_map(|option| option.rows("sample")).collect();
    assert_eq!(sample, testdata()["sample_options"]);

    let all = options_as_json();
    let rows = all.as_array().unwrap();
    let row = |protocol: &str, name: &str| {
        rows.iter().find(|row| row["protocol"] == protocol && row["name"] == name).unwrap()
    };
    let method = row("http", "method");
    assert_eq!(
        (&method["kind"], &method["choices"], &method["default"], &method["minimum"]),
        (&json!("one_of"), &json!(["POST", "PUT", "PATCH"]), &json!("POST"), &Value::Null)
    );
    assert_eq!(row("http", "concurrency")["default"], 64);
    assert_eq!(row("http", "url")["required"], true);
    assert_eq!(row("discard", "concurrency")["maximum"], 65_536);
}

#[test]
fn an_absent_option_has_its_default() {
    let config = json!({ "name": "x" });
    let checked = config::check("sample", SAMPLE, &config).unwrap();
    assert_eq!(checked.text("name"), Some("x"));
    assert_eq!(checked.integer("zeta"), Some(3));
    assert_eq!(checked.map("map").count(), 0);
    assert!(!checked.has("object"));
    // A default of a member needs its object.
    assert_eq!((checked.integer("object.size"), checked.text("union.name")), (None, None));

    let config = json!({
        "name": "x", "texts": ["b", "a"], "union": {},
        "object": { "kind": "a", "inner": { "map": { "k": "v" } } }
    });
    let checked = config::check("sample", SAMPLE, &config).unwrap();
    assert_eq!((checked.text("union"), checked.text("union.name")), (None, Some("z")));
    assert_eq!((checked.text("object.kind"), checked.integer("object.size")), (Some("a"), Some(4)));
    assert_eq!(checked.map("object.inner.map").collect::<Vec<_>>(), [("k", "v")]);
    assert_eq!(checked.list("texts").collect::<Vec<_>>(), ["b", "a"]);
    let config = json!({ "name": "x", "union": "two" });
    let checked = config::check("sample", SAMPLE, &config).unwrap();
    assert_eq!((checked.text("union"), checked.text("union.name")), (Some("two"), None));

    let shared = Shared::new(Settings::default());
    let url = json!({ "url": "http://example.com/" });
    let http = super::open("http", &url, &shared).unwrap();
    assert_eq!((http.batch_limit(), http.flow().concurrency), (1, 64));
    assert!(!http.is_disabled_when_gone());
}

#[tokio::test]
async fn discard_accepts_every_message() {
    let shared = Shared::new(Settings::default());
    let discard = open("discard", &json!({}), &shared).unwrap();
    let batch = vec![envelope(1); discard.batch_limit()];
    let until = Instant::now() + Duration::from_secs(1);
    let reports = ticket::reports(&discard, batch, until).await;
    assert_eq!(reports.len(), 1_024);
    assert!(reports.iter().all(|(_, report)| report.outcome == Outcome::Accepted));
}

#[test]
fn an_address_is_read_and_trusted_as_in_the_database() {
    use postrider_core::networks::{is_private, literal};
    let hosts: Value =
        serde_json::from_str(include_str!("../../postrider/testdata/hosts.json")).unwrap();
    for case in hosts.as_array().unwrap() {
        let found = literal(case["host"].as_str().unwrap());
        let expected = case["address"].as_str().map(|address| address.parse().unwrap());
        assert_eq!(found, expected, "{case}");
        assert_eq!(found.is_some_and(is_private), case["private"] == true, "{case}");
    }
}

/// SQL takes such a pair, because it cannot tell.
#[test]
fn a_pair_whose_halves_do_not_fit_signs_nothing_and_stops_no_other_key() {
    let shared = Shared::new(Settings::default());
    let unfit = format!("whsk_{}==", "A".repeat(86));
    let open = |keys: Value| {
        open("http", &json!({ "url": "https://example.com/", "signing_keys": keys }), &shared)
    };
    let error = open(json!([unfit])).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("config.signing_keys: the second half"), "{error}");
    assert!(!error.contains("AAAA"), "{error}");
    open(json!([unfit, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])).unwrap();
}
