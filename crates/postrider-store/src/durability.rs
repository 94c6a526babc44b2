//! Durable before delivered: what was read is on disk before any of it is attempted.
//!
//! A commit with `synchronous_commit = off` can be seen before it is on disk, and PostgreSQL forgets it when
//! it crashes. Where it was written can be seen, too: what is on disk up to there is durable. If it is not,
//! or if standbys have to have it, a commit of our own that waits for both says so. It may wait for a
//! standby without end, so nothing else runs on its connection, and whoever asks for a proof waits for a
//! while only.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use postrider_core::tick::Written;
use tokio::{
    sync::{
        broadcast::{self, error::TryRecvError},
        watch,
    },
    time::{Instant, timeout},
};
use tokio_postgres::{
    Client, Statement,
    error::{DbError, Severity},
    types::PgLsn,
};
use tracing::{error, info, trace, warn};
use uuid::Uuid;

use super::{StoreError, bounded::Bounded};

/// So long a proof is waited for; then it is asked for again with what is read by then.
const PATIENCE: Duration = Duration::from_secs(2);
/// After so long people hear that nothing is delivered.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// How far a process has delivered from a log, over all its tenures. Nobody else knows it, and a standby that takes
/// over while it is behind cannot.
#[derive(Debug, Default)]
pub struct Delivered(Mutex<Furthest>);

#[derive(Debug, Default, Clone, Copy)]
struct Furthest {
    /// That of the server of the present tenure.
    timeline: i32,
    /// Since this server was asked for the first time.
    upto: Option<PgLsn>,
    /// From whichever server.
    number: i64,
}

impl Delivered {
    /// Asks the server of a new tenure whether it has everything that was delivered, and says what it has forgotten. No
    /// message is read before the numbers of what is forgotten are used up.
    ///
    /// # Errors
    ///
    /// When a statement fails.
    pub async fn confirm(&self, client: &Client, dispatcher: Uuid) -> Result<(), StoreError> {
        let known = *self.lock();
        let sql = include_str!("../../../sql/queries/restore/confirm_position.sql");
        let given = client
            .query_one(sql, &[&dispatcher, &known.timeline, &known.upto, &known.number])
            .await
            .map_err(StoreError::to("ask how far the log has come"))?;
        let (timeline, left_at): (i32, Option<PgLsn>) =
            (given.get("timeline"), given.get("left_at"));
        let (bytes, numbers): (i64, i64) = (given.get("lost_bytes"), given.get("lost_numbers"));
        if let Some(upto) = known.upto {
            tell(known.timeline, upto, timeline, left_at, (bytes, numbers));
        }
        let is_other = bytes > 0 || numbers > 0 || known.timeline != timeline;
        let upto = known.upto.filter(|_| !is_other);
        *self.lock() = Furthest { timeline, upto, number: known.number };
        // Those of others, too, that have died since.
        use_up(client, known.number).await
    }

    /// What may be delivered. Where it `is_durable`, only a failover takes it back, and a server without it is one;
    /// otherwise an ordinary crash may, after which there are the numbers to use up, and nothing to say.
    fn note(&self, written: Written, is_durable: bool) {
        let mut furthest = self.lock();
        furthest.upto = is_durable.then(|| furthest.upto.max(Some(written.upto.into()))).flatten();
        furthest.number = furthest.number.max(written.number);
    }

