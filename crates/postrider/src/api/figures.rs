//! `/metrics`: what this process has counted, and what the database said lately.
//!
//! A scrape asks nobody. Figures of the database are asked for now and then, however many scrapes there are, and none.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::header;
use postrider_engine::telemetry::FIGURES_AGE;
use serde_json::Value;

use super::{Api, problem::Problem, token::Watcher};
use crate::metrics;

const METRICS: &str = include_str!("../../../../sql/queries/watch/metrics.sql");

/// How often the database is asked, and for how long.
const REFRESH: Duration = Duration::from_secs(10);
const REFRESH_TIME: Duration = Duration::from_secs(15);

/// What the database said.
#[derive(Debug, Default)]
pub struct Figures(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    at: Instant,
    text: String,
}

impl Figures {
    fn set(&self, text: String) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Known { at: Instant::now(), text });
    }

    /// They, and how old they are; nothing before they were heard for the first time.
    fn exposition(&self) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Known { at, text }) = &*known else { return String::new() };
        let ((name, help), age) = (FIGURES_AGE, at.elapsed().as_secs_f64());
        format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {age}\n{text}\n")
    }
}

/// Asks the database again and again. What cannot be had now is had later.
pub async fn refresh(api: Api) {
    loop {
        let until = tokio::time::Instant::now() + REFRESH_TIME;
        if let Ok(rows) = api.pool.ask(until, METRICS, &[]).await {
            let rows: Vec<Value> = rows.iter().map(|row| row.get(0)).collect();
            api.figures.set(metrics::exposition(&rows));
        }
        tokio::time::sleep(REFRESH).await;
    }
}

/// Metrics of this process and of the database, in the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses((status = 200, description = "Metrics", body = String, content_type = "text/plain"))
)]
pub async fn metrics(_: Watcher, State(api): State<Api>) -> Result<Response, Problem> {
    let is_ready = api.vitals.readiness(Instant::now()).is_ok();
    api.telemetry.ready.set(i64::from(is_ready));
    let text = api.telemetry.exposition() + &api.figures.exposition();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
