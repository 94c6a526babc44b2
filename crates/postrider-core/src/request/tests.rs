use super::*;
use crate::{
    render::{WEBHOOK_ID, WEBHOOK_SIGNATURE},
    signing::{self, SigningKey, scheme::Names},
};

const ATTEMPT: Attempt<'_> = Attempt {
    message_id: 42,
    number: 1,
    timestamp: 1_700_000_000,
    body: b"{\"id\": 7}",
    created_at: 1_795_580_250_000_000,
    expires_at: None,
    ordering_key: None,
    metadata: None,
    correlation_id: None,
    headers: Some(r#"{"webhook-signature": "v1,forged", "x-a": "1"}"#),
    event_type: Some("order.created"),
    replay_of: None,
    content_type: None,
};

fn keys() -> Vec<SigningKey> {
    let keys = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
    keys.iter().map(|key| SigningKey::parse(key).unwrap()).collect()
}

fn template(format: Format) -> RequestTemplate {
    let none: [(&str, &str); 0] = [];
    RequestTemplate {
        headers: HeaderTemplate::new("application/json", "test", none).unwrap(),
        header_templates: Vec::new(),
        path: None,
        format,
        signer: Signer::Standard { keys: keys(), names: Names::Webhook },
    }
}

#[test]
fn each_key_signs_what_is_sent_with_the_id_and_the_time_of_the_same_request() {
    for format in format::NAMES.iter().map(|name| Format::named(name).unwrap()) {
        let rendered = template(format).render(&ATTEMPT, "/shop").unwrap();
        let id = rendered.headers[WEBHOOK_ID].to_str().unwrap();
        let sent = rendered.body.as_deref().unwrap_or(ATTEMPT.body);
        let expected = signing::signatures(&keys(), id, ATTEMPT.timestamp, sent).unwrap();
        let found: Vec<_> = rendered.headers.get_all(WEBHOOK_SIGNATURE).iter().collect();
        assert_eq!(found, [&expected], "{format:?}");
        assert_eq!(expected.to_str().unwrap().split(' ').count(), 2);
    }
    let unsigned = RequestTemplate { signer: Signer::none(), ..template(Format::Raw) };
    let rendered = unsigned.render(&ATTEMPT, "/shop").unwrap();
    assert!(!rendered.headers.contains_key(WEBHOOK_SIGNATURE));
    assert!(rendered.body.is_none() && rendered.path.is_none());
}

#[test]
fn templates_are_filled_in_and_a_message_replaces_headers_of_its_endpoint() {
    let value = |text| ValueTemplate::parse(text).unwrap();
    let name = HeaderName::from_static;
    let template = RequestTemplate {
        path: Some(PathTemplate::parse("/{event_type}/{payload:/id}").unwrap()),
        header_templates: vec![
            (name("x-a"), value("{event_type}")),
            (name("x-b"), value("id {payload:/id}")),
        ],
        ..template(Format::Raw)
    };
    let rendered = template.render(&ATTEMPT, "/shop").unwrap();
    assert_eq!(rendered.path.as_deref(), Some("/order.created/7"));
    assert_eq!(
        (&rendered.headers["x-a"], &rendered.headers["x-b"]),
        (&"1".parse().unwrap(), &"id 7".parse().unwrap())
    );
    let direct = Attempt { event_type: None, ..ATTEMPT };
    let error = template.render(&direct, "/shop").unwrap_err();
    assert_eq!(error.to_string(), "url_template: it has no event_type");
    let bytes = Attempt { body: b"\xff", ..ATTEMPT };
    let only = RequestTemplate { path: None, ..template };
    let error = only.render(&bytes, "/shop").unwrap_err();
    assert_eq!(error.to_string(), "header_templates.x-b: it has no payload:/id");
}
