//! Postrider: reliable message delivery for applications that live on PostgreSQL.
//!
//! The library behind the one binary: `cli` is what a person calls, `engine` delivers, `fleet` looks
//! after executions, `store` speaks to the database and `transport` to destinations; `api` answers who asks over HTTP. What decides is in `postrider_core`.

pub mod api;
pub mod cli;
pub mod config;
pub mod engine;
pub mod fleet;
pub mod metrics;
pub mod serve;
pub mod store;
pub mod transport;
