//! What an endpoint's config may hold, described by data, and the check of a config against it.
//!
//! The same table is written into `postrider.transport_option`, where
//! `postrider.validate_endpoint_config` makes the same check with the same words when a config is
//! stored; `testdata/endpoint_config.json` holds the cases for both.

use std::collections::HashSet;

use http::Uri;
use postrider_core::{
    auth::AuthError,
    egress::{EgressError, TlsError},
    render::{self, HeaderError},
    signing::{
        self, KeyError, SigningKey,
        scheme::{self, SchemeError},
    },
    spelling::{self, edit_distance},
    template::{PathTemplate, ValueTemplate},
};
use serde_json::{Map, Value, json};

/// The longest name that is compared or repeated in an error, in characters.
const NAME_MAX: usize = spelling::LENGTH_MAX;
/// How much of a name may differ from one that is still taken for it, in parts of a thousand.
const DIFFERENCE_MAX: usize = 666;

/// The longest text of a list, in characters.
const LISTED_MAX: i64 = 2_048;

/// One key of an endpoint's config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigOption {
    /// The key; of a member of an object its whole path, such as `auth.type`.
    pub name: &'static str,
    /// What its value may be.
    pub kind: OptionKind,
    /// Whether it must be there.
    pub required: bool,
    /// What holds when it is absent; where that depends, the description says on what. Of a member: when
    /// its object is there and has no such member.
    pub default: DefaultValue,
    /// What it does, in a sentence or two.
    pub description: &'static str,
    /// Whether its value must not be shown to those who may only look. An object is secret as a whole, or not
    /// at all: its members are what it is.
    pub secret: bool,
}

/// What the value of an option may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// A text of 1 to `max` characters without control characters.
    Text { max: i64 },
    /// An integer, both bounds included.
    Integer { min: i64, max: i64 },
    /// `true` or `false`.
    Boolean,
    /// One of these texts, written exactly so.
    OneOf(&'static [&'static str]),
    /// An object of up to `max` texts.
    Map { max: i64 },
    /// An object of up to `max` texts that are sent as HTTP headers.
    Headers { max: i64 },
    /// An `http` or `https` address of up to `max` characters.
    Url { max: i64 },
    /// An array of up to `max` keys that sign, see [`signing`].
    SigningKeys { max: i64 },
    /// The name of a header of up to `max` characters that users may set.
    HeaderName { max: i64 },
    /// A text of up to `max` characters with some of these fields in braces; `body`, if it is one of them, has to be
    /// there. See [`scheme::is_template`].
    Template { max: i64, fields: &'static [&'static str] },
    /// A path of up to `max` characters, see [`PathTemplate`].
    UrlTemplate { max: i64 },
    /// An object of up to `max` texts that are sent as HTTP headers, filled in for each message, see
    /// [`ValueTemplate`].
    HeaderTemplates { max: i64 },
    /// A text of 1 to `max` characters whose only control characters are tabs and the ends of lines.
    Lines { max: i64 },
    /// An array of up to `max` texts, no two alike.
    Texts { max: i64 },
    /// An object with some of these members, or one of these words.
    Object { members: &'static [ConfigOption], words: &'static [&'static str] },
}

/// The name of an [`OptionKind`], as `postrider.transport_option` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindName {
    Text,
    Integer,
    Boolean,
    OneOf,
    Map,
    Headers,
    Url,
    SigningKeys,
    HeaderName,
    Template,
    UrlTemplate,
    HeaderTemplates,
    Lines,
    Texts,
    Object,
}

/// How a value of some kind is written in one line, such as `--set OPTION=VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// As it is.
    Text,
    /// As JSON.
    Json,
    /// As JSON, or text by text: `OPTION.KEY=TEXT`.
    Entries,
    /// As a JSON object or a word, or member by member: `OPTION.MEMBER=VALUE`.
    Members,
    /// As JSON, or with white space between them.
    Words,
}

