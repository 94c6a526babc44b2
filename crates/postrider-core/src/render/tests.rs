use super::*;

const ATTEMPT_1: Attempt<'_> = Attempt {
    body: b"{}",
    created_at: 0,
    expires_at: None,
    ordering_key: None,
    metadata: None,
    message_id: 42,
    number: 1,
    timestamp: 1_700_000_000,
    correlation_id: None,
    headers: None,
    event_type: None,
    replay_of: None,
    content_type: None,
};

fn template(headers: &[(&str, &str)]) -> Result<HeaderTemplate, HeaderError> {
    HeaderTemplate::new("application/json", "Postrider/1.2.3", headers.iter().copied())
}

/// The rendered headers as sorted `name: value` lines.
fn lines(headers: &HeaderMap) -> Vec<String> {
    let mut lines: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    lines.sort();
    lines
}

/// Renders and returns the lines that are not the four of every request.
fn rendered(endpoint: &[(&str, &str)], message: Option<&str>) -> Result<Vec<String>, HeaderError> {
    let headers = template(endpoint)?.render(&[], &Attempt { headers: message, ..ATTEMPT_1 })?;
    let mut lines = lines(&headers);
    lines.retain(|line| !line.starts_with("webhook-") && !line.starts_with("postrider-"));
    Ok(lines)
}

#[test]
fn every_request_says_what_it_carries() {
    let headers = template(&[]).unwrap().render(&[], &ATTEMPT_1).unwrap();
    let expected = [
        "content-type: application/json",
        "postrider-attempt: 1",
        "user-agent: Postrider/1.2.3",
        "webhook-id: msg_42",
        "webhook-timestamp: 1700000000",
    ];
    assert_eq!(lines(&headers), expected);

    let correlation_id = Some("67e55044-10b1-426f-9247-bb680e5fe0c8");
    let attempt = Attempt {
        message_id: i64::MAX,
        number: u32::MAX,
        timestamp: 0,
        correlation_id,
        ..ATTEMPT_1
    };
    let expected = [
        "content-type: application/json",
        "postrider-attempt: 4294967295",
        "postrider-correlation-id: 67e55044-10b1-426f-9247-bb680e5fe0c8",
        "user-agent: Postrider/1.2.3",
        "webhook-id: msg_9223372036854775807",
        "webhook-timestamp: 0",
    ];
    assert_eq!(lines(&template(&[]).unwrap().render(&[], &attempt).unwrap()), expected);
}

#[test]
fn a_replay_names_the_message_that_it_repeats() {
    let forged = Some(r#"{"postrider-replay-of": "msg_1"}"#);
    let attempt = Attempt { headers: forged, ..ATTEMPT_1 };
    let headers = template(&[]).unwrap().render(&[], &attempt).unwrap();
    assert!(!headers.contains_key("postrider-replay-of"));
    let attempt = Attempt { replay_of: Some(41), ..attempt };
    let headers = template(&[]).unwrap().render(&[], &attempt).unwrap();
    assert_eq!(headers["postrider-replay-of"], "msg_41");
}

#[test]
fn a_message_overrides_its_endpoint_whatever_the_case() {
    let endpoint = [
        ("X-Tenant", "acme"),
        ("Content-Type", "text/plain"),
        ("User-Agent", "curl"),
        ("x-a", "1"),
    ];
    assert_eq!(
        rendered(&endpoint, None).unwrap(),
        ["content-type: text/plain", "user-agent: curl", "x-a: 1", "x-tenant: acme"]
    );
    let message = r#"{"x-TENANT": "globex", "CONTENT-type": "application/cloudevents+json",
        "X-B": "zwei \"2\" \u00fc"}"#;
    assert_eq!(
        rendered(&endpoint, Some(message)).unwrap(),
        [
            "content-type: application/cloudevents+json",
            "user-agent: curl",
            "x-a: 1",
            "x-b: zwei \"2\" ü",
            "x-tenant: globex",
        ]
    );
    assert_eq!(rendered(&[], Some("{}")).unwrap(), rendered(&[], None).unwrap());
}

