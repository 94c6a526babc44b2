//! What went wrong, as RFC 9457 says it: `application/problem+json` with a stable `code`.
//!
//! What the database refuses keeps the words of its functions and gets the name of its SQLSTATE as its code; what only
//! concerns us is logged, and the client hears no more than that.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use postrider_store::connect::error_text;
use serde::Serialize;
use serde_json::json;
use tokio_postgres::error::{DbError, SqlState};
use tracing::{error, warn};
use utoipa::ToSchema;

/// After a refusal that passes.
const RETRY_AFTER_SECONDS: u32 = 1;
/// After one that says that there is no room.
const RETRY_FULL_SECONDS: u32 = 5;
/// The longest text of the database that is passed on.
const DETAIL_CHARACTERS: usize = 2_000;

/// What went wrong, for programs. A code keeps its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    InvalidJson,
    IncompleteBody,
    InvalidBody,
    UnknownField,
    InvalidParameter,
    DataException,
    CheckViolation,
    InvalidParameterValue,
    NullValueNotAllowed,
    StatementTooComplex,
    ProgramLimitExceeded,
    Unauthorized,
    InsufficientPrivilege,
    UndefinedObject,
    NotFound,
    MethodNotAllowed,
    BodyTimeout,
    UniqueViolation,
    DuplicateObject,
    ObjectNotInPrerequisiteState,
    ObjectInUse,
    RaiseException,
    IdempotencyInProgress,
    PreconditionFailed,
    BodyTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    InvalidIdempotencyKey,
    PreconditionRequired,
    ConfigurationLimitExceeded,
    InternalError,
    Busy,
    RoleUnavailable,
    SchemaMismatch,
    DatabaseUnavailable,
    Timeout,
    Hanging,
    Draining,
    Connecting,
    LeaseOver,
    OutcomeUnknown,
}

/// An error, as RFC 9457 says it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
#[serde(deny_unknown_fields)]
pub struct Words<'a> {
    /// `urn:postrider:problem:` and the code.
    r#type: String,
    title: &'a str,
    status: u16,
    code: Code,
    /// For people.
    detail: &'a str,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// What the database has refused it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlstate: Option<&'a str>,
    /// Where in the body it is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<[Place<'a>; 1]>,
}

/// Where a body is wrong.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Place<'a> {
    /// A JSON pointer.
    pointer: &'a str,
    detail: &'a str,
}

/// An answer that is an error. In a box, for results carry it everywhere.
#[derive(Debug)]
pub struct Problem(Box<Said>);

#[derive(Debug)]
struct Said {
    status: StatusCode,
    code: Code,
    detail: String,
    hint: Option<String>,
    /// Where in the body it is wrong, as a JSON pointer.
    pointer: Option<String>,
    sqlstate: Option<String>,
    retry_after: Option<u32>,
}

/// SQLSTATEs that are an answer for the client: their names in docs/errors.md, and the status.
const REFUSALS: &[(&str, Code, StatusCode)] = &[
    ("22004", Code::NullValueNotAllowed, StatusCode::BAD_REQUEST),
    ("22023", Code::InvalidParameterValue, StatusCode::BAD_REQUEST),
    ("23514", Code::CheckViolation, StatusCode::BAD_REQUEST),
    ("23505", Code::UniqueViolation, StatusCode::CONFLICT),
    ("42501", Code::InsufficientPrivilege, StatusCode::FORBIDDEN),
    ("42704", Code::UndefinedObject, StatusCode::NOT_FOUND),
    ("42710", Code::DuplicateObject, StatusCode::CONFLICT),
    ("53400", Code::ConfigurationLimitExceeded, StatusCode::TOO_MANY_REQUESTS),
    ("54000", Code::ProgramLimitExceeded, StatusCode::BAD_REQUEST),
    ("54001", Code::StatementTooComplex, StatusCode::BAD_REQUEST),
    ("55000", Code::ObjectNotInPrerequisiteState, StatusCode::CONFLICT),
    ("55006", Code::ObjectInUse, StatusCode::CONFLICT),
    ("P0001", Code::RaiseException, StatusCode::CONFLICT),
];

impl Code {
    /// As it is written.
    pub fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

impl Problem {
    pub fn new(status: StatusCode, code: Code, detail: impl Into<String>) -> Problem {
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

    pub fn invalid(code: Code, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, Code::NotFound, detail)
    }

    /// There is no such endpoint, job, …
    pub fn undefined() -> Problem {
        let detail = "There is nothing of this name or id.";
        Problem::new(StatusCode::NOT_FOUND, Code::UndefinedObject, detail)
    }

