//! The decisions of Postrider.
//!
//! Everything here is a function of its arguments, or a value that changes by what it is told: time, dice and what the
//! database said come in as values. Nothing in this crate does I/O or has a clock or dice of its own. Two things come from
//! outside: the order of hash maps, by chance once for a process ([`hashing`]), and where lines of the log go.

pub mod admit;
pub mod auth;
pub mod backoff;
pub mod breaker;
pub mod caretaker;
pub mod chains;
pub mod checkpoint;
pub mod classify;
pub mod configuration;
pub mod decide;
pub mod done;
pub mod egress;
pub mod environment;
pub mod failure;
pub mod flow;
pub mod format;
pub mod gaps;
pub mod hashing;
pub mod id;
pub mod lease;
pub mod mark;
pub mod measured;
pub mod message;
pub mod moment;
pub mod networks;
pub mod offer;
pub mod outcome;
pub mod places;
pub mod policy;
pub mod position;
pub mod ranks;
pub mod rate;
pub mod reader;
pub mod render;
pub mod request;
pub mod response;
pub mod results;
pub mod sharing;
pub mod signing;
pub mod snapshot;
pub mod spelling;
pub mod statistics;
pub mod template;
pub mod tenure;
pub mod tick;
pub mod timestamp;
pub mod transport_settings;
pub mod waiting;
pub mod wanted;
pub mod weights;