impl KindName {
    /// All there are.
    pub const ALL: [KindName; 15] = [
        KindName::Text,
        KindName::Integer,
        KindName::Boolean,
        KindName::OneOf,
        KindName::Map,
        KindName::Headers,
        KindName::Url,
        KindName::SigningKeys,
        KindName::HeaderName,
        KindName::Template,
        KindName::UrlTemplate,
        KindName::HeaderTemplates,
        KindName::Lines,
        KindName::Texts,
        KindName::Object,
    ];

    pub fn text(self) -> &'static str {
        match self {
            KindName::Text => "text",
            KindName::Integer => "integer",
            KindName::Boolean => "boolean",
            KindName::OneOf => "one_of",
            KindName::Map => "map",
            KindName::Headers => "headers",
            KindName::Url => "url",
            KindName::SigningKeys => "signing_keys",
            KindName::HeaderName => "header_name",
            KindName::Template => "template",
            KindName::UrlTemplate => "url_template",
            KindName::HeaderTemplates => "header_templates",
            KindName::Lines => "lines",
            KindName::Texts => "texts",
            KindName::Object => "object",
        }
    }

    /// The kind that is called so.
    pub fn parse(text: &str) -> Option<KindName> {
        KindName::ALL.into_iter().find(|kind| kind.text() == text)
    }

    pub fn spelling(self) -> Spelling {
        match self {
            KindName::Text
            | KindName::OneOf
            | KindName::Url
            | KindName::HeaderName
            | KindName::Template
            | KindName::UrlTemplate
            | KindName::Lines => Spelling::Text,
            KindName::Integer | KindName::Boolean | KindName::Texts => Spelling::Json,
            KindName::Map | KindName::Headers | KindName::HeaderTemplates => Spelling::Entries,
            KindName::Object => Spelling::Members,
            KindName::SigningKeys => Spelling::Words,
        }
    }
}

/// What holds when an option is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    None,
    Integer(i64),
    Boolean(bool),
    Text(&'static str),
}

