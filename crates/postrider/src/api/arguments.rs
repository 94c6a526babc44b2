//! Reads what an operation takes from path, query, headers and body. What it does not take is refused, so that nothing
//! that was asked for is left out silently.

use std::{borrow::Cow, fmt};

use http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    bound::Bound,
    messages::has_shape_of_moment,
    operation::{Answer, Kind, Operation, PAGE_DEFAULT, Parameter, Place},
    problem::{Code, Problem},
    request::{JsonBody, unknown},
};

/// How much of a wrong value is shown.
const SHOWN_CHARACTERS: usize = 64;
/// More versions than this nobody has read.
const VERSIONS_MAX: usize = 100;
/// The longest cursor: the longest key that a list goes by, in hexadecimal digits.
const CURSOR_CHARACTERS: usize = 2_048;

/// What a statement is run with.
#[derive(Debug)]
pub struct Arguments {
    pub values: Vec<Bound>,
    /// How many items are wanted, of a page.
    pub limit: usize,
    /// Whether that page is the first one.
    pub is_first: bool,
}

/// A request, as it came.
pub struct Asked<'a> {
    pub path: Vec<(&'a str, &'a str)>,
    pub query: Option<&'a str>,
    pub headers: &'a HeaderMap,
    pub body: &'a JsonBody,
}

pub fn read(operation: &Operation, asked: &Asked<'_>) -> Result<Arguments, Problem> {
    let query = pairs(asked.query.unwrap_or_default())?;
    let page = match operation.answer {
        Answer::Page { most, .. } => Some(most),
        _ => None,
    };
    check_names(operation, &query, page.is_some())?;
    let fields = fields(operation, asked.body)?;
    let versions = versions(operation, asked.headers)?;
    let mut values = Vec::new();
    for parameter in operation.takes {
        let found = match parameter.place {
            Place::Path => find(&asked.path, parameter.name),
            Place::Query => query
                .iter()
                .find(|(name, _)| name == parameter.name)
                .map(|(_, value)| value.as_str()),
            Place::Body => {
                let field = fields.0.iter().find(|(name, _)| name == parameter.name);
                values.push(field_value(parameter, field.map(|(_, value)| *value))?);
                continue;
            }
            Place::Precondition => {
                values.push(versions.clone().map_or(Bound::Null, Bound::Texts));
                continue;
            }
        };
        let value = found.map(|text| parse(parameter.kind, text).ok_or_else(|| wrong(parameter)));
        values.push(value.transpose()?.unwrap_or(Bound::Null));
    }
    let Some(most) = page else { return Ok(Arguments { values, limit: 0, is_first: false }) };
    let named = |wanted: &str| {
        query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let limit = match named("limit") {
        None => PAGE_DEFAULT.min(most),
        Some(text) => {
            text.parse().ok().filter(|limit| (1..=most).contains(limit)).ok_or_else(|| {
                Problem::invalid(Code::InvalidParameter, format!("limit must be 1 to {most}"))
            })?
        }
    };
    let after = named("cursor").map(|text| key_of(operation, text)).transpose()?;
    let is_first = after.is_none();
    values.push(after.map_or(Bound::Null, Bound::Text));
    // One more says whether there is more.
    values.push(Bound::Whole(limit + 1));
    Ok(Arguments { values, limit: limit as usize, is_first })
}

fn find<'a>(pairs: &[(&str, &'a str)], wanted: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
}

/// Names and values of a query string.
fn pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let decode = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8().map(Cow::into_owned);
        let detail = "The query string is no UTF-8.";
        decoded.map_err(|_| Problem::invalid(Code::InvalidParameter, detail))
    };
    let pieces = query.split('&').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let value = value.replace('+', " ");
            Ok((decode(name)?, decode(&value)?))
        })
        .collect()
}

/// Each parameter is known, and there once.
fn check_names(
    operation: &Operation,
    query: &[(String, String)],
    is_page: bool,
) -> Result<(), Problem> {
    let paging: &[&'static str] = if is_page { &["limit", "cursor"] } else { &[] };
    let named = operation.parameters(Place::Query).map(|parameter| parameter.name);
    let known: Vec<&'static str> = named.chain(paging.iter().copied()).collect();
    for (index, (name, _)) in query.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let problem = unknown("parameter", name, &known);
            return Err(match known.as_slice() {
                [] => problem.hint("This path takes no parameters."),
                known => problem.hint(format!(
                    "It takes {}. A list is filtered by nothing that would have to be looked for.",
                    known.join(", ")
                )),
            });
        }
        if query[..index].iter().any(|(other, _)| other == name) {
            let detail = format!("The parameter {name} is there twice.");
            return Err(Problem::invalid(Code::InvalidParameter, detail));
        }
    }
    Ok(())
}

