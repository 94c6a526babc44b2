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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tenure::tests::{ENDPOINT, FLOW, TARGET, endpoint, unkeyed};

    const OTHER: Target = Target(2);

    fn retries(count: u32) -> Value {
        json!({ "max_retries": count })
    }

    fn event_type(name: &str, policy: Value) -> (String, Value) {
        (name.to_owned(), policy)
    }

    /// An endpoint that has a policy or none, and whose first subscription has one or none.
    fn endpoint_with(own: Option<Value>, of_target: Option<Value>) -> EndpointPolicies {
        let (mut row, _) = endpoint(ENDPOINT, 1, FLOW);
        row.retry_policy = own;
        row.target_policies = of_target.map(|policy| (TARGET, policy)).into_iter().collect();
        EndpointPolicies::read(&row)
    }

    /// How many retries a delivery has, of an event type or of none.
    fn allowed(
        policies: &Policies,
        event_type: Option<&str>,
        target: Target,
        endpoint: Option<&EndpointPolicies>,
    ) -> u32 {
        let mut row = unkeyed(1);
        (row.content.event_type, row.target) = (event_type.map(Into::into), target);
        policies.of(&Delivery::due(row, 1), endpoint).max_retries()
    }

    #[test]
    fn a_delivery_follows_the_first_policy_that_is_its_own() {
        let mut policies = Policies::default();
        policies.set_settings(Simple { max_retries: 1, ..Simple::default() });
        let stubborn = json!({ "max_retries": 3, "ignore_subscription_override": true });
        policies.set_event_types(vec![
            event_type("plain", retries(2)),
            event_type("stubborn", stubborn),
        ]);
        let (own, of_target) = (Some(retries(4)), Some(retries(5)));
        for (own, of_target, event_type, target, expected) in [
            (None, None, None, TARGET, 1),
            (None, None, Some("unknown"), TARGET, 1),
            (None, None, Some("plain"), TARGET, 2),
            (own.clone(), None, None, TARGET, 4),
            (own.clone(), None, Some("plain"), TARGET, 2),
            (own.clone(), of_target.clone(), Some("plain"), TARGET, 5),
            (own.clone(), of_target.clone(), Some("plain"), OTHER, 2),
            (own.clone(), of_target.clone(), None, OTHER, 4),
            (own, of_target, Some("stubborn"), TARGET, 3),
        ] {
            let known = endpoint_with(own, of_target);
            let case = format!("{event_type:?} {target:?} {known:?}");
            assert_eq!(allowed(&policies, event_type, target, Some(&known)), expected, "{case}");
        }
        // Its endpoint is gone.
        assert_eq!(allowed(&policies, Some("plain"), TARGET, None), 2);
        assert_eq!(allowed(&policies, None, TARGET, None), 1);
    }

    #[test]
    fn what_is_not_understood_counts_as_absent() {
        let wrong = || json!({ "max_retries": "many" });
        let mut policies = Policies::default();
        policies.set_event_types(vec![event_type("a", wrong()), event_type("b", retries(2))]);
        let known = endpoint_with(Some(retries(4)), Some(wrong()));
        assert_eq!(allowed(&policies, Some("a"), TARGET, Some(&known)), 4);
        assert_eq!(allowed(&policies, Some("b"), TARGET, Some(&known)), 2);
        let known = endpoint_with(Some(wrong()), None);
        assert_eq!(allowed(&policies, None, TARGET, Some(&known)), Simple::default().max_retries);
    }

    #[test]
    fn the_policies_of_event_types_are_those_that_were_read_last() {
        let mut policies = Policies::default();
        for (rows, expected) in [
            (vec![event_type("a", retries(2))], 2),
            (vec![event_type("a", retries(3))], 3),
            (vec![event_type("a", retries(3))], 3),
            (Vec::new(), Simple::default().max_retries),
        ] {
            policies.set_event_types(rows);
            assert_eq!(allowed(&policies, Some("a"), TARGET, None), expected);
        }
    }

    #[test]
    fn what_a_policy_does_not_say_the_settings_do() {
        let mut policies = Policies::default();
        let base_delay = std::time::Duration::from_secs(77);
        policies.set_settings(Simple { base_delay, jitter: 0.0, ..Simple::default() });
        let known = endpoint_with(Some(json!({ "max_retries": 4, "jitter": 0 })), None);
        let policy = policies.of(&Delivery::due(unkeyed(1), 1), Some(&known));
        assert_eq!((policy.max_retries(), policy.wait(0, 0.0)), (4, base_delay));
    }
}
