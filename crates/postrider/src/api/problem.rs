//! What went wrong, as RFC 9457 says it: `application/problem+json` with a stable `code`.
//!
//! What the database refuses keeps the words of its functions and gets the name of its SQLSTATE as its code; what only
//! concerns us is logged, and the client hears no more than that.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio_postgres::error::{DbError, SqlState};
use tracing::{error, warn};

use crate::store::connect::error_text;

/// After a refusal that passes.
const RETRY_AFTER_SECONDS: u32 = 1;
/// After one that says that there is no room.
const RETRY_FULL_SECONDS: u32 = 5;
/// The longest text of the database that is passed on.
const DETAIL_CHARACTERS: usize = 2_000;

/// An answer that is an error. In a box, for results carry it everywhere.
#[derive(Debug)]
pub struct Problem(Box<Said>);

#[derive(Debug)]
struct Said {
    status: StatusCode,
    code: &'static str,
    detail: String,
    hint: Option<String>,
    /// Where in the body it is wrong, as a JSON pointer.
    pointer: Option<String>,
    sqlstate: Option<String>,
    retry_after: Option<u32>,
}

/// SQLSTATEs that are an answer for the client: their names in docs/errors.md, and the status.
const REFUSALS: &[(&str, &str, StatusCode)] = &[
    ("22004", "null_value_not_allowed", StatusCode::BAD_REQUEST),
    ("22023", "invalid_parameter_value", StatusCode::BAD_REQUEST),
    ("23505", "unique_violation", StatusCode::CONFLICT),
    ("42501", "insufficient_privilege", StatusCode::FORBIDDEN),
    ("42704", "undefined_object", StatusCode::NOT_FOUND),
    ("42710", "duplicate_object", StatusCode::CONFLICT),
    ("53400", "configuration_limit_exceeded", StatusCode::TOO_MANY_REQUESTS),
    ("54000", "program_limit_exceeded", StatusCode::BAD_REQUEST),
    ("54001", "statement_too_complex", StatusCode::BAD_REQUEST),
    ("55000", "object_not_in_prerequisite_state", StatusCode::CONFLICT),
    ("55006", "object_in_use", StatusCode::CONFLICT),
    ("P0001", "raise_exception", StatusCode::CONFLICT),
];

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem(Box::new(Said {
            status,
            code,
            detail: detail.into(),
            hint: None,
            pointer: None,
            sqlstate: None,
            retry_after: None,
        }))
    }

    pub fn invalid(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub fn method_not_allowed(method: &Method) -> Problem {
        let detail = format!("{method} is not what this path takes.");
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }

    pub fn unauthorized() -> Problem {
        let detail = "A token is needed: Authorization: Bearer TOKEN. This one is missing, not known, revoked or \
                      expired.";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// The role of the token may not: `insufficient_privilege`, as where the database says so.
    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "insufficient_privilege", detail)
    }

    pub fn internal() -> Problem {
        let detail = "Something went wrong here; the log of the process says what.";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", detail)
    }

    /// Nothing was done in time.
    pub fn timeout(detail: &str) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail).again()
    }

    /// Nobody can tell whether it was done. Without `Retry-After`: what repeats requests by that would do it twice.
    pub fn outcome_unknown() -> Problem {
        let detail = "Nobody knows whether it was done: the database did not answer to the commit. Repeat the request \
                      with the same Idempotency-Key, which does it once. Without one, it may be done twice.";
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "outcome_unknown", detail)
    }

    /// Nothing was done; it may work later.
    pub fn unavailable(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).again()
    }

    fn again(mut self) -> Problem {
        self.0.retry_after = Some(RETRY_AFTER_SECONDS);
        self
    }

    pub fn at(mut self, pointer: impl Into<String>) -> Problem {
        self.0.pointer = Some(pointer.into());
        self
    }

    /// Whether the database could not be asked, or did not answer in time. One with another schema was asked.
    pub fn is_outage(&self) -> bool {
        matches!(self.0.code, "database_unavailable" | "timeout")
    }

    /// Whether there was no room here.
    pub fn is_busy(&self) -> bool {
        self.0.code == "busy"
    }

    /// What the database said to what a client asked for, or that it did not, before any commit.
    pub fn database(error: &tokio_postgres::Error) -> Problem {
        let Some(db) = error.as_db_error() else {
            if error.is_closed() || error.code().is_none() {
                warn!(error = error_text(error), "the database cannot be asked");
            }
            let detail = "The connection to the database was lost; nothing was done.";
            return Problem::unavailable("database_unavailable", detail);
        };
        let state = db.code().code();
        let known = REFUSALS.iter().find(|(code, ..)| *code == state);
        let detail: String = db.message().chars().take(DETAIL_CHARACTERS).collect();
        let mut problem = match known {
            Some((_, code, status)) => Problem::new(*status, code, detail),
            None if state.starts_with("22") => Problem::invalid("data_exception", detail),
            None => return Problem::of_ours(db),
        };
        problem.0.hint = db.hint().map(str::to_owned);
        problem.0.sqlstate = Some(state.to_owned());
        problem.0.retry_after = (state == "53400").then_some(RETRY_FULL_SECONDS);
        problem
    }

    /// What is no client's fault. Its detail is not logged: it may be a row, with what the client has sent.
    fn of_ours(db: &DbError) -> Problem {
        let (state, error) = (db.code(), db.message());
        let sqlstate = state.code();
        let is_schema_wrong = [
            SqlState::INVALID_SCHEMA_NAME,
            SqlState::UNDEFINED_TABLE,
            SqlState::UNDEFINED_COLUMN,
            SqlState::UNDEFINED_FUNCTION,
        ]
        .contains(state);
        let is_passing = ["08", "40", "53", "57"].iter().any(|class| sqlstate.starts_with(class))
            || *state == SqlState::LOCK_NOT_AVAILABLE;
        if is_schema_wrong {
            error!(error, sqlstate, "the schema is not of this version");
            let detail = "The schema of the database is missing or of another version.";
            return Problem::unavailable("schema_mismatch", detail);
        }
        if is_passing {
            warn!(error, sqlstate, "a request met with a database that could not");
            let detail = "The database could not do it now; nothing was done.";
            return Problem::unavailable("database_unavailable", detail);
        }
        error!(error, sqlstate, "a request failed");
        Problem::internal()
    }

    fn body(&self) -> Value {
        let title = self.0.status.canonical_reason().unwrap_or("Error");
        let mut body = json!({
            "type": format!("urn:postrider:problem:{}", self.0.code),
            "title": title,
            "status": self.0.status.as_u16(),
            "code": self.0.code,
            "detail": self.0.detail,
        });
        if let Some(hint) = &self.0.hint {
            body["hint"] = hint.as_str().into();
        }
        if let Some(state) = &self.0.sqlstate {
            body["sqlstate"] = state.as_str().into();
        }
        if let Some(pointer) = &self.0.pointer {
            body["errors"] = json!([{ "pointer": pointer, "detail": self.0.detail }]);
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body().to_string()));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.0.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_is_busy_is_no_outage_of_the_database() {
        let unavailable = |code| Problem::unavailable(code, "");
        let known = [
            (unavailable("database_unavailable"), true),
            (Problem::timeout(""), true),
            (unavailable("busy"), false),
            (unavailable("schema_mismatch"), false),
            (unavailable("role_unavailable"), false),
            (Problem::unauthorized(), false),
            (Problem::internal(), false),
        ];
        for (problem, is_outage) in known {
            assert_eq!(problem.is_outage(), is_outage, "{problem:?}");
        }
    }
}