/// A value that is written as text, in a path or a query string.
fn parse(kind: Kind, text: &str) -> Option<Bound> {
    match kind {
        Kind::Text | Kind::Interval | Kind::Scalar => Some(Bound::Text(text.to_owned())),
        Kind::Id => id(text),
        Kind::MessageId => id(text.strip_prefix("msg_").unwrap_or(text)),
        Kind::Integer => text.parse::<i32>().ok().map(|number| Bound::Whole(number.into())),
        Kind::Boolean => text.parse().ok().map(Bound::Switch),
        Kind::Moment => has_shape_of_moment(text).then(|| Bound::Text(text.to_owned())),
        Kind::Uuid => Uuid::parse_str(text).ok().map(Bound::Uuid),
        Kind::Object | Kind::Texts => None,
    }
}

fn id(text: &str) -> Option<Bound> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|id| is_digits && *id > 0).map(Bound::Whole)
}

/// What a value of a kind has to be.
fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Interval => "a text",
        Kind::Id => "a whole number from 1",
        Kind::MessageId => "the id of a message, such as 1024 or msg_1024",
        Kind::Integer => "a whole number",
        Kind::Boolean => "true or false",
        Kind::Moment => "a time with its offset, such as 2030-05-01T09:00:00Z",
        Kind::Uuid => "a UUID",
        Kind::Object => "an object",
        Kind::Texts => "an array of texts",
        Kind::Scalar => "a text, a number or a boolean",
    }
}

fn wrong(parameter: &Parameter) -> Problem {
    let detail = format!("{} must be {}", parameter.name, rule(parameter.kind));
    match parameter.place {
        Place::Body => {
            Problem::invalid(Code::InvalidBody, detail).at(format!("/{}", parameter.name))
        }
        _ => Problem::invalid(Code::InvalidParameter, detail),
    }
}

// Bodies ------------------------------------------------------------------------------------------

/// The fields of an object, each as it is written.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(Vec::new()))
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Fields<'a> {
    type Value = Fields<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if self.0.iter().any(|(other, _)| *other == name) {
                let shown: String = name.chars().take(SHOWN_CHARACTERS).collect();
                return Err(serde::de::Error::custom(format!("duplicate field `{shown}`")));
            }
            if self.0.len() == FIELDS_MAX {
                return Err(serde::de::Error::custom("too many fields"));
            }
            self.0.push((name, map.next_value()?));
        }
        Ok(self)
    }
}

/// No operation has as many.
const FIELDS_MAX: usize = 64;

fn fields<'a>(operation: &Operation, body: &'a JsonBody) -> Result<Fields<'a>, Problem> {
    let known: Vec<&'static str> =
        operation.parameters(Place::Body).map(|parameter| parameter.name).collect();
    if body.bytes.trim_ascii().is_empty() {
        let missing = operation.parameters(Place::Body).find(|parameter| parameter.is_required);
        return match missing {
            None => Ok(Fields(Vec::new())),
            Some(parameter) => Err(missing_field(parameter)),
        };
    }
    let fields: Fields<'a> = body.parse()?;
    for (name, _) in &fields.0 {
        if !known.contains(&name.as_str()) {
            let place = name.replace('~', "~0").replace('/', "~1");
            let place: String = place.chars().take(SHOWN_CHARACTERS).collect();
            return Err(unknown("field", name, &known).at(format!("/{place}")));
        }
    }
    Ok(fields)
}

fn missing_field(parameter: &Parameter) -> Problem {
    Problem::invalid(Code::InvalidBody, format!("missing field `{}`", parameter.name))
}

fn field_value(parameter: &Parameter, value: Option<&RawValue>) -> Result<Bound, Problem> {
    let Some(value) = value.map(RawValue::get) else {
        return if parameter.is_required { Err(missing_field(parameter)) } else { Ok(Bound::Null) };
    };
    if value == "null" {
        return match parameter.is_nullable {
            true => Ok(Bound::Text(value.to_owned())),
            false => {
                let detail = format!("{} must not be null; leave it out", parameter.name);
                let problem = Problem::invalid(Code::InvalidBody, detail);
                Err(problem.at(format!("/{}", parameter.name)))
            }
        };
    }
    written(parameter.kind, value).ok_or_else(|| wrong(parameter))
}

/// A value that is written as JSON.
fn written(kind: Kind, value: &str) -> Option<Bound> {
    let text = || serde_json::from_str::<String>(value).ok();
    match kind {
        Kind::Object => value.starts_with('{').then(|| Bound::Text(value.to_owned())),
        Kind::Texts => serde_json::from_str(value).ok().map(Bound::Texts),
        Kind::Boolean => serde_json::from_str(value).ok().map(Bound::Switch),
        Kind::Id => id(value),
        Kind::MessageId => id(value).or_else(|| id(text()?.strip_prefix("msg_")?)),
        Kind::Integer => parse(kind, value),
        Kind::Scalar => match value.as_bytes().first()? {
            b'"' => text().map(Bound::Text),
            b'{' | b'[' => None,
            _ => Some(Bound::Text(value.to_owned())),
        },
        Kind::Text | Kind::Moment | Kind::Interval | Kind::Uuid => parse(kind, &text()?),
    }
}