    fn lock(&self) -> MutexGuard<'_, Furthest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says what a server does not have of what was delivered up to `upto`: so many bytes of the write-ahead log, and numbers.
fn tell(
    former_timeline: i32,
    upto: PgLsn,
    timeline: i32,
    left_at: Option<PgLsn>,
    (bytes, numbers): (i64, i64),
) {
    let left_at = left_at.map(tracing::field::display);
    match (bytes, numbers) {
        (0, 0) if former_timeline != timeline && left_at.is_none() => warn!(
            former_timeline,
            timeline,
            "another server took over; whether it has everything that was delivered only a role can tell that may \
             call pg_read_file"
        ),
        (0, 0) => {}
        // Whatever was written there may have been something else.
        (_, 0) => error!(
            bytes,
            delivered_up_to = %upto,
            former_timeline,
            timeline,
            left_at,
            "the server may have forgotten commits that were delivered: a standby took over that was behind, or it \
             was restored"
        ),
        _ => error!(
            bytes,
            numbers,
            delivered_up_to = %upto,
            former_timeline,
            timeline,
            left_at,
            "the server has forgotten commits that were delivered: a standby took over that was behind, or it was \
             restored"
        ),
    }
}

/// Sees to it that no number up to this one is given to a message again.
async fn use_up(client: &Client, number: i64) -> Result<(), StoreError> {
    let sql = include_str!("../../../sql/queries/restore/use_up_numbers.sql");
    loop {
        let answer = client.query_one(sql, &[&number]).await;
        let missing: i64 = answer.map_err(StoreError::to("use up message numbers"))?.get("missing");
        if missing == 0 {
            return Ok(());
        }
        warn!(missing, "message numbers are used up; nothing is delivered before");
    }
}

/// Says what is durable.
pub struct Durability {
    /// How many proofs were asked for, and up to which one there are.
    wanted: watch::Sender<u64>,
    proven: watch::Receiver<u64>,
    /// `deliver_before_durable`
    is_waived: AtomicBool,
    delivered: Arc<Delivered>,
}

impl Durability {
    /// Takes a connection with a dispatcher's session settings. `notices`: what the server says there beside
    /// its answers.
    pub async fn open(
        client: Bounded,
        notices: broadcast::Receiver<DbError>,
        delivered: Arc<Delivered>,
    ) -> Result<Durability, StoreError> {
        let prepared = StoreError::to("prepare the session");
        client
            .batch_execute(include_str!("../../../sql/queries/dispatch/durability_session.sql"))
            .await
            .map_err(&prepared)?;
        let sql = include_str!("../../../sql/queries/dispatch/make_durable.sql");
        let make_durable = client.once().prepare(sql).await.map_err(prepared)?;
        let (wanted, wishes) = watch::channel(0);
        let (proofs, proven) = watch::channel(0);
        tokio::spawn(Prover { client, make_durable, notices }.run(wishes, proofs));
        Ok(Durability { wanted, proven, is_waived: AtomicBool::new(false), delivered })
    }

    /// Whether deliveries need not wait (`deliver_before_durable`).
    pub fn waive(&self, is_waived: bool) {
        self.is_waived.store(is_waived, Ordering::Relaxed);
    }

    /// Whether all that was visible at that moment is durable, and may be delivered; waits a little for it.
    pub async fn prove(&self, written: Written) -> Result<bool, StoreError> {
        let is_waived = self.is_waived.load(Ordering::Relaxed);
        let may_go = is_waived || self.is_durable(written).await?;
        trace!(stop = "prove", may_go);
        if may_go {
            self.delivered.note(written, !is_waived);
        }
        Ok(may_go)
    }

    async fn is_durable(&self, written: Written) -> Result<bool, StoreError> {
        if !written.has_standbys && written.flushed >= written.upto {
            return Ok(true);
        }
        let mut number = 0;
        self.wanted.send_modify(|wanted| {
            *wanted += 1;
            number = *wanted;
        });
        let mut proven = self.proven.clone();
        match timeout(PATIENCE, proven.wait_for(|proven| *proven >= number)).await {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => Ok(false),
        }
    }
}

/// Makes commits that are durable, one after the other, each for all who have asked by then.
struct Prover {
    client: Bounded,
    make_durable: Statement,
    notices: broadcast::Receiver<DbError>,
}

impl Prover {
    /// Until nobody is there to ask, or the connection is lost.
    async fn run(mut self, mut wishes: watch::Receiver<u64>, proofs: watch::Sender<u64>) {
        while wishes.changed().await.is_ok() {
            let asked = *wishes.borrow_and_update();
            if self.commit().await.is_err() || proofs.send(asked).is_err() {
                return;
            }
        }
    }

    async fn commit(&mut self) -> Result<(), tokio_postgres::Error> {
        let began = Instant::now();
        let mut is_late = false;
        loop {
            // Of a commit before.
            has_warned(&mut self.notices);
            let commit = self.client.query_one(&self.make_durable, &[]);
            let mut commit = std::pin::pin!(commit);
            tokio::select! {
                answer = &mut commit => answer?,
                () = tokio::time::sleep_until(began + LONG_WAIT), if !is_late => {
                    is_late = true;
                    warn!(
                        "commits wait for the disk or for a synchronous standby; nothing that is \
                         new is delivered until they are durable"
                    );
                    commit.await?
                }
            };
            // Somebody has ended the wait for a standby: the commit counts as done, with a warning, and is
            // not known to be anywhere else.
            if !has_warned(&mut self.notices) {
                if is_late {
                    info!(waited = ?began.elapsed(), "commits are durable again");
                }
                return Ok(());
            }
        }
    }
}

/// Takes all notices that have come; whether a warning was among them, or may have been.
pub fn has_warned(notices: &mut broadcast::Receiver<DbError>) -> bool {
    let mut has_warned = false;
    loop {
        match notices.try_recv() {
            Ok(notice) => has_warned |= notice.parsed_severity() == Some(Severity::Warning),
            Err(TryRecvError::Lagged(_)) => has_warned = true,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return has_warned,
        }
    }
}
