//! The database: what is kept in PostgreSQL, and how it is reached.
//!
//! All that the engine and the fleets ask of the database is asked here, by statements of `sql/queries/`. Nothing in here
//! knows a transport or decides: answers go out as values of the core.

/// What partitions there are, and which come and go.
pub mod archive;
/// A connection whose statements have bounds, and what becomes of it when one runs into them.
pub mod bounded;
/// What keeps the database level: ticks for consumers, jobs, replays, schedules, forgetting.
pub mod chores;
/// What dispatchers share: circuits, tokens of rates, places that are lent.
pub mod circuits;
/// The one way to connect.
pub mod connect;
/// How a sender wakes a dispatcher that sleeps.
pub mod doorbell;
/// Whether what was seen is on disk, and on standbys.
pub mod durability;
mod error;
/// Executions: what is watched over, published and handled for workers.
pub mod fleet;
/// Owning: heartbeats, shards, checkpoints, claims, and what a former owner left behind.
pub mod lease;
/// The only place that records what became of deliveries.
pub mod ledger;
/// What the environment and the password file add to a URL.
pub mod libpq;
/// Reading: ticks, pages, what waits, payloads, endpoints, settings.
pub mod log;
/// Installs and upgrades the schema, and tells whether it is the right one.
pub mod migrate;
/// How this process is called in the database.
pub mod process;
/// Types of PostgreSQL that its client does not know.
pub mod wire;

pub use error::{StoreError, is_loss, is_outage};
