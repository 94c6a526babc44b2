//! The settings of the database that a dispatcher follows.

use std::{str::FromStr, sync::Arc, time::Duration};

use tracing::warn;

use crate::{
    breaker::Rules, chains::Scope, networks::InternalDestinations, policy::Simple,
    transport_settings,
};

/// All of them, parsed. What is missing or not understood keeps its default.
pub struct Settings {
    pub policy: Simple,
    pub breaker: Rules,
    pub transport: transport_settings::Settings,
    /// `record_attempts = all`: successful attempts are recorded, too.
    pub records_successes: bool,
    pub ordering_scope: Scope,
    /// `deliver_before_durable`
    pub delivers_before_durable: bool,
}

impl Settings {
    pub fn new(rows: &[(String, String)]) -> Settings {
        let mut settings = Settings {
            policy: Simple::default(),
            breaker: Rules { threshold: 10, cooldown: Duration::from_secs(30) },
            transport: transport_settings::Settings::default(),
            records_successes: false,
            ordering_scope: Scope::default(),
            delivers_before_durable: false,
        };
        for (name, value) in rows {
            settings.read(name, value);
        }
        settings
    }

    fn read(&mut self, name: &str, value: &str) {
        let Settings { policy, breaker, transport, .. } = self;
        match name {
            "default_max_retries" => set(&mut policy.max_retries, value),
            "retry_base_delay" => set_seconds(&mut policy.base_delay, value),
            "retry_max_delay" => set_seconds(&mut policy.max_delay, value),
            "retry_increment" => set_seconds(&mut policy.increment, value),
            "circuit_breaker_threshold" => set(&mut breaker.threshold, value),
            "circuit_breaker_cooldown" => set_seconds(&mut breaker.cooldown, value),
            "http_timeout" => set_seconds(&mut transport.http_timeout, value),
            "http_connect_timeout" => set_seconds(&mut transport.http_connect_timeout, value),
            "allow_internal_destinations" => {
                transport.internal_destinations = internal_destinations(value);
            }
            "allow_any_port" => transport.allows_any_port = value == "on",
            "capture_response" => transport.captures_responses = value == "on",
            "response_body_max_size" => set(&mut transport.response_body_max, value),
            "cloudevents_source" => transport.cloudevents_source = value.into(),
            "record_attempts" => self.records_successes = value == "all",
            "deliver_before_durable" => self.delivers_before_durable = value == "on",
            "ordering_scope" => {
                self.ordering_scope =
                    if value == "global" { Scope::Global } else { Scope::Endpoint };
            }
            _ => {}
        }
    }
}

/// What is not understood leaves it as it was.
fn set<T: FromStr>(target: &mut T, value: &str) {
    if let Ok(parsed) = value.parse() {
        *target = parsed;
    }
}

fn set_seconds(target: &mut Duration, value: &str) {
    if let Ok(seconds) = value.parse() {
        *target = Duration::from_secs(seconds);
    }
}

fn internal_destinations(value: &str) -> Arc<InternalDestinations> {
    Arc::new(value.parse().unwrap_or_else(|error| {
        warn!(%error, "allow_internal_destinations is not understood, so none are allowed");
        InternalDestinations::default()
    }))
}
