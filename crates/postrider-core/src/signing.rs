//! Signatures of webhooks, as Standard Webhooks 1.0.0 has them.
//!
//! What is signed are the bytes `{id}.{timestamp}.{body}`, the body exactly as it is sent. A key is `whsec_`
//! and the base64 of 24 to 64 random bytes (`v1`, HMAC-SHA256), or `whsk_` and the base64 of an ed25519 seed
//! and its public key, 64 bytes together (`v1a`). Each key adds one signature; a receiver is content with one
//! that it can verify, so that keys can be changed while traffic flows.

pub mod scheme;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;
use ring::{
    hmac,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

/// What a key for HMAC-SHA256 begins with.
pub const SYMMETRIC_PREFIX: &str = "whsec_";
/// What a key for ed25519 begins with.
pub const PRIVATE_PREFIX: &str = "whsk_";
/// What the public half of a key for ed25519 begins with.
pub const PUBLIC_PREFIX: &str = "whpk_";
/// How many bytes a key for HMAC-SHA256 has.
pub const SYMMETRIC_MIN: usize = 24;
pub const SYMMETRIC_MAX: usize = 64;
/// What a text begins with that is a key by itself, for schemes that are no standard.
pub const RAW_PREFIX: &str = "raw:";
/// How many characters such a text has.
pub const RAW_MIN: usize = 8;
pub const RAW_MAX: usize = 256;
/// The most keys that sign one request.
pub const KEYS_MAX: usize = 10;

/// How far the clocks of sender and receiver may be apart, in seconds.
pub const TOLERANCE: i64 = 300;

const SEED_LENGTH: usize = 32;
const PAIR_LENGTH: usize = 64;

/// What is wrong with a key. Never tells the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a signing key begins with whsec_, whsk_ or raw:")]
    Prefix,
    #[error(
        "a key that begins with raw: has {RAW_MIN} to {RAW_MAX} characters behind it, none of them a control character"
    )]
    RawLength,
    #[error("a key that begins with raw: signs by other schemes than standard-webhooks and svix")]
    Raw,
    #[error("a key that begins with whsk_ signs by standard-webhooks and svix only")]
    NoText,
    #[error("a key that begins with raw: is base64 behind it where signature.key is base64")]
    RawBase64,
    #[error("a signing key is written in base64 with its padding, behind its prefix")]
    Base64,
    #[error("a key that begins with whsec_ has {SYMMETRIC_MIN} to {SYMMETRIC_MAX} bytes")]
    SymmetricLength,
    #[error("a key that begins with whpk_ has 32 bytes")]
    PublicLength,
    #[error("a key that begins with whsk_ has 64 bytes: an ed25519 seed and its public key")]
    PairLength,
    #[error("the second half of a key that begins with whsk_ is the public key of the first")]
    Pair,
}

/// A key that signs. It is never shown.
pub enum SigningKey {
    /// `v1`
    Symmetric(hmac::Key),
    /// `v1a`
    Pair(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads a key as it is handed out.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if let Some(rest) = text.strip_prefix(SYMMETRIC_PREFIX) {
            let bytes = STANDARD.decode(rest).map_err(|_| KeyError::Base64)?;
            return match bytes.len() {
                SYMMETRIC_MIN..=SYMMETRIC_MAX => {
                    Ok(Self::Symmetric(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
                }
                _ => Err(KeyError::SymmetricLength),
            };
        }
        if let Some(rest) = text.strip_prefix(RAW_PREFIX) {
            let has_control = rest.bytes().any(|byte| byte.is_ascii_control());
            let is_good = (RAW_MIN..=RAW_MAX).contains(&rest.chars().count()) && !has_control;
            return Err(if is_good { KeyError::Raw } else { KeyError::RawLength });
        }
        let rest = text.strip_prefix(PRIVATE_PREFIX).ok_or(KeyError::Prefix)?;
        let bytes = STANDARD.decode(rest).map_err(|_| KeyError::Base64)?;
        if bytes.len() != PAIR_LENGTH {
            return Err(KeyError::PairLength);
        }
        let (seed, public) = bytes.split_at(SEED_LENGTH);
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed, public);
        pair.map(Self::Pair).map_err(|_| KeyError::Pair)
    }

    /// The public half as receivers get it, `whpk_…`; none of a symmetric key.
    pub fn public_key(&self) -> Option<String> {
        match self {
            Self::Symmetric(_) => None,
            Self::Pair(pair) => {
                let public = STANDARD.encode(pair.public_key().as_ref());
                Some(format!("{PUBLIC_PREFIX}{public}"))
            }
        }
    }

    fn sign(&self, head: &[u8], body: &[u8]) -> String {
        match self {
            Self::Symmetric(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(head);
                context.update(body);
                format!("v1,{}", STANDARD.encode(context.sign()))
            }
            Self::Pair(pair) => {
                // ed25519 goes over its text twice, so it needs all of it at once.
                let text = [head, body].concat();
                format!("v1a,{}", STANDARD.encode(pair.sign(&text)))
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Symmetric(_) => "SigningKey(v1)",
            Self::Pair(_) => "SigningKey(v1a)",
        })
    }
}

/// Writes an ed25519 pair from a random seed as it is handed out, `whsk_…`.
pub fn pair_from_seed(seed: &[u8; SEED_LENGTH]) -> String {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed of the right length");
    let bytes = [seed.as_slice(), pair.public_key().as_ref()].concat();
    format!("{PRIVATE_PREFIX}{}", STANDARD.encode(bytes))
}

/// Why a request is not what somebody with one of the keys has sent just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("its webhook-timestamp is not a number of seconds")]
    Timestamp,
    #[error("its webhook-timestamp is more than {TOLERANCE} seconds ago")]
    TooOld,
    #[error("its webhook-timestamp is more than {TOLERANCE} seconds ahead")]
    TooNew,
    #[error("none of its signatures is that of a key")]
    Signature,
}

