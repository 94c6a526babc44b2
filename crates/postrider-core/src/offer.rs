//! What is known of an endpoint's transport where it is decided what goes when: not the transport itself.

use crate::{flow::Flow, id::Edition};

/// An endpoint's protocol and config, as they are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Grows when one of them changes.
    pub edition: Edition,
    pub flow: Flow,
    /// How many messages go at a time.
    pub batch_limit: usize,
    /// The outcome `Gone` disables the endpoint.
    pub is_disabled_when_gone: bool,
}
