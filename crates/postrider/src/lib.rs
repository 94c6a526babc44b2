//! Postrider: reliable message delivery for applications that live on PostgreSQL.
//!
//! The library behind the one binary: `cli` is what a person calls, `engine` delivers, `fleet` looks
//! after executions, and `transport` speaks to destinations; `api` answers who asks over HTTP. What decides is in
//! `postrider_core`, and the database is spoken to by `postrider_store`.

pub mod api;
pub mod cli;
pub mod config;
pub mod engine;
pub mod fleet;
pub mod metrics;
pub mod serve;
pub mod transport;