    /// It was changed since.
    pub fn precondition_failed() -> Problem {
        let detail = "It has another version than If-Match says; nothing was done.";
        let problem =
            Problem::new(StatusCode::PRECONDITION_FAILED, Code::PreconditionFailed, detail);
        problem.hint("Read it again, and decide anew.")
    }

    pub fn precondition_required() -> Problem {
        let detail = "If-Match is needed: the ETag of what was read before.";
        let problem =
            Problem::new(StatusCode::PRECONDITION_REQUIRED, Code::PreconditionRequired, detail);
        problem.hint("If-Match: * changes whatever is there.")
    }

    pub fn method_not_allowed(method: &Method) -> Problem {
        let detail = format!("{method} is not what this path takes.");
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, Code::MethodNotAllowed, detail)
    }

    pub fn unauthorized() -> Problem {
        let detail = "A token is needed: Authorization: Bearer TOKEN. This one is missing, not known, revoked or \
                      expired.";
        Problem::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, detail)
    }

    /// The role of the token may not: `insufficient_privilege`, as where the database says so.
    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, Code::InsufficientPrivilege, detail)
    }

    pub fn internal() -> Problem {
        let detail = "Something went wrong here; the log of the process says what.";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, Code::InternalError, detail)
    }

    /// Nothing was done in time.
    pub fn timeout(detail: &str) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Timeout, detail).again()
    }

    /// Nobody can tell whether it was done. Without `Retry-After`: what repeats requests by that would do it twice.
    pub fn outcome_unknown() -> Problem {
        let detail = "Nobody knows whether it was done: the database did not answer to the commit. Repeat the request \
                      with the same Idempotency-Key, which does it once. Without one, it may be done twice.";
        Problem::new(StatusCode::GATEWAY_TIMEOUT, Code::OutcomeUnknown, detail)
    }

    /// Nothing was done; it may work later.
    pub fn unavailable(code: Code, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).again()
    }

    fn again(mut self) -> Problem {
        self.0.retry_after = Some(RETRY_AFTER_SECONDS);
        self
    }

    /// What to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.0.hint = Some(hint.into());
        self
    }

    pub fn at(mut self, pointer: impl Into<String>) -> Problem {
        self.0.pointer = Some(pointer.into());
        self
    }

    /// Whether the database could not be asked, or did not answer in time. One with another schema was asked.
    pub fn is_outage(&self) -> bool {
        matches!(self.0.code, Code::DatabaseUnavailable | Code::Timeout)
    }

    /// Whether there was no room here.
    pub fn is_busy(&self) -> bool {
        self.0.code == Code::Busy
    }

    /// What the database said to what a client asked for, or that it did not, before any commit.
    pub fn database(error: &tokio_postgres::Error) -> Problem {
        let Some(db) = error.as_db_error() else {
            warn!(error = error_text(error), "the database cannot be asked");
            let detail = "The connection to the database was lost; nothing was done.";
            return Problem::unavailable(Code::DatabaseUnavailable, detail);
        };
        let state = db.code().code();
        let known = REFUSALS.iter().find(|(known, ..)| *known == state);
        let detail: String = db.message().chars().take(DETAIL_CHARACTERS).collect();
        let mut problem = match known {
            Some((_, code, status)) => Problem::new(*status, *code, detail),
            None if state.starts_with("22") => Problem::invalid(Code::DataException, detail),
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
            return Problem::unavailable(Code::SchemaMismatch, detail);
        }
        if is_passing {
            warn!(error, sqlstate, "a request met with a database that could not");
            let detail = "The database could not do it now; nothing was done.";
            return Problem::unavailable(Code::DatabaseUnavailable, detail);
        }
        error!(error, sqlstate, "a request failed");
        Problem::internal()
    }

    fn words(&self) -> Words<'_> {
        let Said { status, code, detail, hint, pointer, sqlstate, .. } = &*self.0;
        Words {
            r#type: format!("urn:postrider:problem:{}", code.name()),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code: *code,
            detail,
            hint: hint.as_deref(),
            sqlstate: sqlstate.as_deref(),
            errors: pointer.as_deref().map(|pointer| [Place { pointer, detail }]),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(json!(self.words()).to_string()));
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
            (unavailable(Code::DatabaseUnavailable), true),
            (Problem::timeout(""), true),
            (unavailable(Code::Busy), false),
            (unavailable(Code::SchemaMismatch), false),
            (unavailable(Code::RoleUnavailable), false),
            (Problem::unauthorized(), false),
            (Problem::internal(), false),
        ];
        for (problem, is_outage) in known {
            assert_eq!(problem.is_outage(), is_outage, "{problem:?}");
        }
    }
}
