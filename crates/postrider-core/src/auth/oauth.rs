//! Tokens of OAuth 2.0 by client credentials (RFC 6749 section 4.4): what the token endpoint is asked, what its answer
//! means, and how long a token is used.
//!
//! A token is renewed when four fifths of its life are over, or when a receiver refuses it with 401. A token that
//! came after a refusal and is refused as well says something about the request and not about itself: that 401 is the
//! receiver's answer. Whoever gives tokens may have been wrong, and be right by now: such a token is given up after a
//! minute.

use std::{fmt, time::Duration};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::HeaderValue;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::json;

use super::{RESERVED, secret};

/// The longest answer of a token endpoint that is read, in bytes.
pub const ANSWER_MAX: usize = 64 * 1024;
/// The longest token that is sent, in bytes.
const TOKEN_MAX: usize = 16 * 1024;
/// How long a token is used whose life nobody names, and how long any is used at most.
const LIFE: Duration = Duration::from_secs(3_600);
const LIFE_MAX: Duration = Duration::from_secs(7 * 86_400);
/// How long a token is kept at least that came after a refusal and was refused as well.
const REFUSED_AGE: Duration = Duration::from_secs(60);
/// How long what a key has signed is good, in seconds.
const ASSERTION_LIFE: i64 = 120;
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How much of an error code is repeated, in characters.
const CODE_MAX: usize = 64;
/// Parameters of the request that are no extra ones.
pub const PARAMETERS: &[&str] = &[
    "audience",
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "grant_type",
    "scope",
];

/// What a client shows to the token endpoint. Is not shown.
pub struct Client {
    pub id: String,
    pub proof: Proof,
    /// With spaces between them; empty: what the endpoint gives by itself.
    pub scope: String,
    pub audience: Option<String>,
    /// More parameters of the request.
    pub extra: Vec<(String, String)>,
    /// Where it is asked: whom what a key signs is for.
    pub token_url: String,
}

/// How a client shows that it is this one.
pub enum Proof {
    /// A secret in the header `authorization` (RFC 6749 section 2.3.1).
    Basic(String),
    /// A secret in the body.
    Post(String),
    /// A text that its key has signed (RFC 7523).
    Key(Box<dyn Sign>),
}

/// A client's key, with all that it needs to sign.
pub trait Sign: Send + Sync {
    /// As JSON Web Tokens call it (RFC 7518), such as `ES256`.
    fn algorithm(&self) -> &'static str;
    /// What the token endpoint knows the key by.
    fn id(&self) -> Option<&str>;
    /// The signature of a text; none if nothing can be signed.
    fn sign(&self, text: &[u8]) -> Option<Vec<u8>>;
}

/// A JSON Web Token (RFC 7519) of these claims.
fn assertion(key: &dyn Sign, claims: &serde_json::Value) -> Option<String> {
    let mut head = json!({ "alg": key.algorithm(), "typ": "JWT" });
    if let Some(id) = key.id() {
        head["kid"] = id.into();
    }
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&head), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(text.as_bytes())?);
    Some(format!("{text}.{signature}"))
}

/// A request for a token.
pub struct Question {
    pub authorization: Option<HeaderValue>,
    /// `application/x-www-form-urlencoded`
    pub body: String,
}

