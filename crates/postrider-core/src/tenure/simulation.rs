//! A simulated world: a model of the [`database`], and around the dispatchers that decide in production a [`world`] of
//! applications, operators, receivers and faults.
//!
//! The model is compared with PostgreSQL by the tests of the crate `postrider`, which see it by the feature
//! `simulation`. No release has it.

pub mod database;
#[cfg(test)]
mod world;
mod wrong;

pub use self::wrong::Wrong;
