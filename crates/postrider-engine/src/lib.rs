//! The engine: read → admit → attempt → decide → flush, for as long as the process lives.
//!
//! It has the connections, the tasks and the clock, and does what the core decides. What it asks of the database is in
//! `postrider_store`, how it sends in `postrider_transport`.

/// The database, asked as a dispatcher asks it, for a test.
pub mod asking;
/// Does the chores that need no lease.
mod caretaker;
/// A dispatcher's connections, one for each purpose.
mod connections;
/// Does what the dispatcher decides, until the tenure ends.
mod driver;
/// Renews the lease, in a thread of its own.
mod keeper;
/// What this process counts.
pub mod telemetry;
/// Runs tenure after tenure.
mod tenures;
#[cfg(any(debug_assertions, feature = "test-hooks"))]
mod test_hooks;
#[cfg(not(any(debug_assertions, feature = "test-hooks")))]
#[path = "no_test_hooks.rs"]
mod test_hooks;
/// The open transports, by edition.
mod transports;
/// Whether this process lives, and delivers.
pub mod vitals;

pub use tenures::{Options, RunError, Wake, run};
pub use test_hooks::TestHooks;
