//! The monitor: ends what has expired or runs for too long, lets retries go, and finds lost workers.
//!
//! Every dispatcher has one and needs no broker for it. Each look is a short transaction that passes
//! over what others have locked.

use std::time::Duration;

use postrider_core::failure::chain;
use postrider_store::{
    StoreError,
    fleet::{self, Access, Fleet, OpenError},
};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{backoff, trouble::Trouble};

/// The longest and the shortest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// How many executions one look is about at most; more are looked at at once.
const MOST_AT_ONCE: i32 = 1_000;
/// How often lost workers are looked for, and workers that nobody can reach.
const WORKERS_EVERY: Duration = Duration::from_secs(1);
const BROKER_EVERY: Duration = Duration::from_secs(30);
/// A connection that has lasted so long was not in vain.
const LASTED: Duration = Duration::from_secs(5);

/// Watches for as long as it is polled.
pub async fn run(access: Access, has_broker: bool) {
    let (mut backoff, mut trouble) = (backoff(), Trouble::default());
    let mut failure_count = 0;
    loop {
        let began = Instant::now();
        let error = watch_over(&access, has_broker).await;
        if began.elapsed() > LASTED {
            backoff.reset();
            trouble.end();
            failure_count = 0;
        }
        failure_count += 1;
        // The first failure of a start is the engine's to tell, and a restart of the server is over soon.
        if failure_count > 1 && trouble.is_worth_logging(Instant::now()) {
            let error = chain(&error);
            warn!(%error, "executions are not watched, for the database cannot be used");
        }
        tokio::time::sleep(backoff.next(fastrand::f64())).await;
    }
}

/// With one connection, for as long as it lasts; returns why it did not.
async fn watch_over(access: &Access, has_broker: bool) -> OpenError {
    let session = match access.session().await {
        Ok(session) => session,
        Err(error) => return error,
    };
    let store = match Fleet::open(session.client).await {
        Ok(store) => store,
        Err(error) => return error.into(),
    };
    let mut look = Look::new(has_broker, Instant::now());
    loop {
        let pause = match look.at(&store).await {
            Ok(pause) => pause,
            Err(error) if fleet::is_passing(&error) => {
                let error = chain(&error);
                info!(%error, "executions are looked at again in a moment");
                LONGEST_PAUSE
            }
            Err(error) => return error.into(),
        };
        tokio::time::sleep(pause).await;
    }
}

/// What is looked at when.
struct Look {
    has_broker: bool,
    /// It was said that there are workers that nobody here can reach.
    is_warned: bool,
    workers_at: Instant,
    broker_at: Instant,
}

impl Look {
    fn new(has_broker: bool, now: Instant) -> Look {
        Look { has_broker, is_warned: false, workers_at: now, broker_at: now }
    }

    /// One look; returns when the next is due.
    async fn at(&mut self, store: &Fleet) -> Result<Duration, StoreError> {
        let now = Instant::now();
        // Before what runs for too long is ended: when the database was away for long, what lost workers had is retried, of
        // so many as one look recovers. What has expired is ended even if looking for lost workers fails.
        let mut workers = Ok(0);
        if now >= self.workers_at {
            self.workers_at = now + WORKERS_EVERY;
            workers = store.check_workers().await;
        }
        loop {
            let checked_count = store.check_executions(MOST_AT_ONCE).await?;
            store.check_generations().await?;
            if checked_count < MOST_AT_ONCE {
                break;
            }
        }
        let lost_count = workers?;
        if lost_count > 0 {
            info!(lost_count, "workers were lost; what they had is recovered");
        }
        if !self.has_broker && now >= self.broker_at {
            self.broker_at = now + BROKER_EVERY;
            self.warn_of_unreachable(store.needs_broker().await?);
        }
        let due = store.next_due_ms().await?.map_or(LONGEST_PAUSE, |due_in_ms| {
            Duration::from_millis(due_in_ms.try_into().unwrap_or_default())
        });
        Ok(due.clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
    }

    fn warn_of_unreachable(&mut self, needs_broker: bool) {
        if needs_broker && !self.is_warned {
            warn!(
                "there are workers that get their executions by RabbitMQ, and this dispatcher has no \
                 amqp_url: unless another one has, their executions expire"
            );
        }
        self.is_warned = needs_broker;
    }
}
