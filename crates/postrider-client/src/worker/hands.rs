//! What this process is running, and room for more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::execution::{Signal, Stop};
use super::session::Content;

/// Shared by those who bring executions, run and cancel them.
#[derive(Debug)]
pub(super) struct Hands {
    room: Arc<Semaphore>,
    held: Mutex<HashMap<i64, (i64, Arc<Signal>)>>,
}

/// An execution in hand. It makes room when it goes, which must not be before its end is on record: the
/// database counts it until then.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) content: Arc<Content>,
    pub(super) signal: Arc<Signal>,
    hands: Arc<Hands>,
    _place: OwnedSemaphorePermit,
}

impl Hands {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { room: Arc::new(Semaphore::new(capacity)), held: Mutex::default() })
    }

    /// Waits until there is room, and takes all of it. To be called by one task.
    pub(super) async fn reserve(&self) -> OwnedSemaphorePermit {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let mut room = room.expect("it is never closed");
        let more = u32::try_from(self.room.available_permits()).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(&self.room).try_acquire_many_owned(more) {
            room.merge(more);
        }
        room
    }

    /// Takes something into a place of those reserved.
    pub(super) fn hold(
        self: &Arc<Self>,
        content: Content,
        room: &mut OwnedSemaphorePermit,
    ) -> Option<Held> {
        let place = room.split(1)?;
        let signal = Arc::new(Signal::new(content.asked_at + content.timeout));
        self.lock().insert(content.id, (content.fence, Arc::clone(&signal)));
        let (content, hands) = (Arc::new(content), Arc::clone(self));
        Some(Held { content, signal, hands, _place: place })
    }

    pub(super) fn is_holding(&self, execution_id: i64, fence: i64) -> bool {
        self.lock().get(&execution_id).is_some_and(|(held, _)| *held == fence)
    }

    pub(super) fn cancel(&self, execution_id: i64, fence: i64) {
        if let Some((held, signal)) = self.lock().get(&execution_id)
            && *held == fence
        {
            signal.stop(Stop::Cancelled);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, (i64, Arc<Signal>)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.hands.lock();
        // The same execution may be here again, under another fence.
        if held.get(&self.content.id).is_some_and(|(fence, _)| *fence == self.content.fence) {
            held.remove(&self.content.id);
        }
    }
}
