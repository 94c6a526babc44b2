//! Whether this process lives and delivers. The database is not asked.

use std::time::Instant;

use axum::extract::State;
use http::StatusCode;
use postrider_engine::vitals::Unready;
use serde_json::json;

use super::{
    Api,
    answer::Json,
    problem::{Code, Problem},
    token::Watcher,
};

/// Whether this process lives: if not, restart it. It lives while its database is away. Whoever can connect may ask, for
/// tokens are in the database.
#[utoipa::path(
    get, path = "/health/live", tag = "health", operation_id = "live",
    responses(
        (status = 200, description = "It lives"),
        (status = 503, description = "It hangs: restart it"),
    )
)]
pub async fn live(State(api): State<Api>) -> Result<Json, Problem> {
    match api.vitals.is_alive(Instant::now()) {
        true => Ok(Json::new(StatusCode::OK, &json!({ "status": "alive" }))),
        false => {
            let detail = "The loop of this process has given no sign of life for too long.";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Hanging, detail))
        }
    }
}

/// Whether this process delivers: it has a tenure, and was not asked to stop.
#[utoipa::path(
    get, path = "/health/ready", tag = "health", operation_id = "ready",
    responses(
        (status = 200, description = "It delivers"),
        (status = 503, description = "It does not, or not any more"),
    )
)]
pub async fn ready(_: Watcher, State(api): State<Api>) -> Result<Json, Problem> {
    let (code, detail) = match api.vitals.readiness(Instant::now()) {
        Ok(()) => return Ok(Json::new(StatusCode::OK, &json!({ "status": "ready" }))),
        Err(Unready::Draining) => (Code::Draining, "This process was asked to stop."),
        Err(Unready::Connecting) => (Code::Connecting, "This process has no tenure: see its log."),
        Err(Unready::LeaseOver) => (Code::LeaseOver, "The lease of this process has run out."),
    };
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail))
}