/// A key that verifies: `whsec_…`, or the public half of a pair, `whpk_…`.
pub enum VerifyingKey {
    Symmetric(hmac::Key),
    Public(UnparsedPublicKey<Vec<u8>>),
}

impl VerifyingKey {
    /// Reads a key as receivers have it. Of a whole pair, `whsk_…`, it is the public half.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if let Some(rest) = text.strip_prefix(PUBLIC_PREFIX) {
            let bytes = STANDARD.decode(rest).map_err(|_| KeyError::Base64)?;
            return match bytes.len() {
                SEED_LENGTH => Ok(Self::Public(UnparsedPublicKey::new(&ED25519, bytes))),
                _ => Err(KeyError::PublicLength),
            };
        }
        Ok(match SigningKey::parse(text)? {
            SigningKey::Symmetric(key) => Self::Symmetric(key),
            SigningKey::Pair(pair) => {
                let public = pair.public_key().as_ref().to_vec();
                Self::Public(UnparsedPublicKey::new(&ED25519, public))
            }
        })
    }

    fn is_signature(&self, signature: &str, signed: &[u8]) -> bool {
        let Some((version, signature)) = signature.split_once(',') else { return false };
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        match (self, version) {
            (Self::Symmetric(key), "v1") => hmac::verify(key, signed, &signature).is_ok(),
            (Self::Public(key), "v1a") => key.verify(signed, &signature).is_ok(),
            _ => false,
        }
    }
}

/// Verifies a request with the values of its three headers, as a receiver does. One signature that verifies by one
/// of the keys is enough. `now`: seconds since 1970.
///
/// # Errors
///
/// Why it is not to be trusted.
pub fn verify(
    keys: &[VerifyingKey],
    id: Option<&str>,
    timestamp: Option<&str>,
    signatures: Option<&str>,
    body: &[u8],
    now: i64,
) -> Result<(), VerifyError> {
    let id = id.ok_or(VerifyError::Missing("webhook-id"))?;
    let timestamp = timestamp.ok_or(VerifyError::Missing("webhook-timestamp"))?;
    let signatures = signatures.ok_or(VerifyError::Missing("webhook-signature"))?;
    let sent_at: i64 = timestamp.parse().map_err(|_| VerifyError::Timestamp)?;
    if sent_at < now.saturating_sub(TOLERANCE) {
        return Err(VerifyError::TooOld);
    }
    if sent_at > now.saturating_add(TOLERANCE) {
        return Err(VerifyError::TooNew);
    }
    let signed = [format!("{id}.{timestamp}.").as_bytes(), body].concat();
    let is_good = |signature| keys.iter().any(|key| key.is_signature(signature, &signed));
    if signatures.split(' ').any(is_good) { Ok(()) } else { Err(VerifyError::Signature) }
}

/// The value of `webhook-signature`: one signature for each key, in their order; none without keys.
///
/// `id` is that of the header `webhook-id`, `timestamp` that of `webhook-timestamp`.
pub fn signatures(
    keys: &[SigningKey],
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> Option<HeaderValue> {
    if keys.is_empty() {
        return None;
    }
    let head = format!("{id}.{timestamp}.");
    let all: Vec<String> = keys.iter().map(|key| key.sign(head.as_bytes(), body)).collect();
    Some(
        HeaderValue::try_from(all.join(" ")).expect("base64, commas and spaces are a header value"),
    )
}

#[cfg(test)]
mod tests;
