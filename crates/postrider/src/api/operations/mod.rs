//! Every operation that is one statement. `routes` in the module above serves what stands here, and the document says it.

mod consumers;
mod deliveries;
mod endpoints;
mod events;
mod executions;
mod service;

use super::operation::Operation;

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    [endpoints::ALL, deliveries::ALL, events::ALL, consumers::ALL, executions::ALL, service::ALL]
        .into_iter()
        .flatten()
}
