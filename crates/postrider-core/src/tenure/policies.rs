//! Which policy a delivery follows at the moment.
//!
//! The database has checked what it stores. What is not understood nevertheless (an older program
//! wrote it, or a newer one) counts as absent, and is said.

use serde_json::Value;
use tracing::warn;

use super::delivery::Delivery;
use crate::{
    configuration::EndpointRow,
    hashing::HashMap,
    id::Target,
    policy::{OwnPolicy, Place, Policy, Simple, choose},
};

/// The settings' policy, and those of event types.
#[derive(Debug, Default)]
pub struct Policies {
    settings: Simple,
    /// As they were read: to look closer only when something has changed.
    rows: Vec<(String, Value)>,
    by_event_type: HashMap<String, OwnPolicy>,
}

/// An endpoint's policy, and those of its subscriptions.
#[derive(Debug, Default)]
pub struct EndpointPolicies {
    own: Option<OwnPolicy>,
    by_target: HashMap<Target, OwnPolicy>,
}

impl Policies {
    pub fn set_settings(&mut self, settings: Simple) {
        self.settings = settings;
    }

    /// Takes over the policies of all event types that have one, in order of name.
    pub fn set_event_types(&mut self, rows: Vec<(String, Value)>) {
        if rows == self.rows {
            return;
        }
        let policy = |(name, value): &(String, Value)| {
            Some((name.clone(), read(value, Place::EventType, name)?))
        };
        self.by_event_type = rows.iter().filter_map(policy).collect();
        self.rows = rows;
    }

    /// The policy in force for a delivery to the endpoint with these policies.
    pub fn of(&self, delivery: &Delivery, endpoint: Option<&EndpointPolicies>) -> Policy {
        let name = delivery.message.content.event_type.as_deref();
        let event_type = name.and_then(|name| self.by_event_type.get(name));
        let subscription = endpoint.and_then(|known| known.by_target.get(&delivery.target));
        let own = endpoint.and_then(|known| known.own.as_ref());
        match choose(event_type, subscription, own) {
            (_, Some(policy)) => policy.complete(&self.settings),
            (_, None) => Policy::Simple(self.settings),
        }
    }
}

impl EndpointPolicies {
    pub fn read(row: &EndpointRow) -> EndpointPolicies {
        let own = |policy| read(policy, Place::Endpoint, &row.name);
        let of_target = |(target, policy): &(Target, Value)| {
            Some((*target, read(policy, Place::Subscription, &row.name)?))
        };
        EndpointPolicies {
            own: row.retry_policy.as_ref().and_then(own),
            by_target: row.target_policies.iter().filter_map(of_target).collect(),
        }
    }
}

fn read(policy: &Value, place: Place, name: &str) -> Option<OwnPolicy> {
    OwnPolicy::parse(policy, place)
        .inspect_err(|error| warn!(?place, name, %error, "a retry policy is not understood"))
        .ok()
}
