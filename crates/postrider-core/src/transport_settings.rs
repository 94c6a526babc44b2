//! What the database says of how messages are sent, whatever the endpoint.

use std::{sync::Arc, time::Duration};

use crate::networks::InternalDestinations;

/// The settings that transports follow, as they are at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `http_timeout`: from the request to its answer.
    pub http_timeout: Duration,
    /// `http_connect_timeout`: name look-up, TCP and TLS together.
    pub http_connect_timeout: Duration,
    /// `allow_internal_destinations`.
    pub internal_destinations: Arc<InternalDestinations>,
    /// `allow_any_port`: also those where something else than HTTP is spoken.
    pub allows_any_port: bool,
    /// `capture_response`: unless an endpoint says otherwise.
    pub captures_responses: bool,
    /// `response_body_max_size`, in bytes.
    pub response_body_max: usize,
    /// Whose events messages are, where they are sent as CloudEvents: a URI reference.
    pub cloudevents_source: Arc<str>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            http_timeout: Duration::from_secs(10),
            http_connect_timeout: Duration::from_secs(5),
            internal_destinations: Arc::default(),
            allows_any_port: false,
            captures_responses: false,
            response_body_max: 64 * 1024,
            cloudevents_source: "/postrider".into(),
        }
    }
}
