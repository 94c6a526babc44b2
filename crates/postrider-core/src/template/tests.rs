use http::Uri;
use proptest::prelude::*;

use super::*;

const FIELDS: Fields<'_> = Fields {
    message_id: "msg_7",
    event_type: Some("order.created"),
    ordering_key: Some("a/b?c=d&e#é \n"),
    correlation_id: None,
    headers: Some(r#"{"X-Tenant": "acme", "x-odd": "a\r\nx-evil: 1"}"#),
    metadata: Some(r#"{"a b": "m", "deep": {"x": 1}}"#),
    payload: Some(br#"{"n": 1.50, "list": [{"~/": "t"}], "none": null, "yes": true, "": "empty key", "dots": "..", "up": "../x", "over": "x/../y", "back": "..\\x", "e": ""}"#),
};

#[test]
fn each_value_is_written_as_it_has_to_be_in_a_path() {
    for (template, expected) in [
        ("/hooks/{event_type}", "/hooks/order.created"),
        ("/{ordering_key}/x", "/a%2Fb%3Fc%3Dd%26e%23%C3%A9%20%0A/x"),
        ("/x?k={ordering_key}&n={payload:/n}", "/x?k=a%2Fb%3Fc%3Dd%26e%23%C3%A9%20%0A&n=1.50"),
        ("/{header:x-tenant}-{header:X-TENANT}", "/acme-acme"),
        ("/{metadata:a b}/{message_id}", "/m/msg_7"),
        ("/{payload:/list/0/~0~1}/{payload:/yes}", "/t/true"),
        ("/{payload:/}", "/empty%20key"),
        ("/x?e={payload:/e}", "/x?e="),
        ("/a.{payload:/dots}", "/a..."),
        ("/", "/"),
        ("/a%2Fb:@!$&'()*+,;=~?x=/?y", "/a%2Fb:@!$&'()*+,;=~?x=/?y"),
    ] {
        let filled = PathTemplate::parse(template).unwrap().fill(&FIELDS);
        assert_eq!(filled.as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn what_a_message_does_not_have_is_named() {
    for (template, expected) in [
        ("/{correlation_id}", "it has no correlation_id"),
        ("/{header:x-none}", "it has no header:x-none"),
        ("/{metadata:none}", "it has no metadata:none"),
        ("/{metadata:deep}", "its metadata:deep is no text, number or boolean"),
        ("/{payload:/none}", "it has no payload:/none"),
        ("/{payload:/list}", "its payload:/list is no text, number or boolean"),
        ("/{payload:/list/00}", "it has no payload:/list/00"),
        ("/{payload:/list/1}", "it has no payload:/list/1"),
        ("/{payload:/list/0/~0~1/x}", "it has no payload:/list/0/~0~1/x"),
        ("/{payload:/e}", "its payload:/e is empty, which a path cannot have"),
        ("/a/{payload:/dots}/b", "a segment of the path would be `.` or `..`"),
        // A server may decode %2F before it goes up.
        ("/a/{payload:/up}", "a segment of the path would be `.` or `..`"),
        ("/a/{payload:/over}/b", "a segment of the path would be `.` or `..`"),
        ("/a/{payload:/back}", "a segment of the path would be `.` or `..`"),
    ] {
        let error = PathTemplate::parse(template).unwrap().fill(&FIELDS).unwrap_err();
        assert_eq!(error.to_string(), expected, "{template}");
    }
    let none = Fields { payload: None, ..FIELDS };
    assert!(PathTemplate::parse("/{payload:/n}").unwrap().fill(&none).is_err());
}

#[test]
fn a_header_takes_values_as_they_are_but_none_that_would_split_it() {
    let fill = |text: &str| {
        let value = ValueTemplate::parse(text).unwrap().fill(&FIELDS);
        value
            .map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
            .map_err(|e| e.to_string())
    };
    assert_eq!(fill("{{{event_type}}} {payload:/n}").as_deref(), Ok("{order.created} 1.50"));
    assert_eq!(fill("").as_deref(), Ok(""));
    assert_eq!(fill("{header:x-odd}").unwrap_err(), "its header:x-odd has control characters");
    assert_eq!(fill("{ordering_key}").unwrap_err(), "its ordering_key has control characters");
}

#[test]
fn a_text_that_is_no_template_is_refused() {
    for text in [
        "",
        "x",
        "//evil.test/",
        "https://a.test/",
        "/{unknown}",
        "/{event_type",
        "/event_type}",
        "/{}",
        "/{{event_type}}",
        "/{event_type:x}",
        "/{header:}",
        "/{header:a b}",
        "/{metadata:}",
        "/{metadata}",
        "/{payload:}",
        "/{payload:x}",
        "/{payload:/~2}",
        "/{payload:/~}",
        "/{payload:/a{b}",
        "/é",
        "/ ",
        "/#",
        "/%",
        "/%2",
        "/%zz",
        "/\\",
        "/a/../b",
        "/.",
        "/%2e%2E/x",
        "/..?x",
        "/x\n",
        "/{metadata:a\n}",
    ] {
        assert!(PathTemplate::parse(text).is_err(), "{text}");
    }
    for text in ["{", "}", "{x}", "{event_type", "{{event_type}", "{payload:}"] {
        assert!(ValueTemplate::parse(text).is_err(), "{text}");
    }
}

fn path_template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{event_type}"),
        Just("{ordering_key}"),
        Just("{header:x}"),
        Just("{metadata:m}"),
        Just("{payload:/p}"),
        Just("/"),
        Just("?"),
        Just("a"),
        Just("."),
        Just("%2e"),
        Just("&b="),
        Just("@"),
        Just(":80"),
        Just("}"),
        Just("{"),
        Just("#"),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| format!("/{}", pieces.concat()))
}

fn json(key: &str, value: &str) -> String {
    serde_json::json!({ key: value }).to_string()
}

proptest! {
    /// Whatever the values: scheme, host and port are those of the endpoint, no segment or parameter is added, and each
    /// value comes out as it went in.
    #[test]
    fn no_value_leaves_its_place(
        text in path_template(), a in ".*", b in ".{0,20}", c in "[./%?#@:\\\\\r\n]{0,6}"
    ) {
        let Ok(template) = PathTemplate::parse(&text) else { return Ok(()) };
        let (headers, metadata, payload) = (json("x", &b), json("m", &c), json("p", &a));
        let fields = Fields {
            message_id: "msg_1",
            event_type: Some(&a),
            ordering_key: Some(&c),
            correlation_id: None,
            headers: Some(&headers),
            metadata: Some(&metadata),
            payload: Some(payload.as_bytes()),
        };
        let Ok(filled) = template.fill(&fields) else { return Ok(()) };
        let base: Uri = "https://user.test:8443/old?q".parse().unwrap();
        let uri = http::uri::Builder::from(base).path_and_query(&*filled).build().unwrap();
        prop_assert_eq!(uri.scheme_str(), Some("https"));
        prop_assert_eq!(uri.authority().map(|authority| authority.as_str()), Some("user.test:8443"));
        prop_assert_eq!(uri.path_and_query().unwrap().as_str(), &filled);
        let again: Uri = uri.to_string().parse().unwrap();
        prop_assert_eq!(again.host(), Some("user.test"));
        let literal: String = template.0.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Field(_) => "",
        }).collect();
        for separator in ['/', '?', '&', '=', '#', '@', ':'] {
            prop_assert_eq!(filled.matches(separator).count(), literal.matches(separator).count());
        }
        let decoded = uri.path().replace("%2F", "/").replace("%5C", "/");
        prop_assert!(!decoded.split('/').any(|segment| segment == ".."));
    }

    #[test]
    fn no_value_splits_a_header(text in ".{0,12}", value in any::<String>()) {
        let Ok(template) = ValueTemplate::parse(&format!("{text}{{event_type}}")) else { return Ok(()) };
        let fields = Fields { event_type: Some(&value), ..Fields::default() };
        if let Ok(filled) = template.fill(&fields) {
            prop_assert!(!filled.as_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        }
    }

    #[test]
    fn any_text_is_a_template_or_an_error(text in any::<String>()) {
        let _ = (PathTemplate::parse(&text), ValueTemplate::parse(&text));
    }
}
