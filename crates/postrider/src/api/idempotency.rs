//! `Idempotency-Key`: a request that is repeated is answered as before, and done once.
//!
//! Key, request and answer are one row, written in the transaction that does what was asked for: either both are there
//! or neither. A crash between the commit and the answer leaves the answer to whoever asks again.

use axum::extract::FromRequestParts;
use http::{HeaderName, HeaderValue, StatusCode, request::Parts};
use ring::digest::{Context, SHA256};
use tokio_postgres::Row;

use super::{
    Api, Shared,
    answer::Json,
    pool::{Once, Parameters, Statement},
    problem::{Code, Problem},
    token::Caller,
};

const CLAIM: &str = include_str!("../../../../sql/queries/access/claim_request.sql");
const KEEP: &str = include_str!("../../../../sql/queries/access/keep_answer.sql");

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key.
const KEY_CHARACTERS: usize = 255;

/// Makes the body of an answer of what a statement has returned.
pub type Write = fn(&[Row]) -> Result<String, Problem>;

/// A key, if there is one, and what the request is.
#[derive(Debug, Clone)]
pub struct Idempotency {
    key: Option<String>,
    target: String,
}

impl FromRequestParts<Api> for Idempotency {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Idempotency, Problem> {
        let mut values = parts.headers.get_all(HEADER).iter();
        let key = values.next().map(parse).transpose()?;
        if values.next().is_some() {
            return Err(Problem::invalid(
                Code::InvalidIdempotencyKey,
                "There are two Idempotency-Keys.",
            ));
        }
        Ok(Idempotency { key, target: format!("{} {}\n", parts.method, parts.uri.path()) })
    }
}

/// A String of RFC 8941, or what stands there as it is, as most clients write it.
fn parse(value: &HeaderValue) -> Result<String, Problem> {
    let rule = || {
        let rule = format!(
            "Idempotency-Key must be 1 to {KEY_CHARACTERS} visible ASCII characters, in quotes or not."
        );
        Problem::invalid(Code::InvalidIdempotencyKey, rule)
    };
    let text = value.to_str().map_err(|_| rule())?.trim();
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted).ok_or_else(rule)?,
        None => text.to_owned(),
    };
    let is_bare = text.starts_with('"') || !key.contains(['"', ' ', ',', ';']);
    let is_short = (1..=KEY_CHARACTERS).contains(&key.len());
    if is_bare && is_short { Ok(key) } else { Err(rule()) }
}

/// What stands before the closing quote, which ends it.
fn unquote(quoted: &str) -> Option<String> {
    let mut key = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(key),
            '\\' => key.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            character if (' '..='~').contains(&character) => key.push(character),
            _ => return None,
        }
    }
}

impl Shared {
    /// Does once what `statement` does, for the caller, and answers with `status` and what `write` makes of its rows.
    pub async fn once(
        &self,
        caller: &Caller,
        idempotency: &Idempotency,
        body: &[u8],
        statement: (Statement, Parameters<'_>),
        (status, write): (StatusCode, Write),
    ) -> Result<Json, Problem> {
        let Some(key) = &idempotency.key else {
            let (sql, parameters) = statement;
            let rows = self.pool.query(caller, sql, parameters).await?;
            return Ok(Json::text(status, write(&rows)?));
        };
        let fingerprint = idempotency.fingerprint(body);
        let claim: Parameters<'_> = &[&caller.token, key, &fingerprint];
        let keep: Parameters<'_> = &[&caller.token, key];
        let number = status.as_u16() as i16;
        let write = |rows: &[Row]| Ok((number, write(rows)?));
        let once = self.pool.query_once(caller, [(CLAIM, claim), (KEEP, keep)], statement, write);
        let row = match once.await? {
            Once::Done(body) => return Ok(Json::text(status, body)),
            Once::Known(row) => row,
        };
        if row.get::<_, &[u8]>("fingerprint") != fingerprint {
            let detail =
                "This Idempotency-Key belongs to another request: another path or another body.";
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Problem::new(status, Code::IdempotencyKeyReused, detail));
        }
        let status: i16 = row.get("status");
        let status = StatusCode::from_u16(status.unsigned_abs()).unwrap_or(StatusCode::OK);
        Ok(Json::text(status, row.get("body")).with(REPLAYED, "true"))
    }
}

impl Idempotency {
    /// Answers with a secret are kept nowhere, so that such a request cannot be repeated.
    pub fn refuse(&self) -> Result<(), Problem> {
        let detail = "The answer has a secret, which is not kept: leave the Idempotency-Key out.";
        match self.key {
            None => Ok(()),
            Some(_) => Err(Problem::invalid(Code::InvalidIdempotencyKey, detail)),
        }
    }

    fn fingerprint(&self, body: &[u8]) -> Vec<u8> {
        let mut context = Context::new(&SHA256);
        context.update(self.target.as_bytes());
        context.update(body);
        context.finish().as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_structured_string_or_bare() {
        for (written, key) in [
            ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
            (r#""8e03978e-40d5""#, "8e03978e-40d5"),
            (r#""a \"b\" \\ c""#, r#"a "b" \ c"#),
            ("  spaced  ", "spaced"),
        ] {
            assert_eq!(parse(&HeaderValue::from_str(written).unwrap()).unwrap(), key);
        }
        let long = "x".repeat(256);
        for wrong in
            ["", "  ", "\"\"", "\"open", "\"a\"b", "\"a\";p=1", "a b", "a,b", r#""a\n""#, &long]
        {
            let wrong = HeaderValue::from_str(wrong).unwrap();
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
        assert!(parse(&HeaderValue::from_bytes("ä".as_bytes()).unwrap()).is_err());
    }
}
