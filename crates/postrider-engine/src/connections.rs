//! A dispatcher's connections: one for each purpose, so that nothing on a message's road ever waits behind
//! a chore. The lease has one more, see [`super::keeper`].

use std::{sync::Arc, time::Duration};

use postrider_core::{failure::chain, tenure::Identity};
use postrider_store::{
    StoreError,
    bounded::{Bounded, Bounds, Then},
    chores::Chores,
    circuits::Circuits,
    connect::{Connector, Session},
    doorbell::Doorbell,
    durability::{Delivered, Durability},
    lease::Lease,
    ledger::Ledger,
    log::Log,
};
use tokio::sync::{broadcast, watch};
use tokio_postgres::{Notification, error::DbError};
use tracing::warn;
use uuid::Uuid;

use crate::{RunError, tenures::connect};

/// What runs on each connection.
pub struct Connections {
    /// Reading: the log, what waits, payloads, endpoints and settings.
    pub log: Arc<Log>,
    /// Recording: results.
    pub ledger: Arc<Ledger>,
    /// Claiming: checkpoints, claims, and what was cancelled of what is claimed.
    pub lease: Arc<Lease>,
    /// Sharing: circuits and rate limits, and the doorbell.
    pub circuits: Arc<Circuits>,
    pub doorbell: Arc<Doorbell>,
    /// Taking over what others have left behind, and ticks for consumers.
    pub takeover: Arc<Takeover>,
    pub ticks: Arc<Chores>,
    /// Durability: waits for the disk and for standbys, so that what was read may be attempted.
    pub durability: Arc<Durability>,
    /// Everything that may come late, counting what waits included.
    pub chores: Arc<Chores>,
    pub counting: Arc<Log>,
    all: Vec<Bounded>,
}

/// The connection on which shards are taken over.
pub struct Takeover {
    pub lease: Lease,
    pub log: Log,
}

/// What the connections tell by themselves.
pub struct Calls {
    /// As many as are kept: what was missed is found by looking.
    pub notifications: broadcast::Receiver<Notification>,
    /// Turns true when one of the connections is lost.
    pub lost: watch::Receiver<bool>,
}

impl Connections {
    pub async fn open(
        connector: &Connector,
        id: Uuid,
        lease: Duration,
        is_listening: bool,
        delivered: Arc<Delivered>,
    ) -> Result<(Connections, Calls), RunError> {
        let bounds = Bounds::for_lease(lease);
        let opened = |purpose, then| open(connector, purpose, then, bounds);
        let (reading, recording, claiming, sharing, takeover, durability, chores) = tokio::try_join!(
            opened("reading", Then::Again),
            opened("recording", Then::Again),
            opened("claiming", Then::Again),
            opened("sharing", Then::Again),
            opened("takeover", Then::Again),
            opened("durability", Then::Again),
            opened("chores", Then::Later),
        )?;
        let (lost_sender, lost) = watch::channel(false);
        let notifications = sharing.0.notifications.resubscribe();
        let mut all = Vec::new();
        for (session, client) in
            [&reading, &recording, &claiming, &sharing, &takeover, &durability, &chores]
        {
            all.push(client.clone());
            let (mut session_lost, lost_sender) = (session.lost.clone(), lost_sender.clone());
            tokio::spawn(async move {
                session_lost.wait().await;
                let _ = lost_sender.send(true);
            });
        }
        let ticks = Chores::new(takeover.1.clone());
        let (log, ledger, claims, circuits, doorbell, takeover, durability, counting) = tokio::try_join!(
            Log::open(reading.1),
            Ledger::open(recording.1, id),
            Lease::open(claiming.1, id),
            Circuits::open(sharing.1.clone(), id),
            Doorbell::open(sharing.1, is_listening),
            Takeover::open(takeover.1, id),
            Durability::open(durability.1, durability.0.notices, delivered),
            Log::open(chores.1.clone()),
        )?;
        let connections = Connections {
            log: Arc::new(log),
            ledger: Arc::new(ledger),
            lease: Arc::new(claims),
            circuits: Arc::new(circuits),
            doorbell: Arc::new(doorbell),
            takeover: Arc::new(takeover),
            durability: Arc::new(durability),
            ticks: Arc::new(ticks),
            chores: Arc::new(Chores::new(chores.1)),
            counting: Arc::new(counting),
            all,
        };
        Ok((connections, Calls { notifications, lost }))
    }

    /// What the dispatcher has to know of them.
    pub fn identity(&self) -> Identity {
        Identity {
            id: self.lease.id(),
            shard_count: self.log.shard_count(),
            is_audible: self.doorbell.is_audible,
            gaps: self.log.gaps().clone(),
        }
    }

    /// The lease has another length, and so have the bounds.
    pub fn bound(&self, lease: Duration) {
        let bounds = Bounds::for_lease(lease);
        for client in self.all.clone() {
            tokio::spawn(async move {
                // One that is lost ends the tenure.
                if let Err(error) = client.bound(bounds).await {
                    warn!(error = %chain(&error), "statements keep their former bounds");
                }
            });
        }
    }
}

impl Takeover {
    async fn open(client: Bounded, id: Uuid) -> Result<Takeover, StoreError> {
        let (lease, log) =
            tokio::try_join!(Lease::open(client.clone(), id), Log::open(client.clone()))?;
        Ok(Takeover { lease, log })
    }
}

/// A connection with a dispatcher's session settings, and its statements in bounds.
pub async fn open(
    connector: &Connector,
    purpose: &'static str,
    then: Then,
    bounds: Bounds,
) -> Result<(Calling, Bounded), RunError> {
    let Session { client, lost, notifications, notices, .. } = connect(connector).await?;
    let client = Bounded::new(client, connector.clone(), purpose, then, bounds).await?;
    Ok((Calling { lost, notifications, notices }, client))
}

/// What a connection tells by itself.
pub struct Calling {
    lost: postrider_store::connect::Lost,
    notifications: broadcast::Receiver<Notification>,
    notices: broadcast::Receiver<DbError>,
}
