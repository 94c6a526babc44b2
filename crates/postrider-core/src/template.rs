//! Texts with fields of a message in them: the path of a URL, the value of a header.
//!
//! A field stands in braces, such as `{event_type}` or `{payload:/customer/id}`. Each value is written as it has to be
//! where it stands, so that no value adds a segment, a parameter or a header, or changes the host: that is no part of a
//! template. A value that is missing, or cannot stand there, is an error: such a message can never be sent.

use std::{borrow::Cow, collections::HashMap, fmt};

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

/// The longest path and query, and the longest value of a header, in bytes, after the values are filled in.
pub const RENDERED_MAX: usize = 8 * 1024;

/// What is encoded of a value: all but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a text is no template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("a brace that opens or closes no field")]
    Brace,
    #[error("an unknown field")]
    Field,
    #[error("a character that cannot stand there")]
    Character,
    #[error("it does not begin with one /")]
    Start,
    #[error("a segment of dots")]
    Dots,
}

/// Why a message has nothing to fill a template with. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("it has no {field}")]
    Missing { field: String },
    #[error("its {field} is no text, number or boolean")]
    NotPlain { field: String },
    #[error("its {field} is empty, which a path cannot have")]
    Empty { field: String },
    #[error("its {field} has control characters")]
    Control { field: String },
    #[error("a segment of the path would be `.` or `..`")]
    Dots,
    #[error("it would have more than {RENDERED_MAX} bytes")]
    TooLong,
}

/// What a message is to a template.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields<'a> {
    /// As `msg_<id>`.
    pub message_id: &'a str,
    pub event_type: Option<&'a str>,
    pub ordering_key: Option<&'a str>,
    pub correlation_id: Option<&'a str>,
    /// The message's own headers: a JSON object of texts.
    pub headers: Option<&'a str>,
    /// The message's metadata: a JSON object.
    pub metadata: Option<&'a str>,
    /// The payload, where it is JSON.
    pub payload: Option<&'a [u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    MessageId,
    EventType,
    OrderingKey,
    CorrelationId,
    /// Its name in lower case.
    Header(String),
    Metadata(String),
    /// The keys of a JSON pointer.
    Payload(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// The path and query of a URL, whose scheme, host and port are elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTemplate(Vec<Part>);

/// The value of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTemplate(Vec<Part>);

impl PathTemplate {
    /// Reads a path that begins with one `/`, with or without a query, of the characters that may stand there.
    ///
    /// # Errors
    ///
    /// What is wrong with it. `postrider.is_url_template` refuses the same texts.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if !text.starts_with('/') || text.starts_with("//") {
            return Err(TemplateError::Start);
        }
        if has_segment_of_dots(text) {
            return Err(TemplateError::Dots);
        }
        let parts = parse(text, false)?;
        let literals = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Field(_) => None,
        });
        match literals.into_iter().all(|text| is_path_text(text)) {
            true => Ok(Self(parts)),
            false => Err(TemplateError::Character),
        }
    }

    /// The path and query of one message.
    ///
    /// # Errors
    ///
    /// What the message does not have.
    pub fn fill(&self, fields: &Fields<'_>) -> Result<String, FillError> {
        let mut filled = String::new();
        let mut is_path = true;
        for part in &self.0 {
            match part {
                Part::Text(text) => {
                    is_path &= !text.contains('?');
                    filled.push_str(text);
                }
                Part::Field(field) => {
                    let value = field.value(fields)?;
                    if is_path && value.is_empty() {
                        return Err(FillError::Empty { field: field.to_string() });
                    }
                    filled.extend(utf8_percent_encode(&value, RESERVED));
                }
            }
            if filled.len() > RENDERED_MAX {
                return Err(FillError::TooLong);
            }
        }
        let path = filled.split('?').next().unwrap_or_default();
        match path.split('/').any(climbs) {
            true => Err(FillError::Dots),
            false => Ok(filled),
        }
    }

    /// Whether it names anything of the message's metadata.
    pub fn needs_metadata(&self) -> bool {
        need_metadata(&self.0)
    }
}

impl ValueTemplate {
    /// Reads the value of a header. Braces that are no field are doubled, `{{` and `}}`.
    ///
    /// # Errors
    ///
    /// What is wrong with it. `postrider.is_header_template` refuses the same texts.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        parse(text, true).map(Self)
    }

    /// The value for one message.
    ///
    /// # Errors
    ///
    /// What the message does not have, or what a header cannot hold.
    pub fn fill(&self, fields: &Fields<'_>) -> Result<HeaderValue, FillError> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Field(field) => {
                    let value = field.value(fields)?;
                    if HeaderValue::from_bytes(value.as_bytes()).is_err() {
                        return Err(FillError::Control { field: field.to_string() });
                    }
                    filled.push_str(&value);
                }
            }
            if filled.len() > RENDERED_MAX {
                return Err(FillError::TooLong);
            }
        }
        let control = || FillError::Control { field: "value".to_owned() };
        HeaderValue::from_bytes(filled.as_bytes()).map_err(|_| control())
    }

    /// Whether it names anything of the message's metadata.
    pub fn needs_metadata(&self) -> bool {
        need_metadata(&self.0)
    }
}

fn need_metadata(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Field(Field::Metadata(_))))
}

