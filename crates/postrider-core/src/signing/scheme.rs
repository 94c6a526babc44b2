//! How a request is signed: by the standard, as a known service does it, or as a text says.
//!
//! A scheme that is no standard says what is signed, by which digest, and in which header the signature stands. Its
//! keys are texts that receivers have to the letter. Where a header has room for one signature only, the oldest key
//! signs: a receiver that knows old and new keys can verify until the old one retires.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use ring::hmac;

use super::{KeyError, RAW_PREFIX, SYMMETRIC_PREFIX, SigningKey, signatures};
use crate::render::{HeaderError, WEBHOOK_SIGNATURE, check_header};

/// A scheme as it is written in a config. Templates have the fields `{id}`, `{timestamp}` and `{body}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeText<'a> {
    /// The header of the signatures.
    pub header: &'a str,
    /// What is signed.
    pub content: &'a str,
    /// What stands before the signatures, without `{body}`.
    pub prefix: &'a str,
    /// What stands before each of them.
    pub version: &'a str,
    /// What stands between them; none: there is one only.
    pub separator: Option<&'a str>,
    pub encoding: Encoding,
    pub digest: Digest,
    /// Whether what follows the prefix of a key is base64, and not the key itself.
    pub has_base64_keys: bool,
    /// Headers of id and timestamp beside `webhook-id` and `webhook-timestamp`.
    pub id_header: Option<&'a str>,
    pub timestamp_header: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Hex,
    Base64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

const SVIX_SIGNATURE: HeaderName = HeaderName::from_static("svix-signature");

/// Over the body alone, in hexadecimal digits.
pub const PLAIN: SchemeText<'static> = SchemeText {
    header: "",
    content: "{body}",
    prefix: "",
    version: "",
    separator: None,
    encoding: Encoding::Hex,
    digest: Digest::Sha256,
    has_base64_keys: false,
    id_header: None,
    timestamp_header: None,
};

/// The schemes of known services.
pub const PRESETS: &[(&str, SchemeText<'static>)] = &[
    // Convoy's advanced signatures; its libraries tell them from the simple ones by their form.
    (
        "convoy",
        SchemeText { header: "x-convoy-signature", content: "{timestamp},{body}", ..STRIPE },
    ),
    ("github", SchemeText { header: "x-hub-signature-256", prefix: "sha256=", ..PLAIN }),
    (
        "outpost",
        SchemeText {
            header: "x-outpost-signature",
            prefix: "v0=",
            separator: Some(","),
            id_header: Some("x-outpost-event-id"),
            timestamp_header: Some("x-outpost-timestamp"),
            ..PLAIN
        },
    ),
    (
        "shopify",
        SchemeText { header: "x-shopify-hmac-sha256", encoding: Encoding::Base64, ..PLAIN },
    ),
    (
        "slack",
        SchemeText {
            header: "x-slack-signature",
            content: "v0:{timestamp}:{body}",
            prefix: "v0=",
            timestamp_header: Some("x-slack-request-timestamp"),
            ..PLAIN
        },
    ),
    ("stripe", STRIPE),
];

const STRIPE: SchemeText<'static> = SchemeText {
    header: "stripe-signature",
    content: "{timestamp}.{body}",
    prefix: "t={timestamp},",
    version: "v1=",
    separator: Some(","),
    ..PLAIN
};

/// Signs the requests to an endpoint.
#[derive(Debug)]
pub enum Signer {
    /// Standard Webhooks, with these three headers.
    Standard {
        keys: Vec<SigningKey>,
        names: Names,
    },
    Scheme(Box<Scheme>),
}

/// The headers of Standard Webhooks, or those that Svix had before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Webhook,
    Svix,
}

/// A scheme with its keys.
#[derive(Debug)]
pub struct Scheme {
    header: HeaderName,
    content: Vec<Piece>,
    prefix: Vec<Piece>,
    version: String,
    separator: Option<String>,
    encoding: Encoding,
    id_header: Option<HeaderName>,
    timestamp_header: Option<HeaderName>,
    keys: Vec<hmac::Key>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Id,
    Timestamp,
    Body,
}

/// Whether `text` has no other fields than these, and the one that it must have.
pub fn is_template(text: &str, fields: &[&str]) -> bool {
    let has_body = !fields.contains(&"body") || text.contains("{body}");
    let known = ["id", "timestamp", "body"];
    has_body
        && known.iter().all(|name| fields.contains(name) || !text.contains(&format!("{{{name}}}")))
        && {
            let pieces = pieces(text);
            let is_plain =
                |piece: &Piece| !matches!(piece, Piece::Text(text) if text.contains(['{', '}']));
            pieces.iter().all(is_plain)
        }
}

