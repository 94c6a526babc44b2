//! The settings of the database that a dispatcher follows.

use std::{sync::Arc, time::Duration};

use postrider_core::{
    breaker::Rules, chains::Scope, networks::InternalDestinations, policy::Simple,
};
use tracing::warn;

use crate::transport;

/// All of them, parsed. What is missing or not understood keeps its default.
pub struct Settings {
    pub policy: Simple,
    pub breaker: Rules,
    pub transport: transport::Settings,
    /// `record_attempts = all`: successful attempts are recorded, too.
    pub records_successes: bool,
    pub ordering_scope: Scope,
    /// `deliver_before_durable`
    pub delivers_before_durable: bool,
}

impl Settings {
    pub fn new(rows: &[(String, String)]) -> Settings {
        let mut policy = Simple::default();
        let mut breaker = Rules { threshold: 10, cooldown: Duration::from_secs(30) };
        let mut transport = transport::Settings::default();
        let mut records_successes = false;
        let mut ordering_scope = Scope::default();
        let mut delivers_before_durable = false;
        for (name, value) in rows {
            let seconds = || value.parse().map(Duration::from_secs).ok();
            let target = match name.as_str() {
                "default_max_retries" => {
                    policy.max_retries = value.parse().unwrap_or(policy.max_retries);
                    continue;
                }
                "circuit_breaker_threshold" => {
                    breaker.threshold = value.parse().unwrap_or(breaker.threshold);
                    continue;
                }
                "allow_internal_destinations" => {
                    transport.internal_destinations = internal_destinations(value);
                    continue;
                }
                "record_attempts" => {
                    records_successes = value == "all";
                    continue;
                }
                "deliver_before_durable" => {
                    delivers_before_durable = value == "on";
                    continue;
                }
                "allow_any_port" => {
                    transport.allows_any_port = value == "on";
                    continue;
                }
                "capture_response" => {
                    transport.captures_responses = value == "on";
                    continue;
                }
                "response_body_max_size" => {
                    transport.response_body_max =
                        value.parse().unwrap_or(transport.response_body_max);
                    continue;
                }
                "cloudevents_source" => {
                    transport.cloudevents_source = value.as_str().into();
                    continue;
                }
                "ordering_scope" => {
                    ordering_scope =
                        if value == "global" { Scope::Global } else { Scope::Endpoint };
                    continue;
                }
                "circuit_breaker_cooldown" => &mut breaker.cooldown,
                "retry_base_delay" => &mut policy.base_delay,
                "retry_max_delay" => &mut policy.max_delay,
                "retry_increment" => &mut policy.increment,
                "http_timeout" => &mut transport.http_timeout,
                "http_connect_timeout" => &mut transport.http_connect_timeout,
                _ => continue,
            };
            *target = seconds().unwrap_or(*target);
        }
        Settings {
            policy,
            breaker,
            transport,
            records_successes,
            ordering_scope,
            delivers_before_durable,
        }
    }
}

fn internal_destinations(value: &str) -> Arc<InternalDestinations> {
    Arc::new(value.parse().unwrap_or_else(|error| {
        warn!(%error, "allow_internal_destinations is not understood, so none are allowed");
        InternalDestinations::default()
    }))
}
