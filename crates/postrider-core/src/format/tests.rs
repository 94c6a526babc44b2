use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::render::check_header;

fn lines(headers: &HeaderMap) -> Vec<String> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
    };
    let mut lines: Vec<String> = headers.iter().map(line).collect();
    lines.sort();
    lines
}

fn header_map(headers: &Value) -> HeaderMap {
    let headers = headers.as_object().unwrap().iter();
    headers.map(|(name, value)| check_header(name, value.as_str().unwrap()).unwrap()).collect()
}

#[test]
fn a_message_is_written_in_each_format() {
    let file: Value =
        serde_json::from_str(include_str!("../../../postrider/testdata/formats.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let event = &case["event"];
        let hex = |text: &str| -> Vec<u8> {
            let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(digits).collect()
        };
        let payload = match event["payload_hex"].as_str() {
            Some(text) => hex(text),
            None => event["payload"].as_str().unwrap().as_bytes().to_vec(),
        };
        let event = Event {
            id: event["id"].as_str().unwrap(),
            event_type: event["event_type"].as_str(),
            source: file["source"].as_str().unwrap(),
            created_at: event["created_at"].as_i64().unwrap(),
            expires_at: event["expires_at"].as_i64(),
            ordering_key: event["ordering_key"].as_str(),
            correlation_id: event["correlation_id"].as_str(),
            payload: &payload,
            content_type: event["content_type"].as_str(),
        };
        let mut headers = header_map(&case["given"]);
        let format = Format::named(case["format"].as_str().unwrap()).unwrap();
        let written = write(format, &event, &mut headers);
        let error = written.as_ref().err().map(ToString::to_string);
        assert_eq!(error.as_deref(), case["error"].as_str(), "{}", case["about"]);
        let Ok(body) = written else { continue };
        let body = body.map(|body| String::from_utf8(body.to_vec()).unwrap());
        assert_eq!(body.as_deref(), case["body"].as_str(), "{}", case["about"]);
        assert_eq!(lines(&headers), lines(&header_map(&case["headers"])), "{}", case["about"]);
    }
}

proptest! {
    /// Whatever a message holds, the envelope is JSON with one of each member, and gives back what went in.
    #[test]
    fn an_envelope_gives_back_what_went_in(
        payload in proptest::collection::vec(any::<u8>(), 0..40),
        key in "\\PC{0,20}",
        subject in "[^\\x00-\\x08\\x0a-\\x1f\\x7f]{1,20}",
        is_json in any::<bool>(),
    ) {
        let text = serde_json::json!({ "k": key, "n": 1.5 }).to_string();
        let event = Event {
            id: "msg_1",
            event_type: None,
            source: "/shop",
            created_at: 0,
            expires_at: None,
            ordering_key: Some(&key),
            correlation_id: None,
            payload: if is_json { text.as_bytes() } else { &payload },
            content_type: (!is_json).then_some("application/octet-stream"),
        };
        let given: HeaderMap = [check_header("ce-subject", &subject).unwrap()].into_iter().collect();
        let mut headers = given.clone();
        let body = write(Format::CloudEventsStructured, &event, &mut headers).unwrap().unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(body["subject"].as_str(), Some(&*subject));
        prop_assert_eq!(body.get("partitionkey").and_then(Value::as_str), Some(&*key).filter(|key| !key.is_empty()));
        match is_json {
            true => prop_assert_eq!(&body["data"]["k"], &Value::from(&*key)),
            false => prop_assert_eq!(
                &STANDARD.decode(body["data_base64"].as_str().unwrap()).unwrap(), &payload),
        }

        let mut headers = given;
        prop_assert!(write(Format::CloudEventsBinary, &event, &mut headers).unwrap().is_none());
        let value = headers["ce-subject"].to_str().unwrap();
        let mut bytes = Vec::new();
        let mut rest = value.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'%' => {
                    let digits: String = rest.by_ref().take(2).map(char::from).collect();
                    bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                }
                _ => bytes.push(byte),
            }
        }
        prop_assert_eq!(bytes, subject.as_bytes());
    }
}