#[test]
fn nobody_overrides_what_is_ours() {
    let ours = ["Webhook-Id", "WEBHOOK-SIGNATURE", "Postrider-Attempt", "postrider-anything"];
    for name in RESERVED.iter().chain(&ours) {
        let lower = name.to_ascii_lowercase();
        assert!(is_reserved(&lower), "{name}");
        let error = HeaderError::Reserved { name: lower.clone() };
        assert_eq!(template(&[(name, "x")]).unwrap_err(), error);

        let message = format!(r#"{{"{name}": "forged", "x-kept": "1"}}"#);
        let headers = Attempt { headers: Some(&message), ..ATTEMPT_1 };
        let lines = lines(&template(&[]).unwrap().render(&[], &headers).unwrap());
        assert!(lines.iter().all(|line| !line.contains("forged")), "{name}: {lines:?}");
        assert!(lines.contains(&"x-kept: 1".to_owned()));
    }
    for name in ["webhook", "webhook-ids", "postrider", "x-postrider-a", "accept", "authorization"]
    {
        assert!(!is_reserved(name), "{name}");
    }
}

#[test]
fn the_reserved_names_are_sorted_for_the_search() {
    assert!(RESERVED.is_sorted());
}

#[test]
fn no_header_can_split_a_request() {
    for bad in ["a\r\nx-evil: 1", "a\nb", "a\rb", "a\0b", "\u{7f}", "\u{1b}[31m"] {
        let error = HeaderError::Value { name: "x-a".to_owned() };
        assert_eq!(template(&[("x-a", bad)]).unwrap_err(), error, "{bad:?}");
        let message = serde_json::json!({ "x-a": bad }).to_string();
        assert_eq!(rendered(&[], Some(&message)).unwrap_err(), error, "{bad:?}");
    }
    for bad in ["", " ", "a b", "a:", "a\r\nb", "naïve", "a\0", "(a)"] {
        let error = HeaderError::Name { name: bad.escape_debug().to_string() };
        assert_eq!(template(&[(bad, "1")]).unwrap_err(), error, "{bad:?}");
        let message = serde_json::json!({ bad: "1" }).to_string();
        assert_eq!(rendered(&[], Some(&message)).unwrap_err(), error, "{bad:?}");
    }
    assert!(rendered(&[("x-a", "tab\tand ünïcode")], None).is_ok());
}

#[test]
fn headers_that_are_not_texts_are_refused() {
    for (message, name) in [
        (r#"{"x-a": 1}"#, "x-a"),
        (r#"{"x-a": "1", "x-b": null}"#, "x-b"),
        (r#"{"x-a": ["1"]}"#, "x-a"),
        (r#"{"x-a": {"b": {}}}"#, "x-a"),
    ] {
        let error = HeaderError::NotText { name: name.to_owned() };
        assert_eq!(rendered(&[], Some(message)).unwrap_err(), error, "{message}");
    }
    for message in ["", "[]", "null", "1", "\"x\"", "{", r#"{"a": "1"} x"#, r#"[["a", "1"]]"#] {
        assert_eq!(
            rendered(&[], Some(message)).unwrap_err(),
            HeaderError::NotAnObject,
            "{message}"
        );
    }
}

#[test]
fn headers_are_bounded() {
    let names: Vec<_> = (0..HEADERS_MAX).map(|index| format!("x-{index}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(template(&many).unwrap_err(), HeaderError::TooMany);
    // Ours are two with a default and three of the attempt.
    assert!(template(&many[..HEADERS_MAX - 5]).is_ok());

    let message = serde_json::to_string(&serde_json::Map::from_iter(
        names.iter().map(|name| (name.clone(), "1".into())),
    ))
    .unwrap();
    assert_eq!(rendered(&[], Some(&message)).unwrap_err(), HeaderError::TooMany);

    let long = format!(r#"{{"x-a": "{}"}}"#, "a".repeat(HEADERS_TEXT_MAX));
    assert_eq!(rendered(&[], Some(&long)).unwrap_err(), HeaderError::TooLong);
}

#[test]
fn the_event_type_and_the_type_of_the_body_stand_above_everything() {
    let template =
        HeaderTemplate::new("application/json", "test", [("content-type", "text/plain")]).unwrap();
    let attempt = Attempt {
        headers: Some(r#"{"content-type": "text/html", "postrider-event-type": "forged"}"#),
        ..ATTEMPT_1
    };
    let headers = template.render(&[], &attempt).unwrap();
    assert_eq!(headers["content-type"], "text/html");
    assert!(!headers.contains_key("postrider-event-type"));
    let attempt =
        Attempt { event_type: Some("order.created"), content_type: Some("image/png"), ..attempt };
    let headers = template.render(&[], &attempt).unwrap();
    assert_eq!(headers["content-type"], "image/png");
    assert_eq!(headers["postrider-event-type"], "order.created");
}
