//! Postrider: reliable message delivery for applications that live on PostgreSQL.
//!
//! The library behind the one binary: `cli` is what a person calls, `engine` delivers, `fleet` looks
//! after executions; `api` answers who asks over HTTP. What decides is in `postrider_core`. The database is spoken to by
//! `postrider_store`, and destinations by `postrider_transport`.

pub mod api;
pub mod cli;
pub mod config;
pub mod engine;
pub mod fleet;
pub mod metrics;
pub mod serve;
