//! AWS's Signature Version 4, in the header `authorization`.
//!
//! Own code, and not AWS's library, because that takes 24 crates, an asynchronous runtime among them, for what are
//! three digests and a chain of five HMACs. It is held against AWS's own test suite.

use http::{
    HeaderName, HeaderValue, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use ring::{
    digest::{SHA256, digest},
    hmac,
};

use super::{RESERVED, Unproven, secret};
use crate::{moment, render::HeaderError};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const CONTENT: HeaderName = HeaderName::from_static("x-amz-content-sha256");
/// What a request may have: none of them is anybody else's.
pub const HEADERS: [HeaderName; 4] = [AUTHORIZATION, CONTENT, DATE, TOKEN];
/// The service that wants the digest of the body in a header, and takes a path as it is.
const S3: &str = "s3";

/// Whose requests AWS takes them for. Is not shown.
pub struct SigV4 {
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Of credentials for a time.
    pub session_token: Option<String>,
    pub region: String,
    pub service: String,
}

impl SigV4 {
    /// Whether requests lack this one of [`HEADERS`].
    pub fn leaves_out(&self, name: &HeaderName) -> bool {
        *name == CONTENT && self.service != S3 || *name == TOKEN && self.session_token.is_none()
    }

    /// Headers that prove a request made at `timestamp`, in seconds since 1970. Signed are host and content type,
    /// if there is one, with method, URL and body: what somebody on the way adds does not harm.
    ///
    /// # Errors
    ///
    /// When the content type is no UTF-8.
    pub fn sign(
        &self,
        request: &Unproven<'_>,
        timestamp: i64,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, HeaderError> {
        let time = format!("{}Z", moment::date_time(timestamp).replace(['-', ':'], ""));
        let body = hex::encode(digest(&SHA256, request.body));
        let mut own = vec![(DATE, time.clone())];
        if self.service == S3 {
            own.push((CONTENT, body.clone()));
        }
        own.extend(self.session_token.clone().map(|token| (TOKEN, token)));
        let mut signed = own.clone();
        signed.push((HOST, host(request.uri)));
        if let Some(value) = request.headers.get(CONTENT_TYPE) {
            let value = str::from_utf8(value.as_bytes()).map_err(|_| HeaderError::Unsignable)?;
            signed.push((CONTENT_TYPE, value.to_owned()));
        }
        signed.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let lines: String =
            signed.iter().map(|(name, value)| format!("{name}:{}\n", squeezed(value))).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{body}",
            request.method,
            self.path(request.uri.path()),
            query(request.uri.query().unwrap_or_default()),
        );
        let scope = format!("{}/{}/{}/aws4_request", &time[..8], self.region, self.service);
        let hash = hex::encode(digest(&SHA256, canonical.as_bytes()));
        let signature = hex::encode(hmac::sign(
            &self.key(&time[..8]),
            format!("{ALGORITHM}\n{time}\n{scope}\n{hash}").as_bytes(),
        ));
        let credential = format!("{}/{scope}", self.access_key_id);
        let value = format!(
            "{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        );
        own.push((AUTHORIZATION, value));
        Ok(own.into_iter().map(|(name, value)| (name, secret(&value))).collect())
    }

    /// The key of a day.
    fn key(&self, day: &str) -> hmac::Key {
        let first = format!("AWS4{}", self.secret_access_key);
        let parts = [day, &self.region, &self.service, "aws4_request"];
        parts.iter().fold(hmac_key(first.as_bytes()), |key, part| {
            hmac_key(hmac::sign(&key, part.as_bytes()).as_ref())
        })
    }

    /// A path as it is signed: without segments of dots and empty ones, and encoded once more.
    pub(super) fn path(&self, path: &str) -> String {
        if self.service == S3 {
            return path.to_owned();
        }
        let mut kept: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(kept.pop()),
                _ => kept.push(segment),
            }
        }
        let encoded = kept.iter().map(|segment| format!("/{}", encode(segment)));
        let end = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
        let path: String = encoded.chain(end.then(|| "/".to_owned())).collect();
        if path.is_empty() { "/".to_owned() } else { path }
    }
}

/// A query as it is signed: by name and value, each encoded in one way.
fn query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (encode_anew(name), encode_anew(value))
        })
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn encode_anew(text: &str) -> String {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    percent_encoding::percent_encode(&bytes, RESERVED).to_string()
}

/// A value without spaces around it, and with one where there are several.
fn squeezed(value: &str) -> String {
    value.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The header `host` as it is sent: the port only where it is not that of the scheme.
fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    match uri.port_u16() {
        Some(port) if port != usual => format!("{host}:{port}"),
        _ => host.to_owned(),
    }
}

fn hmac_key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}