impl Client {
    /// What the token endpoint is asked at `timestamp`, in seconds since 1970. `nonce`: a text that was never used before.
    ///
    /// # Errors
    ///
    /// When nothing can be signed.
    pub fn question(&self, timestamp: i64, nonce: &str) -> Result<Question, TokenError> {
        let mut pairs = vec![("grant_type", "client_credentials")];
        if !self.scope.is_empty() {
            pairs.push(("scope", &self.scope));
        }
        pairs.extend(self.audience.as_deref().map(|audience| ("audience", audience)));
        pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut authorization = None;
        let signed;
        match &self.proof {
            Proof::Basic(password) => {
                // Both are encoded as in a form first.
                let text = format!("{}:{}", encoded(&self.id), encoded(password));
                authorization = Some(secret(&format!("Basic {}", STANDARD.encode(text))));
            }
            Proof::Post(password) => {
                pairs.extend([("client_id", self.id.as_str()), ("client_secret", password)]);
            }
            Proof::Key(key) => {
                let claims = json!({
                    "iss": self.id, "sub": self.id, "aud": self.token_url, "jti": nonce,
                    "iat": timestamp, "exp": timestamp + ASSERTION_LIFE
                });
                signed = assertion(&**key, &claims).ok_or(TokenError::Unsigned)?;
                pairs.extend([
                    ("client_id", self.id.as_str()),
                    ("client_assertion_type", ASSERTION_TYPE),
                    ("client_assertion", &signed),
                ]);
            }
        }
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        Ok(Question { authorization, body: pairs.join("&") })
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Why there is no token. Tells no secret, and nothing that the token endpoint said but its code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No answer: why.
    #[error("{0}")]
    NoAnswer(String),
    /// An answer that is none of success.
    #[error("HTTP {status}{}", .code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
    Refused { status: u16, code: Option<String> },
    /// A success without a token.
    #[error("HTTP {status} with {what}")]
    Odd { status: u16, what: &'static str },
    #[error("the request for it could not be signed")]
    Unsigned,
}

#[derive(Deserialize)]
struct Answer {
    access_token: Option<String>,
    token_type: Option<String>,
    expires_in: Option<serde_json::Value>,
    error: Option<String>,
}

/// A token as the token endpoint gave it, ready for the header `authorization`, and how long it is good.
///
/// # Errors
///
/// When the answer has none that can be used.
pub fn read(status: u16, body: &[u8]) -> Result<(HeaderValue, Duration), TokenError> {
    let answer: Option<Answer> = serde_json::from_slice(body).ok();
    if !(200..300).contains(&status) {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
        let code = answer.and_then(|answer| answer.error);
        let code = code.map(|code| code.chars().take(CODE_MAX).filter(is_plain).collect());
        return Err(TokenError::Refused { status, code });
    }
    let odd = |what| TokenError::Odd { status, what };
    let answer = answer.ok_or(odd("no JSON object"))?;
    let token = answer.access_token.ok_or(odd("no access_token"))?;
    let is_visible = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.is_empty() || token.len() > TOKEN_MAX || !is_visible {
        return Err(odd("an access_token that cannot be sent"));
    }
    // Left out it is a bearer's, though it must not be (RFC 6749 section 5.1).
    if answer.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(odd("a token_type other than Bearer"));
    }
    let seconds = answer.expires_in.and_then(|value| match value {
        serde_json::Value::Number(number) => number.as_f64(),
        serde_json::Value::String(text) => text.parse().ok(),
        _ => None,
    });
    let life = seconds.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
    Ok((secret(&format!("Bearer {token}")), life.unwrap_or(LIFE).min(LIFE_MAX)))
}

/// A token in use.
#[derive(Clone)]
pub struct Token {
    pub value: HeaderValue,
    /// Which one it is.
    pub generation: u64,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.generation)
    }
}

/// What there is to send a request with. Times are by a clock of the caller's that never goes back.
#[derive(Debug, Clone)]
pub enum Standing {
    Good(Token),
    /// Good for a while; a new one is to be fetched beside it.
    Due(Token),
    /// A new one has to be waited for.
    Nothing,
}

/// What a 401 means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The token was at its end: once more, with another one.
    Renew,
    /// The receiver's own answer.
    Final,
}

/// The tokens of one endpoint, one after the other.
#[derive(Debug, Default)]
pub struct Tokens {
    held: Option<Held>,
    generation: u64,
    /// The last one was given up because it was refused, and none was accepted since.
    is_refused: bool,
}

#[derive(Debug)]
struct Held {
    token: Token,
    asked_at: Duration,
    renew_at: Duration,
    ends_at: Duration,
}

impl Tokens {
    pub fn standing(&self, now: Duration) -> Standing {
        match &self.held {
            Some(held) if now < held.renew_at => Standing::Good(held.token.clone()),
            Some(held) if now < held.ends_at => Standing::Due(held.token.clone()),
            _ => Standing::Nothing,
        }
    }

    /// A new token came, asked for at `asked_at`, that is good for so long from then on.
    pub fn take(&mut self, value: HeaderValue, life: Duration, asked_at: Duration) -> Token {
        self.generation += 1;
        let token = Token { value, generation: self.generation };
        let renew_at = asked_at + life * 4 / 5;
        self.held =
            Some(Held { token: token.clone(), asked_at, renew_at, ends_at: asked_at + life });
        token
    }

    /// A request with this token was answered, and not by 401.
    pub fn note_accepted(&mut self, generation: u64) {
        if generation == self.generation {
            self.is_refused = false;
        }
    }

    /// A request with this token was answered by 401. Of many that have the same, the first ends it.
    pub fn note_refused(&mut self, generation: u64, now: Duration) -> Refusal {
        let current = self.held.as_ref().filter(|held| held.token.generation == generation);
        let Some(held) = current else { return Refusal::Renew };
        if self.is_refused && now < held.asked_at + REFUSED_AGE {
            return Refusal::Final;
        }
        self.held = None;
        self.is_refused = true;
        Refusal::Renew
    }
}

#[cfg(test)]
mod tests;
