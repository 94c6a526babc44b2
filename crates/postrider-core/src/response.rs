//! What is kept of a destination's answer.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value};

/// The headers that are kept: what the body is, and what people ask for when they talk to whoever
/// runs the destination. None of them carries a credential; `set-cookie` and `location` may.
const KEPT: [&str; 8] = [
    "content-encoding",
    "content-type",
    "date",
    "request-id",
    "retry-after",
    "server",
    "traceparent",
    "x-request-id",
];
/// A header's value is kept up to this length, in characters.
const VALUE_MAX: usize = 256;

/// An answer, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// An object of texts, by the headers' names in lower case.
    pub headers: Value,
    /// The body as it came, or its beginning: any bytes.
    pub body: Bytes,
    /// Whether the body went on, or was not read to its end.
    pub is_truncated: bool,
}

/// What is kept of the headers of an answer: of each the first value. Bytes that are no UTF-8 become
/// U+FFFD.
pub fn kept_headers(headers: &HeaderMap) -> Value {
    let kept = KEPT.iter().filter_map(|name| {
        let value = String::from_utf8_lossy(headers.get(*name)?.as_bytes());
        let value: String = value.chars().take(VALUE_MAX).collect();
        Some(((*name).to_owned(), Value::String(value)))
    });
    Value::Object(kept.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn check(headers: &[(&str, &[u8])], expected: Value) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        assert_eq!(kept_headers(&map), expected);
    }

    #[test]
    fn of_headers_only_harmless_ones_are_kept() {
        check(&[], json!({}));
        check(
            &[
                ("Content-Type", b"text/html"),
                ("set-cookie", b"session=1"),
                ("authorization", b"Bearer 1"),
                ("location", b"https://example.com/?token=1"),
                ("x-anything", b"1"),
                ("retry-after", b"5"),
            ],
            json!({ "content-type": "text/html", "retry-after": "5" }),
        );
    }

    #[test]
    fn a_kept_header_is_a_short_text() {
        check(&[("server", b"first"), ("server", b"second")], json!({ "server": "first" }));
        check(&[("server", b"caf\xe9")], json!({ "server": "caf\u{fffd}" }));
        let long = [b'x'; VALUE_MAX + 1];
        check(&[("date", &long)], json!({ "date": "x".repeat(VALUE_MAX) }));
    }
}
