//! How a request shows who sends it, beside its signature: a password, a token, a key, an HMAC of one's own, AWS's
//! Signature Version 4.
//!
//! A config says it as an object whose `type` decides which members it has ([`TYPES`]). What a header of `auth` says no
//! other header of the config may say too, and one of a message gives way: a receiver gets it once.

pub mod oauth;
mod sigv4;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header::AUTHORIZATION};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
pub use sigv4::SigV4;

use crate::{
    render::{HEADERS_MAX, HeaderError},
    signing::scheme::{Digest, Encoding},
};

/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A type that `auth` can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    pub name: &'static str,
    /// Members that have to be there, by name.
    pub required: &'static [&'static str],
    /// Members that may be there, by name.
    pub optional: &'static [&'static str],
    /// Whether what is sent can be used by whoever reads it on its way.
    pub sends_secret: bool,
}

/// The types that there are. SQL has the same list (`check_auth`).
pub const TYPES: &[Type] = &[
    Type { name: "basic", required: &["username"], optional: &["password"], sends_secret: true },
    Type { name: "bearer", required: &["token"], optional: &[], sends_secret: true },
    Type {
        name: "api_key",
        required: &["value"],
        optional: &["header", "query"],
        sends_secret: true,
    },
    Type {
        name: "hmac",
        required: &["header", "key"],
        optional: &["digest", "encoding", "prefix"],
        sends_secret: false,
    },
    Type {
        name: "sigv4",
        required: &["access_key_id", "region", "secret_access_key", "service"],
        optional: &["session_token"],
        sends_secret: false,
    },
    Type {
        name: "oauth2",
        required: &["client_id", "token_url"],
        optional: &[
            "algorithm",
            "audience",
            "client_auth",
            "client_secret",
            "extra",
            "key_id",
            "private_key",
            "scopes",
        ],
        sends_secret: true,
    },
];

/// Members of the type `oauth2` that are for clients with a key only.
const KEY_MEMBERS: &[&str] = &["algorithm", "key_id", "private_key"];

/// What is wrong with `auth`, or with other headers beside it. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("auth.{member} is not for auth.type {kind}")]
    Foreign { member: String, kind: &'static str },
    #[error("auth.{member} is required where auth.type is {kind}")]
    Missing { member: &'static str, kind: &'static str },
    #[error("auth must have either header or query")]
    Place,
    #[error("auth.{member} is not for auth.client_auth {client_auth}")]
    ForeignProof { member: &'static str, client_auth: String },
    #[error("auth.{member} is required where auth.client_auth is {client_auth}")]
    MissingProof { member: &'static str, client_auth: String },
    #[error("auth.extra must not have {name}")]
    Extra { name: String },
    #[error("auth.private_key is no key in PEM (PKCS #8) for {algorithm}")]
    Key { algorithm: String },
    #[error("auth.username must not contain a colon")]
    Colon,
    #[error("auth.header must not be content-type or a header of the signature")]
    Header,
    #[error("{option}: header `{name}` is set by auth")]
    Twice { option: &'static str, name: String },
}

/// Checks which members stand beside a known `kind`.
///
/// # Errors
///
/// The first member, by name, that has no place there; then the first that is missing.
pub fn check_members<'m>(
    kind: &str,
    members: impl Iterator<Item = &'m str> + Clone,
) -> Result<&'static Type, AuthError> {
    let kind = TYPES.iter().find(|known| known.name == kind).expect("one of the known types");
    let is_foreign = |member: &&str| {
        *member != "type" && !kind.required.contains(member) && !kind.optional.contains(member)
    };
    if let Some(member) = members.clone().filter(is_foreign).min() {
        return Err(AuthError::Foreign { member: member.to_owned(), kind: kind.name });
    }
    let has = |name: &str| members.clone().any(|member| member == name);
    if let Some(member) = kind.required.iter().find(|member| !has(member)) {
        return Err(AuthError::Missing { member, kind: kind.name });
    }
    if kind.name == "api_key" && has("header") == has("query") {
        return Err(AuthError::Place);
    }
    Ok(kind)
}

/// Checks what stands beside a known `client_auth` of the type `oauth2`, and the names of `auth.extra`.
///
/// # Errors
///
/// The first member, by name, that has no place there; then the one that is missing; then the first name that is not
/// free.
pub fn check_client<'m>(
    client_auth: &str,
    mut has: impl FnMut(&str) -> bool,
    extra: impl Iterator<Item = &'m str>,
) -> Result<(), AuthError> {
    let is_key = client_auth == "private_key_jwt";
    let foreign = if is_key { &["client_secret"][..] } else { KEY_MEMBERS };
    let client_auth = client_auth.to_owned();
    if let Some(member) = foreign.iter().find(|member| has(member)) {
        return Err(AuthError::ForeignProof { member, client_auth });
    }
    let member = if is_key { "private_key" } else { "client_secret" };
    if !has(member) {
        return Err(AuthError::MissingProof { member, client_auth });
    }
    match extra.filter(|name| oauth::PARAMETERS.contains(name)).min() {
        Some(name) => Err(AuthError::Extra { name: name.to_owned() }),
        None => Ok(()),
    }
}

/// How a request shows who sends it. Shows no secret of its own.
pub enum Auth {
    /// The same header in every request.
    Header { name: HeaderName, value: HeaderValue },
    /// The same parameter in every URL, percent-encoded.
    Query { name: String, value: String },
    /// An HMAC of the body as it is sent.
    Hmac(Hmac),
    /// AWS's Signature Version 4.
    SigV4(SigV4),
    /// A token that has to be fetched: whoever has it puts it into `authorization`.
    Token,
}

