//! Which of the policies that a delivery comes by applies.

use super::OwnPolicy;

/// Whose policy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    EventType,
    Subscription,
    Endpoint,
    /// Nobody has one: what the settings say.
    Settings,
}

/// Chooses one, whole: the event type's if it ignores that of a subscription, else the
/// subscription's, else the event type's, else the endpoint's, else that of the settings.
pub fn choose<'a>(
    event_type: Option<&'a OwnPolicy>,
    subscription: Option<&'a OwnPolicy>,
    endpoint: Option<&'a OwnPolicy>,
) -> (Rule, Option<&'a OwnPolicy>) {
    let overriding = event_type.filter(|policy| policy.ignores_subscription);
    let rules = [
        (Rule::EventType, overriding),
        (Rule::Subscription, subscription),
        (Rule::EventType, event_type),
        (Rule::Endpoint, endpoint),
    ];
    rules.into_iter().find(|(_, policy)| policy.is_some()).unwrap_or((Rule::Settings, None))
}
