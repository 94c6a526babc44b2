//! The list of protocols, the only place outside of a protocol's own file that names it.

use std::sync::Arc;

use crate::{
    ConfigError, ConfigOption, Shared, Transport,
    config::{self, Checked},
    discard, http,
};

/// Opens an endpoint whose config was checked.
pub type Open = fn(&Checked<'_>, &Arc<Shared>) -> Result<Arc<dyn Transport>, ConfigError>;

/// A protocol that endpoints can have.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The name in `endpoints.protocol`.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub description: &'static str,
    /// What an endpoint's config may hold.
    pub options: &'static [ConfigOption],
    /// Opens an endpoint whose config was checked against `options`.
    pub open: Open,
}

/// Every protocol there is, by name.
pub const PROTOCOLS: &[Protocol] = &[discard::PROTOCOL, http::PROTOCOL];

/// Opens an endpoint with this `protocol` and `config`. Does no I/O: a destination that cannot be
/// reached shows at the first attempt.
///
/// Fails as `postrider.validate_endpoint_config` does, and with the same words.
pub fn open(
    protocol: &str,
    config: &serde_json::Value,
    shared: &Arc<Shared>,
) -> Result<Arc<dyn Transport>, ConfigError> {
    let Some(protocol) = PROTOCOLS.iter().find(|known| known.name == protocol) else {
        let known = PROTOCOLS.iter().map(|known| known.name).collect();
        return Err(ConfigError::UnknownProtocol { protocol: config::excerpt(protocol), known });
    };
    let checked = config::check(protocol.name, protocol.options, config)?;
    (protocol.open)(&checked, shared)
}

/// The options of all protocols as rows of the table `postrider.transport_option`: an array of
/// objects with its columns `protocol`, `name`, `kind`, `required`, `minimum`, `maximum`,
/// `choices`, `default`, `secret` and `description`.
pub fn options_as_json() -> serde_json::Value {
    PROTOCOLS
        .iter()
        .flat_map(|protocol| protocol.options.iter().flat_map(|option| option.rows(protocol.name)))
        .collect()
}