// Versions ----------------------------------------------------------------------------------------

/// Those that `If-Match` names; `None` for any.
fn versions(operation: &Operation, headers: &HeaderMap) -> Result<Option<Vec<String>>, Problem> {
    let parameter = operation.parameters(Place::Precondition).next();
    let lines: Vec<_> = headers.get_all(header::IF_MATCH).iter().collect();
    let Some(parameter) = parameter else {
        let detail = "This path has no versions: leave If-Match out.";
        let problem = Problem::invalid(Code::InvalidParameter, detail);
        return if lines.is_empty() { Ok(None) } else { Err(problem) };
    };
    if lines.is_empty() {
        return match parameter.is_required {
            false => Ok(None),
            true => Err(Problem::precondition_required()),
        };
    }
    let rule = || {
        let rule = "If-Match must be ETags in quotes, separated by commas, or *";
        Problem::invalid(Code::InvalidParameter, rule)
    };
    let mut versions = Vec::new();
    for line in &lines {
        let text = line.to_str().map_err(|_| rule())?.trim();
        if text == "*" && lines.len() == 1 {
            return Ok(None);
        }
        for tag in text.split(',').map(str::trim) {
            // A weak one is never the same (RFC 9110, 13.1.1).
            let strong = tag.strip_prefix("W/").unwrap_or(tag);
            let value = strong.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let value = value.filter(|value| !value.contains('"')).ok_or_else(rule)?;
            if versions.len() == VERSIONS_MAX {
                return Err(rule());
            }
            if !tag.starts_with("W/") {
                versions.push(value.to_owned());
            }
        }
    }
    Ok(Some(versions))
}

// Cursors -----------------------------------------------------------------------------------------

/// Where a page of this operation goes on: behind this key.
pub fn cursor(operation: &Operation, key: &str) -> String {
    hex::encode(format!("{} {key}", operation.id))
}

fn key_of(operation: &Operation, text: &str) -> Result<String, Problem> {
    let text = Some(text).filter(|text| text.len() <= CURSOR_CHARACTERS);
    let decoded = text.and_then(|text| hex::decode(text).ok());
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let key =
        decoded.as_deref().and_then(|text| text.strip_prefix(operation.id)?.strip_prefix(' '));
    key.map(str::to_owned).ok_or_else(|| {
        let detail = "cursor must be the `next` of a page of this list";
        Problem::invalid(Code::InvalidParameter, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_kind_says() {
        let text = |text: &str| Some(Bound::Text(text.to_owned()));
        for (kind, value, expected) in [
            (Kind::Id, "1024", Some(Bound::Whole(1024))),
            (Kind::Id, "+1", None),
            (Kind::Id, "0", None),
            (Kind::Id, "-1", None),
            (Kind::Id, "1.0", None),
            (Kind::Id, "1e3", None),
            (Kind::Id, "9223372036854775808", None),
            (Kind::Id, "", None),
            (Kind::MessageId, "msg_1024", Some(Bound::Whole(1024))),
            (Kind::MessageId, "msg_msg_1", None),
            (Kind::Boolean, "true", Some(Bound::Switch(true))),
            (Kind::Boolean, "1", None),
            (Kind::Moment, "2030-05-01T09:00:00Z", text("2030-05-01T09:00:00Z")),
            (Kind::Moment, "2030-05-01", None),
            (Kind::Integer, "2147483648", None),
            (Kind::Object, "{}", None),
        ] {
            assert_eq!(parse(kind, value), expected, "{kind:?} {value}");
        }
        for (kind, value, expected) in [
            (Kind::Id, "1024", Some(Bound::Whole(1024))),
            (Kind::Id, "\"1024\"", None),
            (Kind::MessageId, "\"msg_1024\"", Some(Bound::Whole(1024))),
            (Kind::MessageId, "\"1024\"", None),
            (Kind::Object, "{\"a\": 1.50}", text("{\"a\": 1.50}")),
            (Kind::Object, "[]", None),
            (Kind::Texts, "[\"a\"]", Some(Bound::Texts(vec!["a".to_owned()]))),
            (Kind::Texts, "[1]", None),
            (Kind::Scalar, "5", text("5")),
            (Kind::Scalar, "\"on\"", text("on")),
            (Kind::Scalar, "[]", None),
            (Kind::Boolean, "\"true\"", None),
            (Kind::Text, "1", None),
        ] {
            assert_eq!(written(kind, value), expected, "{kind:?} {value}");
        }
    }
}
