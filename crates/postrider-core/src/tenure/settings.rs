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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[(&str, &str)]) -> Settings {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Settings::new(&rows.iter().map(own).collect::<Vec<_>>())
    }

    #[test]
    fn each_setting_says_one_thing() {
        let seconds = Duration::from_secs;
        let settings = read(&[
            ("default_max_retries", "3"),
            ("retry_base_delay", "4"),
            ("retry_max_delay", "5"),
            ("retry_increment", "6"),
            ("circuit_breaker_threshold", "7"),
            ("circuit_breaker_cooldown", "8"),
            ("http_timeout", "9"),
            ("http_connect_timeout", "11"),
            ("allow_internal_destinations", "10.0.0.0/8"),
            ("allow_any_port", "on"),
            ("capture_response", "on"),
            ("response_body_max_size", "12"),
            ("cloudevents_source", "/here"),
            ("record_attempts", "all"),
            ("deliver_before_durable", "on"),
            ("ordering_scope", "global"),
            ("one_of_a_later_version", "1"),
        ]);
        let policy = Simple {
            max_retries: 3,
            base_delay: seconds(4),
            max_delay: seconds(5),
            increment: seconds(6),
            ..Simple::default()
        };
        let transport = transport_settings::Settings {
            http_timeout: seconds(9),
            http_connect_timeout: seconds(11),
            internal_destinations: Arc::new("10.0.0.0/8".parse().unwrap()),
            allows_any_port: true,
            captures_responses: true,
            response_body_max: 12,
            cloudevents_source: "/here".into(),
        };
        assert_eq!((settings.policy, settings.transport), (policy, transport));
        assert_eq!(settings.breaker, Rules { threshold: 7, cooldown: seconds(8) });
        assert!(settings.records_successes && settings.delivers_before_durable);
        assert_eq!(settings.ordering_scope, Scope::Global);
    }

    #[test]
    fn what_is_missing_or_not_understood_keeps_its_default() {
        let words: Vec<(&str, &str)> = [
            "default_max_retries",
            "retry_base_delay",
            "circuit_breaker_threshold",
            "circuit_breaker_cooldown",
            "http_timeout",
            "response_body_max_size",
            "allow_internal_destinations",
            "allow_any_port",
            "capture_response",
            "record_attempts",
            "deliver_before_durable",
            "ordering_scope",
        ]
        .map(|name| (name, "-1 or what"))
        .into();
        for rows in [&[] as &[(&str, &str)], &words] {
            let settings = read(rows);
            assert_eq!(settings.policy, Simple::default());
            assert_eq!(settings.transport, transport_settings::Settings::default());
            let breaker = Rules { threshold: 10, cooldown: Duration::from_secs(30) };
            assert_eq!(settings.breaker, breaker);
            assert!(!settings.records_successes && !settings.delivers_before_durable);
            assert_eq!(settings.ordering_scope, Scope::Endpoint);
        }
    }

    /// What was allowed before must not be allowed on.
    #[test]
    fn networks_that_are_not_understood_allow_none() {
        let allowed = "10.0.0.0/8";
        let name = "allow_internal_destinations";
        let settings = read(&[(name, allowed), (name, "10.0.0.0/88")]);
        assert_eq!(*settings.transport.internal_destinations, InternalDestinations::Off);
    }
}
