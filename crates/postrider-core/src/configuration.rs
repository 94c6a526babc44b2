//! What people have configured, as it is stored.

use crate::{
    id::{EndpointId, Target},
    offer::Offer,
};

/// An endpoint as configured, secrets included.
#[derive(Clone)]
pub struct EndpointRow {
    pub id: EndpointId,
    pub name: String,
    pub protocol: String,
    pub config: serde_json::Value,
    pub retry_policy: Option<serde_json::Value>,
    /// Policies of subscriptions, of those that have one.
    pub target_policies: Vec<(Target, serde_json::Value)>,
    pub is_enabled: bool,
    pub is_paused: bool,
    pub targets: Vec<Target>,
    pub version: i64,
}

/// An endpoint as configured, and what its transport offers, or why its config cannot be used.
pub type OpenedEndpoint = (EndpointRow, Result<Offer, String>);

/// What all dispatchers follow alike, as it is stored.
#[derive(Debug, Clone)]
pub struct SharedSettings {
    /// Name and value of every setting.
    pub settings: Vec<(String, String)>,
    /// Name and policy of the event types that have one, in order of name.
    pub event_type_policies: Vec<(String, serde_json::Value)>,
}