/// Why an endpoint cannot be opened with a config. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown protocol `{protocol}`; known protocols: {}", .known.join(", "))]
    UnknownProtocol { protocol: String, known: Vec<&'static str> },
    #[error("config must be an object")]
    NotAnObject,
    #[error("config.{key} is not a known option of protocol {protocol}; {hint}")]
    UnknownKey { protocol: &'static str, key: String, hint: String },
    #[error("config.{key} is required")]
    Missing { key: &'static str },
    #[error("config.{key} must be {expected}")]
    Invalid { key: &'static str, expected: String },
    #[error("config.{key}: {source}")]
    Key { key: &'static str, source: KeyError },
    #[error("config.{key}: {source}")]
    Header { key: &'static str, source: HeaderError },
    #[error("config.{option}: {0}", option = .0.option())]
    Scheme(SchemeError),
    #[error("config.{0}")]
    Auth(#[from] AuthError),
    #[error("config.{0}")]
    Tls(#[from] TlsError),
    #[error("config.{0}")]
    Egress(#[from] EgressError),
}

/// An option that need not be there, and stands for nothing when it is not.
pub const fn optional(
    name: &'static str,
    kind: OptionKind,
    description: &'static str,
) -> ConfigOption {
    let (required, default) = (false, DefaultValue::None);
    ConfigOption { name, kind, required, default, description, secret: false }
}

/// The same, whose value must not be shown to those who may only look.
pub const fn secret(
    name: &'static str,
    kind: OptionKind,
    description: &'static str,
) -> ConfigOption {
    ConfigOption { secret: true, ..optional(name, kind, description) }
}

impl ConfigOption {
    /// The option and its members as rows of `postrider.transport_option`.
    pub fn rows(&self, protocol: &str) -> Vec<Value> {
        let mut rows = vec![self.row(protocol)];
        if let OptionKind::Object { members, .. } = self.kind {
            rows.extend(members.iter().flat_map(|member| member.rows(protocol)));
        }
        rows
    }

    fn row(&self, protocol: &str) -> Value {
        let (minimum, maximum, choices) = match self.kind {
            OptionKind::Text { max } => (Some(1), Some(max), None),
            OptionKind::Integer { min, max } => (Some(min), Some(max), None),
            OptionKind::Boolean => (None, None, None),
            OptionKind::OneOf(choices) => (None, None, Some(choices)),
            OptionKind::Map { max } => (None, Some(max), None),
            OptionKind::Headers { max } => (None, Some(max), None),
            OptionKind::Url { max } => (None, Some(max), None),
            OptionKind::SigningKeys { max } => (None, Some(max), None),
            OptionKind::Lines { max } => (Some(1), Some(max), None),
            OptionKind::Texts { max } => (None, Some(max), None),
            OptionKind::HeaderName { max } => (Some(1), Some(max), None),
            OptionKind::Template { max, fields } => (Some(0), Some(max), Some(fields)),
            OptionKind::UrlTemplate { max } => (Some(1), Some(max), None),
            OptionKind::HeaderTemplates { max } => (None, Some(max), None),
            OptionKind::Object { words, .. } => {
                (None, None, Some(words).filter(|words| !words.is_empty()))
            }
        };
        let default = match self.default {
            DefaultValue::None => Value::Null,
            DefaultValue::Integer(value) => value.into(),
            DefaultValue::Boolean(value) => value.into(),
            DefaultValue::Text(value) => value.into(),
        };
        json!({
            "protocol": protocol,
            "name": self.name,
            "kind": self.kind.name().text(),
            "required": self.required,
            "minimum": minimum,
            "maximum": maximum,
            "choices": choices,
            "default": default,
            "secret": self.secret,
            "description": self.description,
        })
    }

    fn check(&self, protocol: &'static str, value: &Value) -> Result<(), ConfigError> {
        let is_valid = match self.kind {
            OptionKind::Text { max } => value.as_str().is_some_and(|text| is_text(text, max)),
            OptionKind::Integer { min, max } => {
                value.as_i64().is_some_and(|number| (min..=max).contains(&number))
            }
            OptionKind::Boolean => value.is_boolean(),
            OptionKind::OneOf(choices) => {
                value.as_str().is_some_and(|text| choices.contains(&text))
            }
            OptionKind::Url { max } => value.as_str().is_some_and(|text| is_url(text, max)),
            OptionKind::SigningKeys { max } => are_signing_keys(value, max),
            OptionKind::Lines { max } => value.as_str().is_some_and(|text| are_lines(text, max)),
            OptionKind::Texts { max } => are_texts(value, max),
            OptionKind::Object { members, words } => match value {
                Value::Object(values) => return check_object(protocol, self.name, members, values),
                _ => value.as_str().is_some_and(|text| words.contains(&text)),
            },
            OptionKind::HeaderName { max } => {
                value.as_str().is_some_and(|name| is_free_header_name(name, max))
            }
            OptionKind::Template { max, fields } => value.as_str().is_some_and(|text| {
                (text.is_empty() || is_text(text, max)) && scheme::is_template(text, fields)
            }),
            OptionKind::UrlTemplate { max } => value
                .as_str()
                .is_some_and(|text| is_text(text, max) && PathTemplate::parse(text).is_ok()),
            OptionKind::Map { max } => is_map(value, max),
            OptionKind::Headers { max } | OptionKind::HeaderTemplates { max } => {
                is_map(value, max) && {
                    self.check_headers(value)?;
                    true
                }
            }
        };
        let invalid = || ConfigError::Invalid { key: self.name, expected: self.kind.expected() };
        is_valid.then_some(()).ok_or_else(invalid)
    }

    /// What it is called in the object that it stands in.
    fn key(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, key)| key)
    }

    fn check_headers(&self, map: &Value) -> Result<(), ConfigError> {
        for (name, value) in texts(map) {
            let check = render::check_header(name, value).and_then(|(name, _)| {
                let name = name.as_str();
                let reserved = || HeaderError::Reserved { name: name.to_owned() };
                if render::is_reserved(name) { Err(reserved()) } else { Ok(()) }
            });
            let check = check.and_then(|()| match self.kind {
                OptionKind::HeaderTemplates { .. } if ValueTemplate::parse(value).is_err() => {
                    Err(HeaderError::Template { name: name.to_owned() })
                }
                _ => Ok(()),
            });
            check.map_err(|source| ConfigError::Header { key: self.name, source })?;
        }
        Ok(())
    }
}

impl OptionKind {
    fn name(&self) -> KindName {
        match self {
            OptionKind::Text { .. } => KindName::Text,
            OptionKind::Integer { .. } => KindName::Integer,
            OptionKind::Boolean => KindName::Boolean,
            OptionKind::OneOf(_) => KindName::OneOf,
            OptionKind::Map { .. } => KindName::Map,
            OptionKind::Headers { .. } => KindName::Headers,
            OptionKind::Url { .. } => KindName::Url,
            OptionKind::SigningKeys { .. } => KindName::SigningKeys,
            OptionKind::HeaderName { .. } => KindName::HeaderName,
            OptionKind::Template { .. } => KindName::Template,
            OptionKind::UrlTemplate { .. } => KindName::UrlTemplate,
            OptionKind::HeaderTemplates { .. } => KindName::HeaderTemplates,
            OptionKind::Lines { .. } => KindName::Lines,
            OptionKind::Texts { .. } => KindName::Texts,
            OptionKind::Object { .. } => KindName::Object,
        }
    }

    /// What a valid value is, to follow "must be".
    fn expected(&self) -> String {
        match self {
            Self::Text { max } => {
                format!("a text of 1 to {max} characters without control characters")
            }
            Self::Integer { min, max } => format!("an integer from {min} to {max}"),
            Self::Boolean => "true or false".to_owned(),
            Self::OneOf(choices) => format!("one of {}", choices.join(", ")),
            Self::SigningKeys { max } => format!(
                "an array of at most {max} keys, no two alike, each whsec_ and the base64 of {} to {} bytes, \
                 whsk_ and the base64 of 64 bytes, an ed25519 seed and its public key, or raw: and {} to {} \
                 characters without control characters",
                signing::SYMMETRIC_MIN,
                signing::SYMMETRIC_MAX,
                signing::RAW_MIN,
                signing::RAW_MAX
            ),
            Self::HeaderName { max } => {
                format!("the name of a header of at most {max} characters that is not reserved")
            }
            Self::Template { max, fields } => format!(
                "a text of at most {max} characters without control characters whose only braces are {}{}",
                fields.iter().map(|field| format!("{{{field}}}")).collect::<Vec<_>>().join(", "),
                if fields.contains(&"body") { ", {body} among them" } else { "" }
            ),
            Self::UrlTemplate { max } => format!(
                "a path of at most {max} characters that begins with one / and has no segment of dots, with or \
                 without a query, of the characters of URLs and the fields {{message_id}}, {{event_type}}, \
                 {{ordering_key}}, {{correlation_id}}, {{header:NAME}}, {{metadata:NAME}} and {{payload:/POINTER}}"
            ),
            Self::Lines { max } => format!(
                "a text of 1 to {max} characters whose only control characters are tabs and the ends of lines"
            ),
            Self::Texts { max } => format!(
                "an array of at most {max} texts of 1 to {LISTED_MAX} characters without control \
                 characters, no two alike"
            ),
            Self::Object { words: [], .. } => "an object".to_owned(),
            Self::Object { words, .. } => format!("one of {}, or an object", words.join(", ")),
            Self::Map { max } | Self::Headers { max } | Self::HeaderTemplates { max } => {
                format!("an object of at most {max} texts")
            }
            Self::Url { max } => format!(
                "an http:// or https:// address of at most {max} characters with a host, and \
                 without a user name, a fragment, spaces, quotes or other than ASCII characters"
            ),
        }
    }
}

/// A config whose every key is known and every value valid.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    options: &'static [ConfigOption],
    values: &'a Map<String, Value>,
}

/// Checks a config against the options of a protocol.
pub fn check<'a>(
    protocol: &'static str,
    options: &'static [ConfigOption],
    config: &'a Value,
) -> Result<Checked<'a>, ConfigError> {
    let values = config.as_object().ok_or(ConfigError::NotAnObject)?;
    check_object(protocol, "", options, values)?;
    Ok(Checked { options, values })
}

/// Checks an object against its members, the whole config (`path` is empty) or one that stands in it.
fn check_object(
    protocol: &'static str,
    path: &str,
    members: &'static [ConfigOption],
    values: &Map<String, Value>,
) -> Result<(), ConfigError> {
    for (key, value) in values {
        match members.iter().find(|member| member.key() == key) {
            Some(member) => member.check(protocol, value)?,
            None => {
                let dot = if path.is_empty() { "" } else { "." };
                let hint = hint(key, members);
                let key = format!("{path}{dot}{}", excerpt(key));
                return Err(ConfigError::UnknownKey { protocol, key, hint });
            }
        }
    }
    let missing =
        members.iter().filter(|member| member.required && !values.contains_key(member.key()));
    match missing.map(|member| member.name).min() {
        Some(key) => Err(ConfigError::Missing { key }),
        None => Ok(()),
    }
}

impl<'a> Checked<'a> {
    /// Whether an option is given.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of an integer option, or its default.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.value(name).and_then(Value::as_i64).or_else(|| match self.default(name) {
            DefaultValue::Integer(value) => Some(value),
            _ => None,
        })
    }

    /// The value of a boolean option, or its default, or false.
    pub fn is_set(&self, name: &str) -> bool {
        self.boolean(name).unwrap_or(false)
    }

    /// The value of a boolean option, or its default.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.value(name).and_then(Value::as_bool).or_else(|| match self.default(name) {
            DefaultValue::Boolean(value) => Some(value),
            _ => None,
        })
    }

    /// The value of an option that is written as a text, or its default; none if it is given as an object.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match (self.value(name), self.default(name)) {
            (Some(value), _) => value.as_str(),
            (None, DefaultValue::Text(value)) => Some(value),
            (None, _) => None,
        }
    }

    /// The keys of an option that is an array of keys that sign; none if it is absent. A pair whose halves do not
    /// fit is left out, as long as another key signs. Texts that are keys by themselves are an error.
    pub fn signing_keys(&self, name: &'static str) -> Result<Vec<SigningKey>, ConfigError> {
        let keys = self.value(name).and_then(Value::as_array).into_iter().flatten();
        let (good, bad): (Vec<_>, Vec<_>) =
            keys.filter_map(Value::as_str).map(SigningKey::parse).partition(Result::is_ok);
        let errors: Vec<KeyError> = bad.into_iter().filter_map(Result::err).collect();
        let is_fatal = |error: &&KeyError| good.is_empty() || **error == KeyError::Raw;
        match errors.iter().find(is_fatal) {
            Some(source) => Err(ConfigError::Key { key: name, source: *source }),
            None => Ok(good.into_iter().flatten().collect()),
        }
    }

    /// The entries of an option that is an object of texts; none if it is absent.
    pub fn map(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.value(name).into_iter().flat_map(texts)
    }

    /// What the object has that is given for an option; nothing if there is none.
    pub fn members(&self, name: &str) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.value(name)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
    }

    /// The texts of an option that is an array of texts; none if it is absent.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let texts = self.value(name).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str)
    }

    /// What is given for an option, or a member by its path.
    fn value(&self, name: &str) -> Option<&'a Value> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
        let value = self.values.get(first)?;
        rest.into_iter()
            .flat_map(|rest| rest.split('.'))
            .try_fold(value, |value, key| value.get(key))
    }

    fn default(&self, name: &str) -> DefaultValue {
        let option =
            find(self.options, name).expect("a transport asks for options of its own table");
        match name.rsplit_once('.') {
            Some((object, _)) if !self.value(object).is_some_and(Value::is_object) => {
                DefaultValue::None
            }
            _ => option.default,
        }
    }
}

