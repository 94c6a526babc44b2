//! The headers of an HTTP request: what an endpoint, a message and an attempt say, merged.
//!
//! An endpoint's headers are parsed once, when it is opened, into a [`HeaderTemplate`]; an attempt
//! clones the template and fills in its own. No header can split a request, whatever bytes it was
//! given, and none that Postrider or HTTP itself sets can be set by a user.

use std::borrow::Cow;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_TYPE, USER_AGENT},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

/// The message's id as `msg_<id>`, the same in every attempt (Standard Webhooks).
pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
/// When the attempt was made, in seconds since 1970 (Standard Webhooks).
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// A signature of each of the endpoint's keys (Standard Webhooks).
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// Which attempt this is, from 1.
pub const ATTEMPT: HeaderName = HeaderName::from_static("postrider-attempt");
/// The message's correlation id, if it has one.
pub const CORRELATION_ID: HeaderName = HeaderName::from_static("postrider-correlation-id");

/// The event type, if the message was published.
pub const EVENT_TYPE: HeaderName = HeaderName::from_static("postrider-event-type");

/// The message that this one repeats, as `msg_<id>`, if it is a replay.
pub const REPLAY_OF: HeaderName = HeaderName::from_static("postrider-replay-of");

/// The most headers that a request may have, ours included.
pub const HEADERS_MAX: usize = 100;
/// The longest text of a message's headers, in bytes.
pub const HEADERS_TEXT_MAX: usize = 32 * 1024;

/// Names that users may not set: ours, and those that HTTP/1.1 and HTTP/2 keep for the connection
/// (RFC 9110 section 7.6.1, RFC 9113 section 8.2.2). `postrider-*` is refused besides.
pub const RESERVED: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];
/// Every name that starts like this is reserved too.
pub const RESERVED_PREFIX: &str = "postrider-";

/// What is wrong with the headers of an endpoint or a message. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The headers are not a JSON object.
    #[error("headers must be an object of texts")]
    NotAnObject,
    /// A header's value is not a text.
    #[error("header `{name}` must be a text")]
    NotText {
        /// The header's name.
        name: String,
    },
    /// A name that is not a token of RFC 9110.
    #[error("`{name}` is not a valid header name")]
    Name {
        /// The name, its odd characters escaped.
        name: String,
    },
    /// A value with control characters.
    #[error("header `{name}` must not contain control characters")]
    Value {
        /// The header's name.
        name: String,
    },
    /// A name of [`RESERVED`].
    #[error("header `{name}` is reserved")]
    Reserved {
        /// The header's name.
        name: String,
    },
    /// A value that is no template.
    #[error(
        "header `{name}` is no template: its braces are fields such as {{event_type}}, or doubled"
    )]
    Template {
        /// The header's name.
        name: String,
    },
    /// More than [`HEADERS_MAX`] headers.
    #[error("a request cannot have more than {HEADERS_MAX} headers")]
    TooMany,
    /// Headers that a signature cannot be made of.
    #[error("its headers cannot be signed")]
    Unsignable,
    /// More text than [`HEADERS_TEXT_MAX`].
    #[error("headers must not be longer than {HEADERS_TEXT_MAX} bytes")]
    TooLong,
}

/// Whether `name`, in lower case, is one that users may not set.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok() || name.starts_with(RESERVED_PREFIX)
}

/// Checks one header as a user wrote it and returns it ready to be sent, the name in lower case.
///
/// Whether the name is reserved is not checked: at an endpoint that is an error, in a message the
/// header is dropped.
pub fn check_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HeaderError> {
    let header = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| HeaderError::Name { name: name.escape_debug().to_string() })?;
    let value = HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| HeaderError::Value { name: name.to_owned() })?;
    Ok((header, value))
}

/// What differs from attempt to attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The message's id.
    pub message_id: i64,
    /// From 1.
    pub number: u32,
    /// When the attempt is made, in seconds since 1970.
    pub timestamp: i64,
    /// The payload as it is stored.
    pub body: &'a [u8],
    /// When the message was sent, and until when it is good, in microseconds since 1970.
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub ordering_key: Option<&'a str>,
    /// A JSON object. It is not sent, unless a template asks for some of it.
    pub metadata: Option<&'a str>,
    /// The message's correlation id in its usual text form.
    pub correlation_id: Option<&'a str>,
    /// The event type of a published message.
    pub event_type: Option<&'a str>,
    /// The message that this one repeats.
    pub replay_of: Option<i64>,
    /// The message's own headers: a JSON object of texts.
    pub headers: Option<&'a str>,
    /// What the body is, where it is no JSON: stands above every other Content-Type.
    pub content_type: Option<&'a str>,
}

impl Attempt<'_> {
    /// The message's id as receivers know it.
    pub fn webhook_id(&self) -> String {
        format!("msg_{}", self.message_id)
    }
}

