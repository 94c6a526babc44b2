//! Answers that are no problem.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

/// A status and a body of JSON.
pub struct Json {
    status: StatusCode,
    body: String,
    headers: Vec<(HeaderName, String)>,
}

impl Json {
    pub fn new(status: StatusCode, body: &impl Serialize) -> Json {
        // Nothing that we answer with has keys that are no strings.
        Json::text(status, serde_json::to_string(body).unwrap_or_default())
    }

    /// What is written already.
    pub fn text(status: StatusCode, body: String) -> Json {
        Json { status, body, headers: Vec::new() }
    }

    pub fn with(mut self, name: HeaderName, value: impl Into<String>) -> Json {
        self.headers.push((name, value.into()));
        self
    }
}

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        response
    }
}
