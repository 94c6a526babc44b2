//! Reads partitions: one batch after the other, each from its begin to its commit.
//!
//! A batch is one transaction. What the database says is the only state: after an error of any kind, a lost
//! answer to a commit included, the next batch begins where the database says that it begins.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_postgres::Transaction;

use super::message::Batch;
use super::poison::{Poison, dice};
use super::schedule::{Place, Schedule};
use super::session::{self, Begun, Limits, Session};
use super::trouble::{Trouble, describe};
use super::{BoxError, Consumer};
use crate::Error;
use crate::database::Tls;

/// How long one partition may be waited for while others have no connection.
const SHORT_WAIT: Duration = Duration::from_millis(100);
/// What a message is parked with when nobody has reported an error.
const DIED: &str = "the process died, or gave up, while it had the message";

/// One connection, which reads whatever partition is next.
pub(super) struct Reader<'a, T, F> {
    pub(super) consumer: &'a Consumer<T>,
    pub(super) schedule: &'a Schedule,
    pub(super) stop: watch::Sender<bool>,
    pub(super) handler: F,
}

/// What became of a turn.
enum Turn {
    /// Messages were acknowledged.
    Processed,
    /// There was nothing.
    Idle,
    /// A message was looked at, or parked.
    Settled,
    /// It is time to stop.
    Stopped,
}

enum Failure {
    /// The handler has failed, or its work could not be committed.
    Batch(BatchFailure),
    /// The database was not there, or has refused.
    Database(Error),
}

struct BatchFailure {
    batch: Batch,
    error: BoxError,
    /// Whether the session can be used again.
    is_clean: bool,
}