/// An option, or a member by its path.
fn find(options: &'static [ConfigOption], name: &str) -> Option<&'static ConfigOption> {
    options.iter().find_map(|option| match option.kind {
        _ if option.name == name => Some(option),
        OptionKind::Object { members, .. } => find(members, name),
        _ => None,
    })
}

/// The beginning of a name that someone else chose, fit to stand in an error.
pub(super) fn excerpt(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}

fn texts(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

fn is_map(value: &Value, max: i64) -> bool {
    value.as_object().is_some_and(|entries| {
        entries.len() as i64 <= max && entries.values().all(Value::is_string)
    })
}

fn is_free_header_name(name: &str, max: i64) -> bool {
    let checked = render::check_header(name, "");
    name.len() as i64 <= max && checked.is_ok_and(|(name, _)| !render::is_reserved(name.as_str()))
}

fn are_signing_keys(value: &Value, max: i64) -> bool {
    let Some(keys) = value.as_array() else { return false };
    let known: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    keys.len() as i64 <= max
        && known.len() == keys.len()
        // Whether the halves of a pair fit SQL cannot tell: see Checked::signing_keys.
        && known.iter().all(|key| !matches!(
            SigningKey::parse(key),
            Err(KeyError::Prefix | KeyError::Base64 | KeyError::SymmetricLength | KeyError::PairLength | KeyError::RawLength)
        ))
}

fn are_texts(value: &Value, max: i64) -> bool {
    let Some(texts) = value.as_array() else { return false };
    let known: HashSet<&str> = texts.iter().filter_map(Value::as_str).collect();
    texts.len() as i64 <= max
        && known.len() == texts.len()
        && known.iter().all(|text| is_text(text, LISTED_MAX))
}

fn is_text(text: &str, max: i64) -> bool {
    has_length(text, max) && !text.bytes().any(|byte| byte.is_ascii_control())
}

fn are_lines(text: &str, max: i64) -> bool {
    let is_odd = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    has_length(text, max) && !text.bytes().any(is_odd)
}

// Control characters are those of ASCII: `char::is_control` would take in U+0080 to U+009F, which PostgreSQL's
// expressions do not.
fn has_length(text: &str, max: i64) -> bool {
    !text.is_empty() && text.chars().count() as i64 <= max
}

/// Whether `text` is an address that we connect to as it reads: no user name that passes for a
/// host, no character that programs read differently.
pub(super) fn is_url(text: &str, max: i64) -> bool {
    let is_odd = |byte: u8| !byte.is_ascii_graphic() || br##"#\"<>`"##.contains(&byte);
    if text.len() as i64 > max || text.bytes().any(is_odd) {
        return false;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    is_http && is_authority(authority) && text.parse::<Uri>().is_ok()
}

/// Whether `text` is a host name or a bracketed IPv6 address, with or without a port.
fn is_authority(text: &str) -> bool {
    let (is_host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<std::net::Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (is_host_name(host), port)
        }
    };
    let is_port = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number && digits.parse::<u16>().is_ok_and(|port| port > 0)
    };
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_host_name(host: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_inner = |byte: u8| is_letter(byte) || byte == b'-' || byte == b'.';
    host.len() <= 253 && host.bytes().next().is_some_and(is_letter) && host.bytes().all(is_inner)
}

/// What the writer of an unknown key may have meant.
fn hint(key: &str, options: &[ConfigOption]) -> String {
    let length = key.chars().count().min(NAME_MAX);
    // Parts of a thousand that differ; by this measure `timeout` is near to `timeout_seconds`.
    let difference = |name: &str| edit_distance(key, name) * 1_000 / length.max(name.len());
    let nearest = options
        .iter()
        .map(|option| {
            // Of names that are as near, the one that begins alike: who writes `ulr` means `url`, not `tls`.
            let begins_alike = option.key().chars().next() == key.chars().next();
            (difference(option.key()), !begins_alike, option.name)
        })
        .min()
        .filter(|(difference, ..)| *difference <= DIFFERENCE_MAX);
    match nearest {
        Some((.., name)) => format!("did you mean {name}?"),
        None => {
            let mut names: Vec<_> = options.iter().map(|option| option.name).collect();
            names.sort_unstable();
            format!("known options: {}", names.join(", "))
        }
    }
}