impl Field {
    fn parse(text: &str) -> Option<Self> {
        let (name, argument) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        match (name, argument) {
            ("message_id", None) => Some(Self::MessageId),
            ("event_type", None) => Some(Self::EventType),
            ("ordering_key", None) => Some(Self::OrderingKey),
            ("correlation_id", None) => Some(Self::CorrelationId),
            ("header", Some(name)) => {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some(Self::Header(name.as_str().to_owned()))
            }
            ("metadata", Some(name)) if !name.is_empty() && !has_control(name) => {
                Some(Self::Metadata(name.to_owned()))
            }
            ("payload", Some(pointer)) if !has_control(pointer) => {
                let keys = pointer.strip_prefix('/')?.split('/');
                keys.map(unescape).collect::<Option<Vec<_>>>().map(Self::Payload)
            }
            _ => None,
        }
    }

    fn value<'a>(&self, fields: &Fields<'a>) -> Result<Cow<'a, str>, FillError> {
        let missing = || FillError::Missing { field: self.to_string() };
        let plain = |value: Option<&'a str>| value.map(Cow::Borrowed).ok_or_else(missing);
        match self {
            Self::MessageId => Ok(Cow::Owned(fields.message_id.to_owned())),
            Self::EventType => plain(fields.event_type),
            Self::OrderingKey => plain(fields.ordering_key),
            Self::CorrelationId => {
                fields.correlation_id.map(|id| Cow::Owned(id.to_owned())).ok_or_else(missing)
            }
            Self::Header(name) => {
                let headers: HashMap<Cow<'_, str>, &RawValue> = fields
                    .headers
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default();
                let header = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                self.scalar(header.map(|(_, value)| *value))
            }
            Self::Metadata(name) => {
                let value = fields.metadata.and_then(|text| member(text, name));
                self.scalar(value)
            }
            Self::Payload(keys) => {
                let text = fields.payload.and_then(|bytes| std::str::from_utf8(bytes).ok());
                let root = text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
                let step = |value: &'a RawValue, key: &String| step(value.get(), key);
                self.scalar(root.and_then(|root| keys.iter().try_fold(root, step)))
            }
        }
    }

    /// A text without its quotes, a number or boolean as it is written.
    fn scalar(&self, value: Option<&RawValue>) -> Result<Cow<'static, str>, FillError> {
        let text = value.map(RawValue::get).filter(|text| *text != "null");
        let text = text.ok_or_else(|| FillError::Missing { field: self.to_string() })?;
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<String>(text)
                .map(Cow::Owned)
                .map_err(|_| FillError::NotPlain { field: self.to_string() }),
            Some(b'{' | b'[') => Err(FillError::NotPlain { field: self.to_string() }),
            _ => Ok(Cow::Owned(text.to_owned())),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MessageId => f.write_str("message_id"),
            Self::EventType => f.write_str("event_type"),
            Self::OrderingKey => f.write_str("ordering_key"),
            Self::CorrelationId => f.write_str("correlation_id"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Metadata(name) => write!(f, "metadata:{name}"),
            Self::Payload(keys) => {
                f.write_str("payload:")?;
                keys.iter()
                    .try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")))
            }
        }
    }
}

/// One step of a JSON pointer (RFC 6901).
fn step<'a>(json: &'a str, key: &str) -> Option<&'a RawValue> {
    if json.starts_with('[') {
        // No sign, no leading zero.
        let index: usize = key.parse().ok().filter(|index: &usize| index.to_string() == key)?;
        let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return elements.get(index).copied();
    }
    member(json, key)
}

fn member<'a>(json: &'a str, key: &str) -> Option<&'a RawValue> {
    let members: HashMap<Cow<'_, str>, &'a RawValue> = serde_json::from_str(json).ok()?;
    members.get(key).copied()
}

/// A key of a JSON pointer without its escapes.
fn unescape(key: &str) -> Option<String> {
    let is_escaped =
        |(at, _): (usize, &str)| matches!(key.as_bytes().get(at + 1), Some(b'0' | b'1'));
    let is_good = key.match_indices('~').all(is_escaped);
    is_good.then(|| key.replace("~1", "/").replace("~0", "~"))
}

fn parse(text: &str, has_doubled_braces: bool) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        literal.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if has_doubled_braces && let Some(after) = rest.strip_prefix(brace) {
            literal.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(TemplateError::Brace);
        }
        let (name, after) = rest.split_once('}').ok_or(TemplateError::Brace)?;
        let field =
            Field::parse(name).filter(|_| !name.contains('{')).ok_or(TemplateError::Field)?;
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal)));
        }
        parts.push(Part::Field(field));
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Text(literal));
    }
    Ok(parts)
}

fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control())
}

/// Whether a path and query may have these characters: RFC 3986, `%` only before two hexadecimal digits.
fn is_path_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => {
            let digits = bytes.get(at + 1..at + 3);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        }
        _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(byte),
    })
}

/// Whether servers may take a segment for "here" or "up".
fn has_segment_of_dots(text: &str) -> bool {
    text.match_indices('/').any(|(at, _)| {
        let segment = text[at + 1..].split(['/', '?']).next().unwrap_or_default();
        is_dots(segment)
    })
}

fn is_dots(segment: &str) -> bool {
    let decoded = segment.replace("%2e", ".").replace("%2E", ".");
    decoded == "." || decoded == ".."
}

/// Whether a server that decodes slashes would leave the segment: `..%2Fadmin` of a key `../admin`.
fn climbs(segment: &str) -> bool {
    let decoded = segment.replace("%2f", "/").replace("%2F", "/");
    let decoded = decoded.replace("%5c", "/").replace("%5C", "/");
    decoded.split('/').any(is_dots)
}

#[cfg(test)]
mod tests;
