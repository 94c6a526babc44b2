//! The caretaker's driver: it does the chores that [`postrider_core::caretaker`] finds due, beside a tenure.
//!
//! What fails is said, and done again later: nothing in here ends a tenure. A connection that is lost does,
//! because it is the tenure's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use postrider_core::{
    caretaker::{Caretaker, Chore, MadeTick, Task, Wish},
    failure::chain,
    moment::Moment,
};
use postrider_store::{
    StoreError,
    archive::{self, Upkeep},
    chores::Chores,
};
use tokio::{
    sync::Notify,
    task::{JoinError, JoinSet},
    time::Instant,
};
use tracing::{debug, info, warn};

use super::Options;

/// What the dispatcher has seen that makes a chore worth doing sooner. Any number of the same is one.
#[derive(Default)]
pub struct Wishes {
    bits: AtomicU8,
    news: Notify,
}

const WISHES: [Wish; 5] = [Wish::News, Wish::Consumers, Wish::Job, Wish::Limits, Wish::Orphans];

/// Connections, and what is known between two chores.
pub struct Driver {
    pub options: Arc<Options>,
    pub wishes: Arc<Wishes>,
    pub chores: Arc<Chores>,
    /// Consumers wait for ticks: chores do not come before these.
    pub ticks: Arc<Chores>,
}

/// What came of a task.
enum Done {
    Chore(Chore, Option<Duration>),
    Tick(Option<MadeTick>),
}

impl Wishes {
    pub fn add(&self, wish: Wish) {
        self.bits.fetch_or(1 << wish as u8, Ordering::Relaxed);
        self.news.notify_one();
    }

    fn take(&self) -> impl Iterator<Item = Wish> + use<> {
        let bits = self.bits.swap(0, Ordering::Relaxed);
        WISHES.into_iter().filter(move |wish| bits & 1 << *wish as u8 != 0)
    }
}

impl Driver {
    /// Runs until it is aborted, and with it whatever is under way.
    pub async fn run(self) {
        let began = Instant::now();
        let now = || Moment(began.elapsed().as_micros() as i64);
        let mut caretaker = Caretaker::new(now());
        let mut tasks: JoinSet<Done> = JoinSet::new();
        loop {
            for wish in self.wishes.take() {
                caretaker.heed(wish, now());
            }
            for task in caretaker.step(now()) {
                self.start(task, &mut tasks);
            }
            let wake_at = caretaker.wake_at().map_or(i64::MAX, |at| at.0);
            let pause = u64::try_from(wake_at.saturating_sub(now().0)).unwrap_or(0);
            tokio::select! {
                () = self.wishes.news.notified() => {}
                () = tokio::time::sleep(Duration::from_micros(pause)) => {}
                Some(done) = tasks.join_next() => {
                    // A panic of a task is one of ours, which ends the tenure.
                    match done.map_err(JoinError::try_into_panic) {
                        Ok(Done::Chore(chore, pause)) => caretaker.end(chore, pause, now()),
                        Ok(Done::Tick(made)) => caretaker.end_tick(made, now()),
                        Err(Ok(panic)) => std::panic::resume_unwind(panic),
                        Err(Err(_)) => return,
                    }
                }
            }
        }
    }

    fn start(&self, task: Task, tasks: &mut JoinSet<Done>) {
        let chores = Arc::clone(&self.chores);
        match task {
            Task::Chore(Chore::KeepPartitions) => {
                let options = Arc::clone(&self.options);
                tasks.spawn(async move {
                    keep_partitions(&options, &chores).await;
                    Done::Chore(Chore::KeepPartitions, None)
                });
            }
            Task::Chore(chore) => {
                tasks.spawn(async move {
                    let pause = do_chore(chore, &chores).await.unwrap_or_else(|error| {
                        warn_late(chore, &error);
                        None
                    });
                    Done::Chore(chore, pause)
                });
            }
            Task::Tick => {
                let ticks = Arc::clone(&self.ticks);
                tasks.spawn(async move {
                    let made = ticks.advance_ticks().await.unwrap_or_else(|error| {
                        warn!(error = %chain(&error), "no ticks for consumers");
                        None
                    });
                    Done::Tick(made)
                });
            }
        }
    }
}

