//! Durable before delivered: what was read is on disk before any of it is attempted.
//!
//! A commit with `synchronous_commit = off` can be seen before it is on disk, and PostgreSQL forgets it when
//! it crashes. Where it was written can be seen, too: what is on disk up to there is durable. If it is not,
//! or if standbys have to have it, a commit of our own that waits for both says so. It may wait for a
//! standby without end, so nothing else runs on its connection.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{
    sync::{
        Mutex,
        broadcast::{self, error::TryRecvError},
    },
    time::Instant,
};
use tokio_postgres::{
    Statement,
    error::{DbError, Severity},
    types::PgLsn,
};
use tracing::{info, warn};

use super::{StoreError, bounded::Bounded};

/// After so long people hear that nothing is delivered.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// Up to where the write-ahead log had come when something was read.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    /// All that was visible then was written before.
    pub upto: PgLsn,
    /// So much is on the primary's disk.
    pub flushed: PgLsn,
    /// Commits are to wait for standbys.
    pub has_standbys: bool,
}

/// The connection whose commits are durable.
pub struct Durability {
    client: Bounded,
    make_durable: Statement,
    /// What the server says beside its answers. Whoever has it is the one whose commit is under way.
    notices: Mutex<broadcast::Receiver<DbError>>,
    /// `deliver_before_durable`
    is_waived: AtomicBool,
}

impl Durability {
    /// Prepares a connection with a dispatcher's session settings.
    pub async fn open(
        client: Bounded,
        notices: broadcast::Receiver<DbError>,
    ) -> Result<Durability, StoreError> {
        let prepared = StoreError::to("prepare the session");
        client
            .batch_execute(include_str!("../../../../sql/queries/durability_session.sql"))
            .await
            .map_err(&prepared)?;
        let sql = include_str!("../../../../sql/queries/make_durable.sql");
        let make_durable = client.once().prepare(sql).await.map_err(prepared)?;
        let is_waived = AtomicBool::new(false);
        Ok(Durability { client, make_durable, notices: Mutex::new(notices), is_waived })
    }

    /// Whether deliveries need not wait (`deliver_before_durable`).
    pub fn waive(&self, is_waived: bool) {
        self.is_waived.store(is_waived, Ordering::Relaxed);
    }

    /// Returns when all that was visible at that moment is durable.
    pub async fn prove(&self, written: Written) -> Result<(), StoreError> {
        if !written.has_standbys && written.flushed >= written.upto {
            return Ok(());
        }
        self.prove_all().await
    }

    /// The same for all that is visible now.
    pub async fn prove_all(&self) -> Result<(), StoreError> {
        if self.is_waived.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut notices = self.notices.lock().await;
        let began = Instant::now();
        let mut is_late = false;
        loop {
            // Of a commit before.
            has_warned(&mut notices);
            let commit = self.client.query_one(&self.make_durable, &[]);
            let mut commit = std::pin::pin!(commit);
            let answer = tokio::select! {
                answer = &mut commit => answer,
                () = tokio::time::sleep_until(began + LONG_WAIT), if !is_late => {
                    is_late = true;
                    warn!(
                        "commits wait for the disk or for a synchronous standby; nothing that is \
                         new is delivered until they are durable"
                    );
                    commit.await
                }
            };
            answer.map_err(StoreError::to("make commits durable"))?;
            // Somebody has ended the wait for a standby: the commit counts as done, with a warning, and is
            // not known to be anywhere else.
            if !has_warned(&mut notices) {
                if is_late {
                    info!(waited = ?began.elapsed(), "commits are durable again");
                }
                return Ok(());
            }
        }
    }
}

/// Takes all notices that have come; whether a warning was among them, or may have been.
fn has_warned(notices: &mut broadcast::Receiver<DbError>) -> bool {
    let mut has_warned = false;
    loop {
        match notices.try_recv() {
            Ok(notice) => has_warned |= notice.parsed_severity() == Some(Severity::Warning),
            Err(TryRecvError::Lagged(_)) => has_warned = true,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return has_warned,
        }
    }
}
