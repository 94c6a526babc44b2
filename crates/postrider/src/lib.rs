//! Postrider: reliable message delivery for applications that live on PostgreSQL.
//!
//! The library behind the one binary: it puts together what other crates do, and is what a person calls. What decides is
//! in `postrider_core`, and `postrider_engine` delivers by it; `postrider_fleet` looks after executions. The database is
//! spoken to by `postrider_store`, and destinations by `postrider_transport`.

pub mod api;
pub mod cli;
pub mod config;
pub mod metrics;
pub mod serve;