/// The headers that all requests to one endpoint have in common.
#[derive(Debug, Clone)]
pub struct HeaderTemplate {
    /// Holds a place for each header of an attempt too, so that filling it in never grows the map.
    headers: HeaderMap,
}

impl HeaderTemplate {
    /// The template of an endpoint with these `headers`; `content_type` and `user_agent` hold
    /// where neither the endpoint nor a message says otherwise.
    ///
    /// Fails on a header that is malformed or reserved, and on more than [`HEADERS_MAX`].
    pub fn new<'a>(
        content_type: &'a str,
        user_agent: &'a str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, HeaderError> {
        let mut merged = HeaderMap::new();
        let defaults = [(CONTENT_TYPE.as_str(), content_type), (USER_AGENT.as_str(), user_agent)];
        for (name, value) in defaults.into_iter().chain(headers) {
            let (name, value) = check_header(name, value)?;
            if is_reserved(name.as_str()) {
                return Err(HeaderError::Reserved { name: name.as_str().to_owned() });
            }
            insert(&mut merged, name, value)?;
        }
        for name in [WEBHOOK_ID, WEBHOOK_TIMESTAMP, ATTEMPT] {
            insert(&mut merged, name, HeaderValue::from_static(""))?;
        }
        Ok(Self { headers: merged })
    }

    /// The headers of one request, each name once and in lower case.
    ///
    /// The message's headers replace the endpoint's of the same name, and those in `filled` too, which come from
    /// templates; those with a reserved name are dropped. An error means that the message can never be sent.
    pub fn render(
        &self,
        filled: &[(HeaderName, HeaderValue)],
        attempt: &Attempt<'_>,
    ) -> Result<HeaderMap, HeaderError> {
        let mut headers = self.headers.clone();
        for (name, value) in filled {
            insert(&mut headers, name.clone(), value.clone())?;
        }
        if let Some(text) = attempt.headers {
            merge(&mut headers, text)?;
        }
        headers.insert(WEBHOOK_ID, own_value(attempt.webhook_id()));
        headers.insert(WEBHOOK_TIMESTAMP, attempt.timestamp.into());
        headers.insert(ATTEMPT, attempt.number.into());
        if let Some(id) = attempt.correlation_id {
            let (name, value) = check_header(CORRELATION_ID.as_str(), id)?;
            headers.insert(name, value);
        }
        if let Some(event_type) = attempt.event_type {
            let (name, value) = check_header(EVENT_TYPE.as_str(), event_type)?;
            headers.insert(name, value);
        }
        if let Some(id) = attempt.replay_of {
            headers.insert(REPLAY_OF, own_value(format!("msg_{id}")));
        }
        if let Some(content_type) = attempt.content_type {
            let (name, value) = check_header(CONTENT_TYPE.as_str(), content_type)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

fn own_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("letters, digits and punctuation make a header value")
}

fn insert(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: HeaderValue,
) -> Result<(), HeaderError> {
    headers.insert(name, value);
    if headers.len() > HEADERS_MAX { Err(HeaderError::TooMany) } else { Ok(()) }
}

/// Puts the headers of a message, a JSON object as text, over those of its endpoint.
fn merge(headers: &mut HeaderMap, text: &str) -> Result<(), HeaderError> {
    if text.len() > HEADERS_TEXT_MAX {
        return Err(HeaderError::TooLong);
    }
    let mut merging = Merging { headers, error: None };
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = json.deserialize_map(&mut merging).and_then(|()| json.end());
    match (merging.error, parsed) {
        (Some(error), _) => Err(error),
        (None, Err(_)) => Err(HeaderError::NotAnObject),
        (None, Ok(())) => Ok(()),
    }
}

/// Merges while it parses, so that a message's headers are never held twice. The error is kept
/// aside: one of serde's would add a line and a column that nobody can see.
struct Merging<'m> {
    headers: &'m mut HeaderMap,
    error: Option<HeaderError>,
}

impl<'de> Visitor<'de> for &mut Merging<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let value: MaybeText<'_> = map.next_value()?;
            if let Err(error) = self.merge_one(&name, value) {
                self.error = Some(error);
                return Err(A::Error::custom("a header cannot be sent"));
            }
        }
        Ok(())
    }
}

impl Merging<'_> {
    fn merge_one(&mut self, name: &str, value: MaybeText<'_>) -> Result<(), HeaderError> {
        let MaybeText::Text(value) = value else {
            return Err(HeaderError::NotText { name: name.escape_debug().to_string() });
        };
        let (name, value) = check_header(name, &value)?;
        if is_reserved(name.as_str()) { Ok(()) } else { insert(self.headers, name, value) }
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(untagged)]
enum MaybeText<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(serde::de::IgnoredAny),
}

#[cfg(test)]
mod tests;
