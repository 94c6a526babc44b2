//! Which partitions this process reads: leases, renewed by a task of its own.
//!
//! Leases keep partitions where they are and spread them over processes. They protect nothing: whoever
//! reads a partition has its lock in the database, so a lease that has run out unnoticed costs a wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::Consumer;
use super::poison::dice;
use super::schedule::Schedule;
use super::session::{self, Session};
use super::trouble::Trouble;
use crate::Error;
use crate::database::Tls;

/// A lease is renewed so many times while it lasts.
const RENEWALS: u32 = 3;
/// How long leaving may take: a lease that is not given back runs out.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

/// The task. It ends when this is dropped, and the lease is left to run out.
pub(super) struct Membership {
    task: JoinHandle<Result<(), Error>>,
    leave: watch::Sender<bool>,
    has_ended: bool,
}

impl Membership {
    pub(super) fn begin<T: Tls>(consumer: &Consumer<T>, schedule: &Arc<Schedule>) -> Self {
        let (leave, leaving) = watch::channel(false);
        let member = Member {
            consumer: consumer.clone(),
            schedule: Arc::clone(schedule),
            id: Uuid::new_v4(),
            session: None,
        };
        Self { task: tokio::spawn(member.renew(leaving)), leave, has_ended: false }
    }

    /// Ends before it is told to only with an error that does not go away. To be called once.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        let result = (&mut self.task).await;
        self.has_ended = true;
        match result {
            Ok(result) => result,
            Err(error) => Err(Error::Database { code: None, source: Box::new(error) }),
        }
    }

    /// Gives the partitions back.
    pub(super) async fn leave(mut self) {
        self.leave.send_replace(true);
        if !self.has_ended {
            let _ = tokio::time::timeout(LEAVE_PATIENCE, self.end()).await;
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Member<T> {
    consumer: Consumer<T>,
    schedule: Arc<Schedule>,
    id: Uuid,
    session: Option<Session>,
}

impl<T: Tls> Member<T> {
    async fn renew(mut self, mut leaving: watch::Receiver<bool>) -> Result<(), Error> {
        let (lease, backoff) = (self.consumer.options.lease, self.consumer.options.backoff);
        let mut renewed_at = Instant::now();
        let mut failure_count = 0;
        while !*leaving.borrow() {
            let began = Instant::now();
            let pause = match self.lease().await {
                Ok(partitions) => {
                    self.schedule.set_leased(&partitions);
                    (renewed_at, failure_count) = (began, 0);
                    lease / RENEWALS
                }
                Err(error) if session::is_final(&error) => return Err(error),
                Err(error) => {
                    self.session = None;
                    failure_count += 1;
                    self.consumer.report(&Trouble::Database { error });
                    backoff.wait(failure_count, dice()).min(lease / RENEWALS)
                }
            };
            if renewed_at.elapsed() >= lease {
                self.schedule.set_leased(&[]);
            }
            let _ = tokio::time::timeout(pause, leaving.wait_for(|leave| *leave)).await;
        }
        if let Some(session) = &self.session {
            // One that is not given back runs out.
            let _ = session.release(&self.consumer.options.name, self.id).await;
        }
        Ok(())
    }

    async fn lease(&mut self) -> Result<Vec<i32>, Error> {
        let options = &self.consumer.options;
        let session = match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => self.consumer.address.open().await?,
        };
        let partitions = session.lease(&options.name, self.id, options.lease).await?;
        self.session = Some(session);
        Ok(partitions)
    }
}