/// What stands between fields is text, braces too.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let fields = [("{id}", Piece::Id), ("{timestamp}", Piece::Timestamp), ("{body}", Piece::Body)];
    while let Some((at, name, piece)) = fields
        .iter()
        .filter_map(|(name, piece)| Some((rest.find(name)?, name, piece)))
        .min_by_key(|(at, _, _)| *at)
    {
        if at > 0 {
            pieces.push(Piece::Text(rest[..at].to_owned()));
        }
        pieces.push(piece.clone());
        rest = &rest[at + name.len()..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

impl Signer {
    /// One that signs nothing.
    pub const fn none() -> Self {
        Self::Standard { keys: Vec::new(), names: Names::Webhook }
    }

    /// One that signs by a scheme with keys as they are handed out.
    ///
    /// # Errors
    ///
    /// A header that cannot be sent, is that of the body, or stands twice; or a key that does not sign by this scheme.
    pub fn by_scheme<'k>(
        text: &SchemeText<'_>,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Result<Self, SchemeError> {
        let name = |name: &str| check_header(name, "").map(|(name, _)| name);
        let header = name(text.header)?;
        let id_header = text.id_header.map(name).transpose()?;
        let timestamp_header = text.timestamp_header.map(name).transpose()?;
        let headers = [Some(&header), id_header.as_ref(), timestamp_header.as_ref()];
        let names: Vec<_> = headers.into_iter().flatten().collect();
        if names.contains(&&CONTENT_TYPE)
            || names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
        {
            return Err(SchemeError::Headers);
        }
        let algorithm = match text.digest {
            Digest::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Digest::Sha256 => hmac::HMAC_SHA256,
            Digest::Sha512 => hmac::HMAC_SHA512,
        };
        let key =
            |key| secret(key, text.has_base64_keys).map(|bytes| hmac::Key::new(algorithm, &bytes));
        Ok(Self::Scheme(Box::new(Scheme {
            header,
            content: pieces(text.content),
            prefix: pieces(text.prefix),
            version: text.version.to_owned(),
            separator: text.separator.map(str::to_owned),
            encoding: text.encoding,
            id_header,
            timestamp_header,
            keys: keys.into_iter().map(key).collect::<Result<_, _>>()?,
        })))
    }

    /// Puts the signatures into the headers, over whatever stood there; nothing without keys.
    ///
    /// # Errors
    ///
    /// A signature that cannot stand in a header, because its prefix cannot.
    pub fn sign(
        &self,
        headers: &mut HeaderMap,
        id: &str,
        timestamp: i64,
        body: &[u8],
    ) -> Result<(), HeaderError> {
        match self {
            Self::Standard { keys, names } => {
                let Some(value) = signatures(keys, id, timestamp, body) else { return Ok(()) };
                if *names == Names::Webhook {
                    headers.insert(WEBHOOK_SIGNATURE, value);
                    return Ok(());
                }
                headers.insert(HeaderName::from_static("svix-id"), check_header("svix-id", id)?.1);
                headers.insert(HeaderName::from_static("svix-timestamp"), timestamp.into());
                headers.insert(SVIX_SIGNATURE, value);
                Ok(())
            }
            Self::Scheme(scheme) => scheme.sign(headers, id, timestamp, body),
        }
    }

    /// The header in which the signatures stand.
    pub fn header(&self) -> HeaderName {
        match self {
            Self::Standard { names: Names::Webhook, .. } => WEBHOOK_SIGNATURE,
            Self::Standard { names: Names::Svix, .. } => SVIX_SIGNATURE,
            Self::Scheme(scheme) => scheme.header.clone(),
        }
    }
}

impl Scheme {
    fn sign(
        &self,
        headers: &mut HeaderMap,
        id: &str,
        timestamp: i64,
        body: &[u8],
    ) -> Result<(), HeaderError> {
        let one = |key: &hmac::Key| {
            let mut context = hmac::Context::with_key(key);
            for piece in &self.content {
                match piece {
                    Piece::Body => context.update(body),
                    piece => context.update(piece.text(id, timestamp).as_bytes()),
                }
            }
            let tag = context.sign();
            let encoded = match self.encoding {
                Encoding::Hex => hex::encode(tag),
                Encoding::Base64 => STANDARD.encode(tag),
            };
            format!("{}{encoded}", self.version)
        };
        if self.keys.is_empty() {
            return Ok(());
        }
        let signatures = match &self.separator {
            Some(separator) => self.keys.iter().map(one).collect::<Vec<_>>().join(separator),
            None => self.keys.last().map(one).unwrap_or_default(),
        };
        let prefix: String = self.prefix.iter().map(|piece| piece.text(id, timestamp)).collect();
        let value = check_header(self.header.as_str(), &format!("{prefix}{signatures}"))?.1;
        headers.insert(self.header.clone(), value);
        if let Some(name) = &self.id_header {
            headers.insert(name.clone(), check_header(name.as_str(), id)?.1);
        }
        if let Some(name) = &self.timestamp_header {
            headers.insert(name.clone(), HeaderValue::from(timestamp));
        }
        Ok(())
    }
}

impl Piece {
    fn text(&self, id: &str, timestamp: i64) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Id => id.to_owned(),
            Self::Timestamp => timestamp.to_string(),
            Self::Body => String::new(),
        }
    }
}

/// The bytes of a key that is a text: those that receivers have, to the letter. They know nothing of `raw:`, and all
/// of `whsec_` and what follows it.
fn secret(key: &str, is_base64: bool) -> Result<Vec<u8>, KeyError> {
    let (whole, rest) = match (key.strip_prefix(RAW_PREFIX), key.strip_prefix(SYMMETRIC_PREFIX)) {
        (Some(rest), _) => (rest, rest),
        (None, Some(rest)) => (key, rest),
        (None, None) => return Err(KeyError::NoText),
    };
    match is_base64 {
        true => STANDARD.decode(rest).map_err(|_| KeyError::RawBase64),
        false => Ok(whole.as_bytes().to_vec()),
    }
}

/// Why nothing can be signed by a scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("its headers must be different ones, and none of them content-type")]
    Headers,
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl SchemeError {
    /// The option of the config that is wrong.
    pub const fn option(&self) -> &'static str {
        match self {
            Self::Header(_) | Self::Headers => "signature",
            Self::Key(_) => "signing_keys",
        }
    }
}

#[cfg(test)]
mod tests;