/// Does a chore; after how long it is worth doing again, if it says so.
async fn do_chore(chore: Chore, chores: &Chores) -> Result<Option<Duration>, StoreError> {
    match chore {
        Chore::AdvanceReplays => return chores.advance_replays().await.map(Some),
        Chore::AdvanceJobs => return chores.advance_jobs().await.map(Some),
        Chore::JudgeLimits => return chores.update_full_endpoints().await.map(Some),
        Chore::FireSchedules => return chores.fire_schedules().await.map(Some),
        Chore::RetireKeys => match chores.retire_signing_keys().await? {
            0 => {}
            endpoint_count => info!(endpoint_count, "signing keys are retired"),
        },
        Chore::RollUpExecutions => match chores.roll_up_executions().await? {
            0 => {}
            row_count => debug!(row_count, "executions are rolled up"),
        },
        Chore::Forget => forget_all(chores).await,
        Chore::KeepPartitions => {}
    }
    Ok(None)
}

fn warn_late(chore: Chore, error: &StoreError) {
    let error = chain(error);
    match chore {
        Chore::AdvanceReplays => warn!(error, "replays do not advance"),
        Chore::AdvanceJobs => warn!(error, "jobs do not advance"),
        Chore::JudgeLimits => warn!(error, "nobody looks whether endpoints are full"),
        Chore::RetireKeys => warn!(error, "signing keys are not retired"),
        Chore::FireSchedules => warn!(error, "schedules do not fire"),
        Chore::RollUpExecutions => warn!(error, "executions are not rolled up"),
        Chore::Forget | Chore::KeepPartitions => warn!(error, "maintenance is not done"),
    }
}

async fn forget_all(chores: &Chores) {
    late(chores.forget_dispatchers().await);
    late(chores.bury_orphans().await);
    late(chores.retire_failing().await);
    forget(|| chores.forget_idempotency_keys()).await;
    forget(|| chores.forget_keys_to_nobody()).await;
    late(chores.recheck_idempotency_keys().await);
    forget(|| chores.clean_up()).await;
    forget(|| chores.forget_consumer_rows()).await;
    forget(|| chores.forget_executions()).await;
    forget(|| chores.forget_requests()).await;
    late(chores.rotate_slots().await);
}

/// Forgets batch by batch as long as each is full: what grows fast must not outrun a batch a minute.
async fn forget<F>(mut batch: impl FnMut() -> F)
where
    F: Future<Output = Result<i32, StoreError>>,
{
    const FULL: i32 = 10_000;
    const MOST_BATCHES: usize = 100;
    for _ in 0..MOST_BATCHES {
        let forgotten = batch().await;
        let has_more = matches!(forgotten, Ok(count) if count >= FULL);
        late(forgotten);
        if !has_more {
            break;
        }
    }
}

/// What somebody holds up, what is too much for now or fails is tried with the next maintenance.
fn late<T>(done: Result<T, StoreError>) {
    match done {
        Ok(_) => {}
        Err(error) if error.is_passing() => {
            debug!(error = %chain(&error), "maintenance waits for a quiet moment");
        }
        Err(error) => warn!(error = %chain(&error), "maintenance is not done"),
    }
}

/// Connects only if there is something to do.
async fn keep_partitions(options: &Options, chores: &Chores) {
    let done = async {
        if !chores.needs_archive_upkeep().await.map_err(|error| chain(&error))? {
            return Ok(Upkeep::default());
        }
        let session = options.connector.connect().await.map_err(|error| chain(&error))?;
        archive::upkeep(&session.client).await.map_err(|error| chain(&error))
    };
    match done.await {
        Ok(Upkeep { created_count: 0, dropped_count: 0 }) => {}
        Ok(Upkeep { created_count, dropped_count }) => {
            info!(created_count, dropped_count, "partitions are kept up");
        }
        Err(error) => warn!(error, "partitions are not kept up"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_taken_once_however_often_it_is_said() {
        let wishes = Wishes::default();
        assert_eq!(wishes.take().count(), 0);
        for wish in [Wish::Job, Wish::Orphans, Wish::Job] {
            wishes.add(wish);
        }
        assert_eq!(wishes.take().collect::<Vec<_>>(), [Wish::Job, Wish::Orphans]);
        assert_eq!(wishes.take().count(), 0);
        for wish in WISHES {
            wishes.add(wish);
            assert_eq!(wishes.take().collect::<Vec<_>>(), [wish]);
        }
    }
}
