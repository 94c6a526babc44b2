//! What a body looks like: the payload as it is, or in an envelope that others know.
//!
//! CloudEvents 1.0 in binary and structured mode (HTTP protocol binding), and the shape that Standard Webhooks
//! recommends. A payload that is JSON stands in an envelope to the byte as it is stored. What is made here is what is
//! signed and sent.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::value::RawValue;

use crate::{moment::rfc3339, render::HeaderError};

/// The type of a message that was sent to an endpoint, and not published.
pub const DIRECT_TYPE: &str = "postrider.message";

// In small letters, because the `cloudevents` package of npm compares it letter by letter.
const STRUCTURED_TYPE: &str = "application/cloudevents+json; charset=utf-8";
const JSON_TYPE: &str = "application/json";
const ATTRIBUTE_PREFIX: &str = "ce-";
/// The longest name of an attribute.
const ATTRIBUTE_MAX: usize = 64;
/// Attributes that are ours to set, and `data`, which is none.
const OWN_ATTRIBUTES: &[&str] =
    &["data", "datacontenttype", "id", "source", "specversion", "time", "type"];

/// What the HTTP binding of CloudEvents encodes in the value of a header, beside all that is not ASCII.
const HEADER_VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The payload as it is.
    Raw,
    /// `{"type": …, "timestamp": …, "data": …}`
    Standard,
    CloudEventsBinary,
    CloudEventsStructured,
}

impl Format {
    /// By its name in a config.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().zip(ALL).find(|(known, _)| **known == name).map(|(_, format)| format)
    }
}

/// The names of all formats.
pub const NAMES: &[&str] = &["raw", "standard", "cloudevents-binary", "cloudevents-structured"];
const ALL: [Format; 4] =
    [Format::Raw, Format::Standard, Format::CloudEventsBinary, Format::CloudEventsStructured];

/// A message as an event.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// `msg_<id>`
    pub id: &'a str,
    /// Of a published message.
    pub event_type: Option<&'a str>,
    /// Whose events they are: a URI reference.
    pub source: &'a str,
    /// When it was sent, and until when it is good, in microseconds since 1970.
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub ordering_key: Option<&'a str>,
    pub correlation_id: Option<&'a str>,
    pub payload: &'a [u8],
    /// What the payload is, where it was sent as bytes.
    pub content_type: Option<&'a str>,
}

/// Why a message cannot be written so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("its payload is no JSON, which the format `standard` needs")]
    NoJson,
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// Writes the body, and changes headers that are about it. None: the body is the payload.
///
/// `headers` are those of endpoint and message, merged. Of those the ones that begin with `ce-` are attributes of a
/// CloudEvent, given as they are, without percent-encoding.
///
/// # Errors
///
/// What makes it impossible for this message.
pub fn write(
    format: Format,
    event: &Event<'_>,
    headers: &mut HeaderMap,
) -> Result<Option<Bytes>, FormatError> {
    match format {
        Format::Raw => Ok(None),
        Format::Standard => {
            let data = json_of(event.payload, event.content_type).ok_or(FormatError::NoJson)?;
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
            let mut body = Object::new();
            body.text("type", event.event_type.unwrap_or(DIRECT_TYPE));
            body.text("timestamp", &rfc3339(event.created_at));
            body.json("data", data);
            Ok(Some(body.end()))
        }
        Format::CloudEventsBinary => {
            for (name, value) in attributes(event, headers) {
                let name = HeaderName::try_from(format!("{ATTRIBUTE_PREFIX}{name}"))
                    .expect("the name of an attribute is the end of a header's");
                headers.insert(name, percent_encoded(&value));
            }
            Ok(None)
        }
        Format::CloudEventsStructured => Ok(Some(structured(event, headers))),
    }
}

fn structured(event: &Event<'_>, headers: &mut HeaderMap) -> Bytes {
    let attributes = attributes(event, headers);
    let own_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = event.content_type.or(own_type).unwrap_or(JSON_TYPE).to_owned();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(STRUCTURED_TYPE));
    let mut body = Object::new();
    for (name, value) in attributes {
        body.text(&name, &value);
    }
    body.text("datacontenttype", &content_type);
    match json_of(event.payload, Some(&content_type)) {
        Some(data) => body.json("data", data),
        None => body.text("data_base64", &STANDARD.encode(event.payload)),
    }
    body.end()
}

/// The attributes but `datacontenttype`, ours first. Those that stand in headers are taken out of them.
fn attributes(event: &Event<'_>, headers: &mut HeaderMap) -> Vec<(String, String)> {
    let mut given: Vec<(HeaderName, String)> = headers
        .iter()
        .filter_map(|(name, value)| {
            let attribute = name.as_str().strip_prefix(ATTRIBUTE_PREFIX)?;
            is_attribute(attribute)
                .then(|| (name.clone(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        })
        .collect();
    // The same in every attempt.
    given.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    let time = rfc3339(event.created_at);
    let expires_at = event.expires_at.map(rfc3339);
    let own = [
        ("specversion", Some("1.0")),
        ("id", Some(event.id)),
        ("source", Some(event.source)),
        ("type", Some(event.event_type.unwrap_or(DIRECT_TYPE))),
        ("time", Some(time.as_str())),
        ("partitionkey", event.ordering_key),
        ("correlationid", event.correlation_id),
        ("expirytime", expires_at.as_deref()),
        // The context in which the message was made, which is no hop's.
        ("traceparent", headers.get("traceparent").and_then(|value| value.to_str().ok())),
        ("tracestate", headers.get("tracestate").and_then(|value| value.to_str().ok())),
    ];
    let is_given = |name: &str| {
        given.iter().any(|(header, value)| {
            &header.as_str()[ATTRIBUTE_PREFIX.len()..] == name && !value.is_empty()
        })
    };
    let mut attributes: Vec<(String, String)> = own
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(|(name, value)| {
            !value.is_empty()
                // The type String of CloudEvents has none of these.
                && !value.contains(char::is_control)
                && (OWN_ATTRIBUTES.contains(name) || !is_given(name))
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (header, value) in given {
        headers.remove(&header);
        let name = &header.as_str()[ATTRIBUTE_PREFIX.len()..];
        if !OWN_ATTRIBUTES.contains(&name) && !value.is_empty() {
            attributes.push((name.to_owned(), value));
        }
    }
    attributes
}

fn is_attribute(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !name.is_empty() && name.len() <= ATTRIBUTE_MAX && name.bytes().all(is_letter)
}

fn percent_encoded(value: &str) -> HeaderValue {
    let encoded = utf8_percent_encode(value, HEADER_VALUE).to_string();
    HeaderValue::try_from(encoded).expect("printable ASCII is a header value")
}

/// The payload as JSON, if it is that: it was given as JSON (no type), or as bytes of such a type.
fn json_of<'a>(payload: &'a [u8], content_type: Option<&str>) -> Option<&'a str> {
    if let Some(content_type) = content_type {
        let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !media.ends_with("/json") && !media.ends_with("+json") {
            return None;
        }
    }
    let text = std::str::from_utf8(payload).ok()?;
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

/// A JSON object that is written member by member.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self(String::from("{"))
    }

    fn text(&mut self, name: &str, value: &str) {
        let value = serde_json::to_string(value).expect("a text can be written as JSON");
        self.json(name, &value);
    }

    fn json(&mut self, name: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&serde_json::to_string(name).expect("a text can be written as JSON"));
        self.0.push(':');
        self.0.push_str(value);
    }

    fn end(mut self) -> Bytes {
        self.0.push('}');
        Bytes::from(self.0)
    }
}

#[cfg(test)]
mod tests;
