//! Proofs of the guarantees: long runs under faults, judged by the ledger.
//!
//! `cargo xtask prove` and `cargo xtask chaos` run them in full, the integration tests of `crates/postrider` in their short
//! forms. What is proven is the binary, run as a process.

pub mod chaos;
pub mod prove;