impl<T, F, E> Reader<'_, T, F>
where
    T: Tls,
    F: AsyncFnOnce(&mut Transaction<'_>, &Batch) -> Result<(), E> + Clone,
    E: Into<BoxError>,
{
    /// Reads until it is time to stop, or something is in the way that waiting does not remove.
    pub(super) async fn read(self) -> Result<(), Error> {
        let mut stop = self.stop.subscribe();
        let mut session = None;
        let mut place = None;
        loop {
            let Some(mut next) = self.schedule.next(place.take(), &mut stop).await else {
                return Ok(());
            };
            match self.turn(&mut session, &mut next, &mut stop).await {
                Ok(Turn::Processed) => {
                    next.failure_count = 0;
                    next.seen = None;
                    next.last_error = None;
                }
                Ok(Turn::Idle | Turn::Settled) => {}
                Ok(Turn::Stopped) => return Ok(()),
                Err(failure) => {
                    if let Err(error) = self.note(failure, &mut session, &mut next) {
                        self.stop.send_replace(true);
                        return Err(error);
                    }
                }
            }
            place = Some(next);
        }
    }

    /// Reports a failure, and lets the partition wait.
    fn note(
        &self,
        failure: Failure,
        session: &mut Option<Session>,
        place: &mut Place,
    ) -> Result<(), Error> {
        match failure {
            Failure::Database(error) if session::is_final(&error) => return Err(error),
            Failure::Database(error) => {
                *session = None;
                self.consumer.report(&Trouble::Database { error });
            }
            Failure::Batch(BatchFailure { batch, error, is_clean }) => {
                if !is_clean {
                    *session = None;
                }
                let first = batch.first();
                if is_clean && self.is_to_stop(&batch) {
                    return Err(Error::Poisoned {
                        message: first.id(),
                        position: first.position(),
                        failure_count: batch.failure_count + 1,
                        source: error,
                    });
                }
                place.last_error = Some((first.position(), describe(error.as_ref())));
                self.consumer.report(&Trouble::BatchFailed {
                    partition: batch.partition,
                    message: first.id(),
                    message_count: batch.len(),
                    failure_count: batch.failure_count,
                    error,
                });
            }
        }
        place.failure_count = place.failure_count.saturating_add(1);
        let wait = self.consumer.options.backoff.wait(place.failure_count, dice());
        place.ready_at = Instant::now() + wait;
        Ok(())
    }

    /// Whether the message that has just failed has failed too often. A message that had before a start is
    /// tried once more, so that a corrected handler goes on.
    fn is_to_stop(&self, batch: &Batch) -> bool {
        match self.consumer.options.poison {
            Poison::Stop { after } => batch.len() == 1 && batch.failure_count + 1 >= after,
            Poison::Park { .. } => false,
        }
    }

    async fn turn(
        &self,
        session: &mut Option<Session>,
        place: &mut Place,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Turn, Failure> {
        let begun = tokio::select! {
            biased;
            // A database that does not answer holds nobody up who is to stop.
            _ = stop.wait_for(|stop| *stop) => None,
            begun = self.begin(session, place.partition) => Some(begun),
        };
        let Some(begun) = begun else {
            *session = None;
            return Ok(Turn::Stopped);
        };
        let begun = begun.map_err(Failure::Database)?;
        let session = session.as_mut().expect("just opened");

        let statement = session.cancel_token();
        let mut transaction = session.transaction().await.map_err(Failure::Database)?;
        let fetching = self.fetch(&transaction, place.partition, begun);
        let fetched = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => None,
            fetched = fetching => Some(fetched),
        };
        let Some(fetched) = fetched else {
            self.consumer.address.cancel(&statement).await;
            return Ok(Turn::Stopped);
        };
        let messages = fetched.map_err(Failure::Database)?;
        if messages.is_empty() {
            // It may have passed messages that nobody wants.
            session::commit(transaction).await.map_err(Failure::Database)?;
            return Ok(Turn::Idle);
        }
        let is_known = place.is_next_again(messages[0].position());
        // What was only looked at has not failed.
        let failure_count = begun.failure_count.saturating_sub(place.look_count);
        let batch = Batch { messages, partition: place.partition, failure_count };
        if begun.batch_size == 1 && self.is_to_be_parked(failure_count) {
            if is_known {
                return self.park(transaction, &batch, place).await;
            }
            place.look_count += 1;
            session::commit(transaction).await.map_err(Failure::Database)?;
            return Ok(Turn::Settled);
        }
        if let Err(error) = self.process(&mut transaction, &batch).await {
            let is_clean = session::rollback(transaction).await;
            return Err(Failure::Batch(BatchFailure { batch, error, is_clean }));
        }
        // An answer that is lost is asked for again: the next batch begins where the database says.
        match session::commit(transaction).await {
            Ok(()) => Ok(Turn::Processed),
            Err(error) => {
                let is_clean = error.code().is_some();
                let error = error.into();
                Err(Failure::Batch(BatchFailure { batch, error, is_clean }))
            }
        }
    }

    /// Sees to the connection, and notes that a batch is begun.
    async fn begin(&self, session: &mut Option<Session>, partition: i32) -> Result<Begun, Error> {
        let Consumer { address, options } = self.consumer;
        if session.as_ref().is_none_or(Session::is_closed) {
            *session = Some(address.open().await?);
        }
        let session = session.as_ref().expect("just opened");
        session.begin_batch(&options.name, partition, options.batch_size).await
    }

    async fn fetch(
        &self,
        transaction: &Transaction<'_>,
        partition: i32,
        begun: Begun,
    ) -> Result<Vec<super::Message>, Error> {
        let options = &self.consumer.options;
        let has_others = self.schedule.leased_count() > options.connections;
        let wait = if has_others { options.wait.min(SHORT_WAIT) } else { options.wait };
        let limits = Limits { idle: options.batch_timeout, wait };
        session::fetch(transaction, &options.name, partition, begun.batch_size, limits).await
    }

    fn is_to_be_parked(&self, failure_count: u32) -> bool {
        match self.consumer.options.poison {
            Poison::Park { after } => failure_count >= after,
            Poison::Stop { .. } => false,
        }
    }

    /// Parks a message that has failed too often.
    async fn park(
        &self,
        transaction: Transaction<'_>,
        batch: &Batch,
        place: &Place,
    ) -> Result<Turn, Failure> {
        let (first, failure_count) = (batch.first(), batch.failure_count);
        let known = place.last_error.as_ref().filter(|(position, _)| *position == first.position());
        let error = known.map_or(DIED, |(_, error)| error.as_str());
        let name = &self.consumer.options.name;
        let parking = session::park(&transaction, name, first.position(), failure_count, error);
        parking.await.map_err(Failure::Database)?;
        session::commit(transaction).await.map_err(Failure::Database)?;
        self.consumer.report(&Trouble::Parked {
            partition: batch.partition,
            message: first.id(),
            failure_count,
            error: error.to_owned(),
        });
        Ok(Turn::Settled)
    }

    /// Calls the handler, and acknowledges.
    async fn process(
        &self,
        transaction: &mut Transaction<'_>,
        batch: &Batch,
    ) -> Result<(), BoxError> {
        let handler = self.handler.clone();
        caught(handler(transaction, batch)).await?.map_err(Into::into)?;
        let options = &self.consumer.options;
        session::acknowledge(transaction, &options.name, batch.last().position()).await?;
        Ok(())
    }
}

/// The output of a future, or what it panicked with.
async fn caught<O>(future: impl Future<Output = O>) -> Result<O, BoxError> {
    let mut future = pin!(future);
    // What the handler leaves behind is rolled back, and its future is not polled again.
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(said(panic.as_ref()).into())),
    })
    .await
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the handler panicked: {}", text.unwrap_or("without a text"))
}