/// An HMAC of the body in a header of one's own.
pub struct Hmac {
    pub header: HeaderName,
    pub key: hmac::Key,
    pub encoding: Encoding,
    /// What stands before it.
    pub prefix: String,
}

/// A request, as far as it is put together.
#[derive(Debug)]
pub struct Unproven<'a> {
    pub method: &'a Method,
    pub uri: &'a mut Uri,
    pub headers: &'a mut HeaderMap,
    pub body: &'a [u8],
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header { .. } => "Auth(header)",
            Self::Query { .. } => "Auth(query)",
            Self::Hmac(_) => "Auth(hmac)",
            Self::SigV4(_) => "Auth(sigv4)",
            Self::Token => "Auth(token)",
        })
    }
}

impl Auth {
    /// By user and password (RFC 7617, in UTF-8).
    ///
    /// # Errors
    ///
    /// When the name has a colon, with which it would end.
    pub fn basic(username: &str, password: &str) -> Result<Self, AuthError> {
        if username.contains(':') {
            return Err(AuthError::Colon);
        }
        let value = format!("Basic {}", STANDARD.encode(format!("{username}:{password}")));
        Ok(Self::Header { name: AUTHORIZATION, value: secret(&value) })
    }

    /// By a token (RFC 6750).
    pub fn bearer(token: &str) -> Self {
        Self::Header { name: AUTHORIZATION, value: secret(&format!("Bearer {token}")) }
    }

    /// By a key in a header, which has no control characters.
    pub fn api_key(header: &HeaderName, value: &str) -> Self {
        Self::Header { name: header.clone(), value: secret(value) }
    }

    /// By a key in the URL.
    pub fn query(name: &str, value: &str) -> Self {
        let encoded = |text| utf8_percent_encode(text, RESERVED).to_string();
        Self::Query { name: encoded(name), value: encoded(value) }
    }

    /// The headers that it sets: nobody else may.
    pub fn headers(&self) -> Vec<HeaderName> {
        match self {
            Self::Header { name, .. } => vec![name.clone()],
            Self::Query { .. } => Vec::new(),
            Self::Hmac(hmac) => vec![hmac.header.clone()],
            Self::SigV4(_) => sigv4::HEADERS.to_vec(),
            Self::Token => vec![AUTHORIZATION],
        }
    }

    /// Puts it into a request that is otherwise as it is sent. `timestamp`: when the attempt is made, in
    /// seconds since 1970.
    ///
    /// # Errors
    ///
    /// When the request has too many headers then, or headers that cannot be signed.
    pub fn apply(&self, request: Unproven<'_>, timestamp: i64) -> Result<(), HeaderError> {
        for name in self.headers() {
            request.headers.remove(name);
        }
        match self {
            Self::Header { name, value } => {
                request.headers.insert(name.clone(), value.clone());
            }
            Self::Query { name, value } => append(request.uri, name, value),
            Self::Hmac(own) => {
                request.headers.insert(own.header.clone(), own.value(request.body));
            }
            Self::SigV4(own) => {
                for (name, value) in own.sign(&request, timestamp)? {
                    request.headers.insert(name, value);
                }
            }
            Self::Token => {}
        }
        if request.headers.len() > HEADERS_MAX { Err(HeaderError::TooMany) } else { Ok(()) }
    }

    /// Shows where it stands in a request, and nothing of it: `mask` in its place.
    pub fn hide(&self, uri: &mut String, headers: &mut Vec<(String, String)>, mask: &str) {
        if let Self::Query { name, .. } = self {
            let joint = if uri.contains('?') { '&' } else { '?' };
            uri.push_str(&format!("{joint}{name}={mask}"));
        }
        for name in self.headers() {
            headers.retain(|(known, _)| name.as_str() != known);
            let is_left_out = |own: &SigV4| own.leaves_out(&name);
            if !matches!(self, Self::SigV4(own) if is_left_out(own)) {
                headers.push((name.as_str().to_owned(), mask.to_owned()));
            }
        }
    }
}

impl Hmac {
    /// The algorithm of a digest.
    pub fn algorithm(digest: Digest) -> hmac::Algorithm {
        match digest {
            Digest::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Digest::Sha256 => hmac::HMAC_SHA256,
            Digest::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn value(&self, body: &[u8]) -> HeaderValue {
        let tag = hmac::sign(&self.key, body);
        let text = match self.encoding {
            Encoding::Hex => hex::encode(tag),
            Encoding::Base64 => STANDARD.encode(tag),
        };
        secret(&format!("{}{text}", self.prefix))
    }
}

/// Adds a parameter to a URL.
fn append(uri: &mut Uri, name: &str, value: &str) {
    let old = uri.path_and_query().map_or("/", |path| path.as_str());
    let joint = if old.contains('?') { '&' } else { '?' };
    let path = format!("{old}{joint}{name}={value}");
    *uri = http::uri::Builder::from(std::mem::take(uri))
        .path_and_query(path)
        .build()
        .expect("a path and percent-encoded texts");
}

/// A value that HTTP/2 does not compress, and that is not shown when a header is printed.
fn secret(text: &str) -> HeaderValue {
    let mut value = HeaderValue::from_bytes(text.as_bytes()).expect("without control characters");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests;
