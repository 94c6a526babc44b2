//! The listener of a process: health, metrics and the API over HTTP.
//!
//! It has a thread and a few connections to the database of its own, and never those that deliver: whatever is asked
//! here, and however, delivery and the lease go on. Everything that it does is an SQL function first, called as the
//! database role that belongs to the token; here stand who may ask, what is read of a request, and the words of the
//! answer.

mod answer;
mod arguments;
mod bound;
mod document;
mod figures;
mod health;
mod idempotency;
mod listener;
mod messages;
mod operation;
mod operations;
mod pool;
mod problem;
mod request;
mod serving;
mod shapes;
pub mod token;
mod verified;

use std::sync::Arc;

use axum::{
    Router,
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use postrider_engine::{telemetry::Telemetry, vitals::Vitals};
use tokio::sync::{Semaphore, mpsc};
use utoipa_axum::{router::OpenApiRouter, routes};

pub use self::listener::{ListenError, Listener, start};
use self::{figures::Figures, pool::Pool, problem::Problem, verified::Verified};

/// What all requests share.
struct Shared {
    vitals: Arc<Vitals>,
    telemetry: Arc<Telemetry>,
    pool: Pool,
    figures: Figures,
    verified: Verified,
    /// Tokens whose use is to be noted.
    uses: mpsc::Sender<i32>,
    /// KiB of bodies that may be in memory.
    bodies: Arc<Semaphore>,
}

type Api = Arc<Shared>;

/// The routes that are written by hand, and what they say of themselves. All others are rows of `operations`.
fn routes() -> (Router<Api>, utoipa::openapi::OpenApi) {
    OpenApiRouter::new()
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(figures::metrics))
        .routes(routes!(messages::send))
        .routes(routes!(messages::send_batch))
        .routes(routes!(messages::publish))
        .routes(routes!(messages::publish_batch))
        .routes(routes!(document::document))
        .split_for_parts()
}

fn router(api: Api) -> Router {
    let (router, _) = routes();
    serving::serve(router)
        .fallback(|| async { Problem::not_found("There is nothing at this path.") })
        .method_not_allowed_fallback(other_method)
        .with_state(api)
}

/// `OPTIONS` asks what a path takes, which axum adds as `Allow`.
async fn other_method(method: Method) -> Response {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        method => Problem::method_not_allowed(&method).into_response(),
    }
}
