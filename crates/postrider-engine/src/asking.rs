//! The database, asked as a dispatcher asks it, by nobody who decides: what it answers is compared with a model of it.

use std::{sync::Arc, time::Duration};

use postrider_core::{
    lease::Taken,
    tenure::command::{Event, Query},
};
use postrider_store::{StoreError, connect::Connector, durability::Delivered, log::Log};
use postrider_transport::{Settings, Shared, SharedOptions};
use uuid::Uuid;

use super::{
    RunError, connections::Connections, driver::statements, telemetry::Telemetry,
    transports::Transports,
};

/// The connections of a dispatcher that is none.
pub struct Asking {
    connections: Connections,
    transports: Arc<Transports>,
    telemetry: Arc<Telemetry>,
}

impl Asking {
    /// Connects as the dispatcher `id` would, which somebody has registered. The connector's name in the database is the
    /// caller's to choose: others may tell by it whether the dispatcher is connected.
    ///
    /// # Errors
    ///
    /// When a connection fails.
    pub async fn open(
        connector: &Connector,
        id: Uuid,
        lease: Duration,
    ) -> Result<Asking, RunError> {
        let delivered = Arc::new(Delivered::default());
        let (connections, _) = Connections::open(connector, id, lease, false, delivered).await?;
        let shared = Shared::with_options(Settings::default(), SharedOptions::default());
        Ok(Asking {
            connections,
            transports: Arc::new(Transports::new(shared)),
            telemetry: Arc::default(),
        })
    }

    /// By the very statements of a driver.
    pub async fn answer(&self, query: Query) -> Event {
        statements::answer(query, &self.connections, &self.transports, &self.telemetry).await
    }

    /// Ends the lease of the dispatcher that it asks as.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn unregister(&self) -> Result<(), StoreError> {
        let lease = &self.connections.lease;
        lease.unregister(lease.id()).await
    }

    /// A takeover that is cut off behind its first statement.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn take_shards(&self, limit: usize) -> Result<Vec<Taken>, StoreError> {
        self.connections.lease.take_shards(limit, &[]).await
    }

    /// For ticks that are too large to be taken in at once, when few messages are to do.
    pub fn log(&self) -> &Log {
        &self.connections.log
    }
}
