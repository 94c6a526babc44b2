use http::HeaderMap;
use serde_json::{Value, json};

use super::*;
use crate::{config, http::OPTIONS};

/// The vectors come from another program (Python's hmac and hashlib), by what each service documents; those that
/// are called published are the service's own. A case may have a body and a timestamp of its own.
#[test]
fn a_request_is_signed_as_each_service_does_it() {
    let file: Value =
        serde_json::from_str(include_str!("../../../../postrider/testdata/signatures.json"))
            .unwrap();
    let id = file["id"].as_str().unwrap();
    let mut seen: Vec<&str> = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let value = |name: &str| case.get(name).unwrap_or(&file[name]);
        let timestamp = value("timestamp").as_i64().unwrap();
        let body = value("body").as_str().unwrap().as_bytes();
        let config = json!({
            "url": "https://a.test/", "signature": case["signature"], "signing_keys": case["keys"]
        });
        let config = config::check("http", OPTIONS, &config).unwrap();
        let mut headers = HeaderMap::new();
        template(&config).unwrap().signer.sign(&mut headers, id, timestamp, body).unwrap();
        let found: Value = headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), json!(value.to_str().unwrap())))
            .collect::<serde_json::Map<_, _>>()
            .into();
        assert_eq!(found, case["headers"], "{case}");
        seen.extend(case["signature"].as_str());
    }
    let unseen: Vec<_> = SIGNATURES.iter().filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "{unseen:?} have no vector");
}

#[test]
fn every_preset_has_a_name_that_a_config_can_have() {
    let presets = scheme::PRESETS.iter().map(|(name, _)| *name);
    let own = ["none", "standard-webhooks", "svix"];
    let mut known: Vec<&str> = presets.chain(own).collect();
    let mut names = SIGNATURES.to_vec();
    known.sort_unstable();
    names.sort_unstable();
    assert_eq!(known, names);
}
