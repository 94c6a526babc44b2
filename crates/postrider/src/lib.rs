//! Postrider: reliable message delivery for applications that live on PostgreSQL.
//!
//! The library behind the one binary: `cli` is what a person calls, `fleet` looks after executions, and
//! `api` answers who asks over HTTP. What decides is in `postrider_core`, and `postrider_engine` delivers by it. The
//! database is spoken to by `postrider_store`, and destinations by `postrider_transport`.

pub mod api;
pub mod cli;
pub mod config;
pub mod fleet;
pub mod metrics;
pub mod serve;
