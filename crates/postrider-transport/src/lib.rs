//! Transports: how a message leaves PostgreSQL, one file a protocol.
//!
//! A transport does I/O and reports an [`Outcome`](postrider_core::outcome::Outcome); it never sees
//! the store. The list [`PROTOCOLS`] is the only place outside `<kind>.rs` that names a
//! kind. What an endpoint of a protocol can be told is a table in the transport's file, from which
//! come the checks here, those of `postrider.validate_endpoint_config`, and the documentation.

/// What an endpoint's config may hold, and the check of it.
pub mod config;
/// The protocol that accepts everything and sends nothing.
mod discard;
/// A stream that leaves others their turn.
mod fair;
/// How much an endpoint takes: options that every protocol has.
mod flow;
/// Connects to allowed addresses only.
mod guard;
/// The protocol that sends one request a message.
mod http;
/// How many connections are kept that nobody uses.
mod idle;
/// The addresses of receivers' names.
pub mod names;
/// The list of protocols.
mod protocol;
/// What all transports of a dispatcher share.
mod shared;
/// The report of one attempt, which comes once whatever happens.
mod ticket;
/// What every transport does.
mod transport;

pub use config::{ConfigError, ConfigOption, DefaultValue, OptionKind};
pub use postrider_core::transport_settings::Settings;
pub use protocol::{Open, PROTOCOLS, Protocol, open, options_as_json};
pub use shared::{Shared, SharedOptions};
pub use ticket::Ticket;
pub use transport::{Attempts, Envelope, Preview, Transport};

#[cfg(test)]
mod tests;
